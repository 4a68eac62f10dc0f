"""The scores of ``fastest``: a latency, times the calls that already wait there."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final

from lbctl.balance.estimates import Estimate
from lbctl.balance.levels import Ladder, Level
from lbctl.balance.peer import Peer
from lbctl.balance.penalty import Kept
from lbctl.balance.ties import Drawn
from lbctl.balance.two_choices import NEVER_NS

_UNKNOWN_NS: Final = 1e9  # the latency of who never answered, and is busy


class Node(Kept):
    """What is known of one peer."""

    __slots__ = ("estimate", "picked_ns")

    def __init__(self, estimate: Estimate) -> None:
        super().__init__()
        self.estimate = estimate
        self.picked_ns = NEVER_NS


class Scores(Drawn):
    """Levels that are scores as of ``now_ns``; for Dubbo who never answered has the best one, busy or not."""

    def __init__(
        self,
        peers: Sequence[Peer],
        nodes: Sequence[Node],
        weights: Sequence[int],
        rng: Random,
        *,
        is_dubbo: bool,
        times_in_flight: bool,
    ) -> None:
        super().__init__(peers, nodes, [Ladder(float, {})] * len(peers), weights, rng)  # a load alone has no level
        self.now_ns = 0
        self._nodes = nodes
        self._is_dubbo = is_dubbo
        self._times_in_flight = times_in_flight

    def _look(self, index: int) -> Level:
        peer, node = self._peers[index], self._nodes[index]
        load = self._loads[index] = peer.picks - peer.finished + node.count
        latency_ns = node.estimate.value_ns(self.now_ns)
        if latency_ns:
            return Level(latency_ns * ((load if self._times_in_flight else node.count) + 1))
        return Level(0.0 if self._is_dubbo or not load else _UNKNOWN_NS * (load + 1))
