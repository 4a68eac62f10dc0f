"""Fastest: the lowest latency, times the calls that already wait there.

    score = latency x (in flight + 1)

The lowest score takes the call; equals are drawn by weight:

    a: 10 ms, 3 in flight    10 x 4 = 40
    b: 40 ms, idle           40 x 1 = 40
    c: 12 ms, 2 in flight    12 x 3 = 36    chosen

    metric=ewma      a moving average; a second back a sample counts 37 %
    metric=average   the mean of the last 30 s
    metric=p99       their 99th percentile; below 100 calls, the slowest
    metric=dubbo     the mean of the calls that succeeded: shortestresponse
    metric=nginx     least_time last_byte: 95 % of the average and 5 % of the
                     new one, in steps of 20 ms, 5 s at most, for its weight;
                     equals take turns by smooth weighted round robin

With times-in-flight=false the lowest latency alone decides, and one backend
takes everything until its latency rises. Who was slow once would never be
heard of again, so a backend with no call for the probe interval is sent the
next one, whatever its score. One that never answered comes first, for one
call, and counts as 1 s until then; for dubbo it comes first till it answers.
nginx has neither: it halves the time of a backend for each fail-timeout it
was not looked at, and with inflight=true takes the mean age of unanswered
calls where that is higher: each pick averages it anew for every backend, and
so has to look at all of them.

Shares. Scores become equal, so shares are about as 1 / latency^2: 10, 20 and
40 ms get 74, 21 and 5 %. Scores are computed when a call to the backend
begins or ends, so a window is as of then. What is known of a backend stays
with it when others join or leave. A failed call counts as one that took the
failure penalty, and keeps its slot so long. With failure-penalty=0s, as in
the originals, failures count as they are (with nginx and dubbo not at all),
and a backend that fails at once is the fastest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heapify, heapreplace

from lbctl.balance.estimates import estimate
from lbctl.balance.peer import Peer
from lbctl.balance.penalty import SERVER, KeptSlots, is_fault
from lbctl.balance.policies.base import Call, Expectation, Law, Picker, Policy, Setup, Why, equal, weights_of
from lbctl.balance.policies.least_time import LeastTime
from lbctl.balance.policies.options import option
from lbctl.balance.policies.penalised import failure_penalty
from lbctl.balance.scores import LOOK_NS, Node, Scores
from lbctl.balance.two_choices import NEVER_NS
from lbctl.model import Reply


@dataclass(frozen=True, slots=True)
class Options:
    """What can be set."""

    metric: str = option("ewma", "which latency", choices=("ewma", "average", "p99", "dubbo", "nginx"))
    times_in_flight: bool = option(True, "multiply by the calls in flight + 1; nginx and dubbo always do")
    decay: float = option(1.0, "ewma: time in which a sample loses 63 % of its influence", above=0, unit="duration")
    window: float = option(30.0, "average, p99, dubbo: how far back calls count", above=0, unit="duration")
    probe: float = option(
        1.0, "time without a call after which a backend is sent one; 0s is never", least=0, unit="duration"
    )
    inflight: bool = option(False, "nginx: unanswered calls count too")
    fail_timeout: float = option(10.0, "nginx: whole seconds after which a time is halved", least=0, unit="duration")
    failure_penalty: float = failure_penalty()


class Fastest:
    """Keeps its peers in the order of their scores, and in that of their last calls."""

    def __init__(self, peers: Sequence[Peer], setup: Setup) -> None:
        options: Options = setup.options
        self._peers = peers
        make = estimate(options.metric, options.decay, options.window)
        for peer in peers:
            if not isinstance(peer.memory, Node):
                peer.memory = Node(make())
        nodes: list[Node] = [peer.memory for peer in peers]
        self._kept = KeptSlots(nodes, options.failure_penalty)
        self._scores = Scores(
            peers,
            nodes,
            weights_of(peers),
            setup.rng,
            self._due,
            is_dubbo=options.metric == "dubbo",
            times_in_flight=options.times_in_flight or options.metric == "dubbo",
        )
        self.pick: Callable[[Call], Peer] = self._scores.pick
        self._changed = self._scores.changed
        self._by_peer = {spot.peer: spot for spot in self._scores.spots}
        self._probe_ns = round(options.probe * 1e9)
        self._probes = 0
        self._only_ok = options.metric == "dubbo"
        self._waiting = [(node.picked_ns, index) for index, node in enumerate(nodes)]  # a heap
        heapify(self._waiting)
        self._overdue_ns = NEVER_NS if self._probe_ns else NEVER_NS * -1  # nobody has waited for too long before

    def why(self, call: Call) -> tuple[Peer, Why]:
        self._free(call.now_ns)
        rows = tuple(
            (
                spot.peer,
                (f"{spot.estimate.value_ns(call.now_ns) / 1e6:.1f}ms", str(spot.peer.in_flight + spot.node.count)),
            )
            for spot in self._scores.spots
        )
        probes = self._probes
        peer = self.pick(call)
        text = f"no call for {self._probe_ns / 1e9:g}s" if self._probes > probes else "the lowest score"
        return peer, Why(text, ("latency", "in flight"), rows)

    def law(self) -> Law:
        return Law(equal(self._peers))

    def retire(self) -> None:
        """Leave nothing behind but what the peers remember."""

    def ended(self, peer: Peer, begun_ns: int, now_ns: int, reply: Reply) -> None:
        spot = self._by_peer.get(peer)
        if spot is None:
            return
        took_ns, counts = now_ns - begun_ns, True
        if reply.code or reply.origin is not SERVER:
            counts = not self._only_ok
            if self._kept.penalty_ns and is_fault(reply):
                took_ns, counts = max(took_ns, self._kept.penalty_ns), True
                self._kept.add(spot.index, now_ns)
                self._scores.due_ns = min(self._scores.due_ns, self._kept.due[0][0])
        if counts:
            spot.estimate.add(took_ns if took_ns > 0 else 0, now_ns)
        self._changed(spot, now_ns)

    def _due(self, now_ns: int) -> Peer | None:
        """Do what is due now, and note when something will be; choose who has waited for too long, if anybody has."""
        self._free(now_ns)
        self._scores.look(now_ns)
        found = self._overdue(now_ns) if now_ns > self._overdue_ns else None
        due = self._kept.due
        self._scores.due_ns = min(now_ns + LOOK_NS, self._overdue_ns + 1, due[0][0] if due else now_ns + LOOK_NS)
        return found

    def _free(self, now_ns: int) -> None:
        for index in self._kept.freed(now_ns):
            self._changed(self._scores.spots[index], now_ns)

    def _overdue(self, now_ns: int) -> Peer | None:
        waiting, spots, latest_ns = self._waiting, self._scores.spots, now_ns - self._probe_ns
        found = None
        while found is None and waiting[0][0] < latest_ns:
            since_ns, index = waiting[0]
            spot, node = spots[index], spots[index].node
            if since_ns == node.picked_ns != NEVER_NS and not spot.peer.in_flight:
                found = spot
            if since_ns == node.picked_ns:  # new, or about to be heard of
                node.picked_ns = now_ns
            heapreplace(waiting, (node.picked_ns, index))
        self._overdue_ns = waiting[0][0] + self._probe_ns
        if found is None:
            return None
        self._probes += 1
        return self._scores.take(found, now_ns)


def _picker(peers: Sequence[Peer], setup: Setup) -> Picker:
    return (LeastTime if setup.options.metric == "nginx" else Fastest)(peers, setup)


POLICY = Policy(
    "fastest",
    "lowest latency x calls in flight",
    Expectation.FEEDBACK,
    _picker,
    Options(),
    aliases=("least_time", "shortestresponse"),
    cost="O(log n); O(n) with inflight",
)
