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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Expectation, Policy, Setup, Why
from lbctl.balance.policies.options import option
from lbctl.balance.policies.penalised import Measuring, failure_penalty
from lbctl.balance.probes import MOST_RIF, Answer, Limits, Pool, ProbeReply, reuse
from lbctl.balance.several import several
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


class Prequal(Measuring[Answer]):
    """Chooses among the answers in its pool, and asks for more."""

    def __init__(self, peers: Sequence[Peer], setup: Setup) -> None:
        super().__init__(peers, setup, Answer)
        options: Options = setup.options
        for peer, answer in self._entries:
            answer.peer = peer
            answer.uses = 0.0
        self._random = setup.rng.random
        self._ask = setup.probe
        self._draws = several([*self._nodes.values()], options.probes, setup.rng)
        uses = reuse(options.pool, len(peers), options.probes, options.removals, options.delta)
        age_ns = round(options.age * 1e9)
        limits = Limits(options.pool, age_ns, options.q_rif, uses, options.removals, self._penalty_ns)
        self._pool = Pool(limits, setup.rng)
        self._silence_ns = _SILENT * age_ns
        self._heard_ns = NEVER_NS  # when a backend last answered
        self._told = 0  # answers of backends; and of all requests in flight that they told of
        self._ours = 0  # those that are this client's
        self._others = 0  # and those that are not

    def pick(self, call: Call) -> Peer:
        now_ns, pool = call.now_ns, self._pool
        if now_ns > pool.stale_ns or len(pool.answers) < 2:
            self._prepare(now_ns)
            if len(pool.answers) < 2:
                return self._by_chance(now_ns)
        peer = pool.use()
        self._probe(now_ns)
        return peer

    def why(self, call: Call) -> tuple[Peer, Why]:
        self._prepare(call.now_ns)
        answers, threshold = self._pool.answers, self._pool.threshold
        if len(answers) < 2:
            return self._by_chance(call.now_ns), Why("by chance: fewer than two answers to probes")
        rows = tuple(
            (each.peer, (str(each.rif), f"{each.latency_ns / 1e6:.1f}ms", "hot" if each.rif > threshold else "cold"))
            for each in answers
        )
        text = f"the least latency of the cold ones, up to {threshold:g} in flight"
        if all(each.rif > threshold for each in answers):
            text = f"the fewest in flight, all being above {threshold:g}"
        return self.pick(call), Why(text, ("in flight", "latency", ""), rows)

    def reported(self, peer: Peer, report: Any, now_ns: int) -> None:  # noqa: ANN401
        """A backend answered a probe; other reports are not for this policy."""
        answer = self._nodes.get(peer)
        if answer is None or not isinstance(report, ProbeReply):
            return
        self._heard_ns, in_flight = now_ns, peer.in_flight
        self._told += 1
        self._ours += in_flight
        self._others += report.rif - in_flight
        answer.told_rif = min(report.rif, MOST_RIF)
        answer.told_ns, answer.stated = report.latency_ns, report.stated
        answer.told_until_ns = report.until_ns
        self._pool.add((answer,), now_ns, told=True)

    def crowd(self) -> float:
        return self._others / (self._ours + self._told or 1)

    def _charged(self, peer: Peer, node: Answer, took_ns: int, now_ns: int, reply: Reply) -> int:
        before, counts_ns = node.count, super()._charged(peer, node, took_ns, now_ns, reply)
        if node.count > before:
            self._pool.worsen(node)
        return counts_ns

    def _learn(self, node: Answer, begun_ns: int, took_ns: int, now_ns: int, reply: Reply) -> None:
        node.learn(took_ns)

    def _prepare(self, now_ns: int) -> None:
        """See to it that there are answers to choose among."""
        self._pool.sweep(now_ns)
        if len(self._pool.answers) < 2:
            self._probe(now_ns)

    def _by_chance(self, now_ns: int) -> Peer:
        peer = self._peers[int(self._random() * len(self._peers))]
        self._pool.thin_out()
        self._probe(now_ns)
        return peer

    def _probe(self, now_ns: int) -> None:
        """Ask some backends, all different; who has not answered for long is answered for."""
        answers = next(self._draws)
        ask = self._ask
        if now_ns - self._heard_ns > self._silence_ns:
            for answer in answers:
                ask(answer.peer)
            self._pool.add(answers, now_ns, told=False)
            return
        known = [answer for answer in answers if answer.told_until_ns > now_ns]
        self._pool.add(known, now_ns, told=True)
        if len(known) < len(answers):
            for answer in answers:
                if answer.told_until_ns <= now_ns:
                    ask(answer.peer)


POLICY = Policy(
    "prequal",
    "hot or cold by requests in flight, then the fastest (probing)",
    Expectation.FEEDBACK,
    Prequal,
    Options(),
    cost="O(pool + probes)",
)
