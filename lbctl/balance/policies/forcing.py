"""Two choices as go-zero and Kratos make them: the one that costs less, unless the other has waited for too long."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, TypeVar

from lbctl.balance.averages import FULL, Averages
from lbctl.balance.peer import Peer
from lbctl.balance.penalty import SERVER
from lbctl.balance.policies.base import Call, Setup, Why
from lbctl.balance.policies.penalised import Penalised
from lbctl.balance.two_choices import Pairs
from lbctl.model import Code, Reply

Node = TypeVar("Node", bound=Averages)
Pair = tuple[tuple[Peer, Node], tuple[Peer, Node]]


class Forcing(Penalised[Node]):
    """Compares two by what one more call costs there, of equals the first drawn."""

    failures: ClassVar[frozenset[Code]]  # that count against the success of a backend
    measure: ClassVar[str]  # what costs are made of, for people
    better: ClassVar[str]
    worse: ClassVar[str]

    def __init__(self, peers: Sequence[Peer], setup: Setup, kind: type[Node]) -> None:
        super().__init__(peers, setup, kind)
        self._decay_ns = round(setup.options.decay * 1e9)
        self._force_ns = round(setup.options.force_pick * 1e9)
        pool = self._entries if len(peers) > 1 else self._entries * 2
        self._drawing = setup.rng.random, pool, len(pool), len(pool) - 1
        self._pair: Callable[[], Pair[Node]] = Pairs(pool, setup.rng).draw

    def why(self, call: Call) -> tuple[Peer, Why]:
        now_ns = call.now_ns
        pair = self._pair()
        (peer, node), (rival, other) = pair
        if other.cost(rival, now_ns) < node.cost(peer, now_ns):
            peer, node, rival, other = rival, other, peer, node
        text = f"the {self.better} {self.measure} of two"
        rows = tuple((each, known.figures(each, now_ns)) for each, known in dict(pair).items())
        if now_ns - other.picked_ns > self._force_ns and other is not node:
            peer, node = rival, other
            text = f"the {self.worse} {self.measure} of two, forced: no pick for {self._force_ns / 1e9:g}s"
        node.picked(now_ns)
        return peer, Why(text, ("latency", "in flight", "success", self.measure), rows)

    def ended(self, peer: Peer, begun_ns: int, now_ns: int, reply: Reply) -> None:
        node = self._nodes.get(peer)
        if node is None:
            return
        took_ns, success = now_ns - begun_ns if now_ns > begun_ns else 0, FULL
        if reply.code or reply.origin is not SERVER:
            took_ns = self._charged(peer, node, took_ns, now_ns, reply)
            if reply.code in self.failures:
                success = 0
        node.ended(begun_ns, took_ns, success, now_ns, self._decay_ns)
