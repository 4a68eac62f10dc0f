"""What policies share that go by what this client measures; ``lbctl.balance.penalty`` says why failures cost time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from lbctl.balance.peer import Peer
from lbctl.balance.penalty import SERVER, Kept, is_fault, remembered
from lbctl.balance.policies.base import Law, Setup, equal
from lbctl.balance.policies.options import option
from lbctl.model import Reply

Node = TypeVar("Node", bound=Kept)


def failure_penalty() -> Any:  # noqa: ANN401  # like option
    """Return the field of an options class."""
    return option(
        1.0,
        "a failed attempt counts as if it had kept its slot that long; 0s is the original",
        least=0,
        unit="duration",
    )


class Penalised(Generic[Node]):
    """A picker with a node for each of its peers, which remembers failures and outlives the picker."""

    def __init__(self, peers: Sequence[Peer], setup: Setup, kind: type[Node]) -> None:
        self._peers = peers
        self._penalty_ns: int = round(setup.options.failure_penalty * 1e9)
        self._entries = [(peer, remembered(peer, kind)) for peer in peers]
        self._nodes = dict(self._entries)

    def law(self) -> Law:
        return Law(equal(self._peers))

    def retire(self) -> None:
        """Leave nothing behind but what the peers remember."""

    def ended(self, peer: Peer, begun_ns: int, now_ns: int, reply: Reply) -> None:
        if reply.code or reply.origin is not SERVER:
            node = self._nodes.get(peer)
            if node is not None:
                self._charged(peer, node, 0, now_ns, reply)

    def _charged(self, peer: Peer, node: Node, took_ns: int, now_ns: int, reply: Reply) -> int:
        """Return how long an attempt counts as having taken that was not OK; a failure keeps its slot."""
        if self._penalty_ns and is_fault(reply):
            node.add(now_ns, self._penalty_ns)
            return max(took_ns, self._penalty_ns)
        return took_ns


class Measuring(Penalised[Node]):
    """One that also learns how long attempts took."""

    def ended(self, peer: Peer, begun_ns: int, now_ns: int, reply: Reply) -> None:
        node = self._nodes.get(peer)
        if node is not None:
            took_ns = now_ns - begun_ns if now_ns > begun_ns else 0
            if reply.code or reply.origin is not SERVER:
                took_ns = self._charged(peer, node, took_ns, now_ns, reply)
            self._learn(node, begun_ns, took_ns, now_ns, reply)

    def _learn(self, node: Node, begun_ns: int, took_ns: int, now_ns: int, reply: Reply) -> None:
        """An attempt of this peer ended, and counts as having taken so long."""
