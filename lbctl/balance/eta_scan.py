"""Who has the least estimate of nginx's least_time with inflight, which is O(n) by definition.

Every pick averages, for everybody who has not answered, the mean age of what is unanswered: so each of these estimates
may change at every pick, by an average that is rounded each time and grows with a time of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from lbctl.balance.least_time import Node, eta_ms
from lbctl.balance.peer import Peer
from lbctl.balance.smooth import settled


class EtaScan:
    """Chooses one of those with the least estimate for its weight; equals take turns by smooth weighted round robin."""

    def __init__(self, peers: Sequence[Peer], nodes: Sequence[Node], weights: Sequence[int], timeout_s: int) -> None:
        self._peers, self._nodes, self._weights, self._timeout_s = peers, nodes, weights, timeout_s
        self._sum = sum(weights)
        opening = settled([peer.credit for peer in peers], weights)
        self._current = [round(credit * self._sum) for credit in opening]

    def lowest(self, now_ns: int) -> Peer:
        """Choose a peer."""
        now_ms, keys = now_ns // 1_000_000, []
        for peer, node, weight in zip(self._peers, self._nodes, self._weights, strict=True):
            node.await_answers(peer, now_ms)
            time_ms = node.time_ms(now_ms, self._timeout_s)
            keys.append(eta_ms(time_ms, peer.picks - peer.finished + node.count) / weight)
        least = min(keys)
        chosen = self._turn([index for index, key in enumerate(keys) if key == least])
        node = self._nodes[chosen]
        node.begin(now_ms)
        node.choose(now_ms // 1000, self._timeout_s)
        return self._peers[chosen]

    def changed(self, index: int, now_ns: int) -> None:
        """Everybody is looked at anyway."""

    def credits(self) -> list[float]:
        """The picks that everybody is owed, for who comes after."""
        return [current / self._sum for current in self._current]

    def _turn(self, tied: Sequence[int]) -> int:
        current, weights = self._current, self._weights
        for index in tied:
            current[index] += weights[index]
        chosen = max(tied, key=current.__getitem__)
        current[chosen] -= sum(weights[index] for index in tied)
        return chosen
