"""Prequal: hot or cold by requests in flight, the fastest of the cold ones.

With every call a few backends are probed: how many requests are in flight
(RIF) there, and how long do they take? The answers go into a pool, and the
next calls choose among them. An answer is hot when its RIF is above the
q-rif quantile of the RIFs seen lately. If any is cold, the least latency
among the cold ones takes the call; if all are hot, the least RIF does. With
a threshold of 6:

    answer    RIF    latency
    a         9       8 ms     hot, however fast
    b         4      30 ms     cold
    c         6      12 ms     cold, and the fastest of these: chosen
    then c counts as 7 in flight, which is hot

After each call one answer is thrown away, in turn the oldest and the worst
(the hot one of most RIF, or the slowest); so is what is older than 1 s, or
was used as often as it may: max(1, (1 + delta) / ((1 - m/n) probes -
removals)) times for m answers of n backends, which is 1.3 times for 16 of
100, and as often as wanted where m = n. With fewer than two answers a
backend is drawn by chance. q-rif=0 goes by RIF alone, 1 by latency alone.

Servers that answer probes tell of all their clients. While none has answered
for a while, lbctl gives the answers itself, at once and from what this client
knows: its own calls in flight there, and the median of its last 9 latencies.

Weights are ignored. When the set changes the pool begins anew; latencies stay
with the backends. A failed call makes answers worse for the failure penalty:
one more request in flight, and no less latency than the penalty; with
failure-penalty=0s failures count as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Expectation, Policy, Setup, Why
from lbctl.balance.policies.options import option
from lbctl.balance.policies.penalised import Measuring, failure_penalty
from lbctl.balance.probes import Answer, Distribution, Node, Pool, ProbeReply, best_of, reuse
from lbctl.balance.two_choices import NEVER_NS
from lbctl.model import Reply

_SILENT: Final = 3  # so many times the age of answers without one, and nobody answers


@dataclass(frozen=True, slots=True)
class Options:
    """What can be set."""

    q_rif: float = option(0.84, "quantile of requests in flight above which a backend is hot", least=0, most=1)
    pool: int = option(16, "answers that are kept", least=2, most=10_000)
    age: float = option(1.0, "time after which an answer is too old", above=0, unit="duration")
    probes: float = option(3.0, "backends probed with each call, on average", least=0, most=1000)
    removals: float = option(1.0, "answers thrown away with each call, on average", least=0, most=1000)
    delta: float = option(1.0, "how much longer answers are used than the pool needs", above=0, most=1000)
    failure_penalty: float = failure_penalty()


class Prequal(Measuring[Node]):
    """Chooses among the answers in its pool, and asks for more."""

    def __init__(self, peers: Sequence[Peer], setup: Setup) -> None:
        super().__init__(peers, setup, Node)
        options: Options = setup.options
        self._options = options
        self._rng: Random = setup.rng
        self._ask = setup.probe
        uses = reuse(options.pool, len(peers), options.probes, options.removals, options.delta)
        self._pool = Pool(options.pool, round(options.age * 1e9), uses, setup.rng)
        self._seen = Distribution()
        self._silence_ns = round(_SILENT * options.age * 1e9)
        self._heard_ns = NEVER_NS  # when a backend last answered
        self._to_probe = self._to_remove = 0.0
        self._removes_worst = False
        self._answers = 0  # to probes; and of all requests in flight that they told of
        self._ours = 0  # those that are this client's
        self._others = 0  # and those that are not

    def pick(self, call: Call) -> Peer:
        answers, threshold = self._prepared(call.now_ns)
        return self._chosen(answers, threshold, call.now_ns)

    def why(self, call: Call) -> tuple[Peer, Why]:
        answers, threshold = self._prepared(call.now_ns)
        rows = tuple(
            (each.peer, (str(each.rif), f"{each.latency_ns / 1e6:.1f}ms", "hot" if each.rif > threshold else "cold"))
            for each in answers
        )
        if len(answers) < 2:
            return self._chosen(answers, threshold, call.now_ns), Why("by chance: fewer than two answers to probes")
        text = f"the least latency of the cold ones, up to {threshold:g} in flight"
        if all(each.rif > threshold for each in answers):
            text = f"the fewest in flight, all being above {threshold:g}"
        return self._chosen(answers, threshold, call.now_ns), Why(text, ("in flight", "latency", ""), rows)

    def _charged(self, peer: Peer, node: Node, took_ns: int, now_ns: int, reply: Reply) -> int:
        before, counts_ns = node.count, super()._charged(peer, node, took_ns, now_ns, reply)
        answer = self._pool.answers.get(peer)
        if answer is not None and node.count > before:
            answer.rif += 1
            answer.latency_ns = max(answer.latency_ns, self._penalty_ns)
        return counts_ns

    def _learn(self, node: Node, begun_ns: int, took_ns: int, now_ns: int, reply: Reply) -> None:
        node.learn(took_ns)

    def reported(self, peer: Peer, report: Any, now_ns: int) -> None:  # noqa: ANN401
        """A backend answered a probe; other reports are not for this policy."""
        if isinstance(report, ProbeReply) and peer in self._nodes:
            self._heard_ns, node = now_ns, self._nodes[peer]
            self._answers += 1
            self._ours += peer.in_flight
            self._others += report.rif - peer.in_flight
            latency_ns = report.latency_ns if report.stated else max(report.latency_ns, node.median_ns)
            self._add(peer, node, report.rif, latency_ns, now_ns)

    def crowd(self) -> float:
        return self._others / (self._ours + self._answers or 1)

    def _prepared(self, now_ns: int) -> tuple[Sequence[Answer], float]:
        """The answers to choose among, and the threshold between cold and hot."""
        answers = self._pool.fresh(now_ns)
        if len(answers) < 2:
            self._probe(now_ns)
            answers = self._pool.fresh(now_ns)
        return answers, self._seen.quantile(self._options.q_rif)

    def _chosen(self, answers: Sequence[Answer], threshold: float, now_ns: int) -> Peer:
        """Choose, then throw answers away and ask for new ones."""
        if len(answers) < 2:
            peer = self._peers[int(self._rng.random() * len(self._peers))]
        else:
            answer = best_of(answers, threshold)
            peer = answer.peer
            self._pool.use(answer)
        self._to_remove += self._options.removals
        while self._to_remove >= 1.0:
            self._to_remove -= 1.0
            self._pool.remove(threshold, worst=self._removes_worst)
            self._removes_worst = not self._removes_worst
        self._probe(now_ns)
        return peer

    def _probe(self, now_ns: int) -> None:
        """Ask some backends, all different; who has not answered for long is answered for."""
        self._to_probe += self._options.probes
        count = int(self._to_probe)
        self._to_probe -= count
        is_silent = now_ns - self._heard_ns > self._silence_ns
        for peer, node in self._drawn(count):
            self._ask(peer)
            if is_silent:
                self._add(peer, node, peer.picks - peer.finished, node.median_ns, now_ns)

    def _drawn(self, count: int) -> Iterable[tuple[Peer, Node]]:
        """So many different ones by chance."""
        entries, random = self._entries, self._rng.random
        size = len(entries)
        if count >= size:
            return entries
        drawn: list[tuple[Peer, Node]] = []
        while len(drawn) < count:
            entry = entries[int(random() * size)]
            if entry not in drawn:
                drawn.append(entry)
        return drawn

    def _add(self, peer: Peer, node: Node, rif: int, latency_ns: int, now_ns: int) -> None:
        if node.count and node.at(now_ns):
            rif += node.count
            latency_ns = max(latency_ns, self._penalty_ns)
        self._seen.add(rif)
        self._pool.add(peer, rif, latency_ns, now_ns)


POLICY = Policy(
    "prequal",
    "hot or cold by requests in flight, then the fastest (probing)",
    Expectation.FEEDBACK,
    Prequal,
    Options(),
    cost="O(pool + probes)",
)
