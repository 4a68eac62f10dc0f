"""Picks computed ahead: in blocks while they are new, replayed once a whole cycle of them is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from operator import length_hint
from typing import Final

from lbctl.balance.peer import Peer

REPLAY: Final = 1 << 18  # a cycle of at most so many picks is computed once and then replayed
_FIRST, _LARGEST = 32, 4096  # picks computed at a time: few for a picker that may soon be replaced


class Ahead:
    """Hands out what ``take(count)`` says, indices of peers, and knows how much of it is gone.

    ``weights`` have no common divisor. After ``lead`` picks, a run of as many as the weights' sum which has as many of
    every peer as its weight says is a cycle, and all that comes after it is the same again.
    """

    def __init__(
        self, peers: Sequence[Peer], weights: Sequence[int], take: Callable[[int], list[int]], lead: int = 0
    ) -> None:
        self._peers = peers
        self._weights = weights
        self._sum = sum(weights)
        self._take = take
        self._lead = lead
        self._block: list[Peer] = []
        self._left: Iterator[Peer] = iter(())
        self._before = 0
        self.picks = chain.from_iterable(self._blocks())  # without an end

    @property
    def handed(self) -> int:
        """How many picks were handed out."""
        return self._before + len(self._block) - length_hint(self._left)

    @property
    def last(self) -> Peer | None:
        """The peer that was handed out last."""
        gone = len(self._block) - length_hint(self._left)
        return self._block[gone - 1] if gone else None

    def unused(self) -> Counter[Peer]:
        """The picks that were taken and not handed out, whole cycles aside."""
        return Counter(self._block[len(self._block) - length_hint(self._left) :])

    def _blocks(self) -> Iterator[Iterator[Peer]]:
        size, lead = _FIRST, self._lead
        cycle: list[Peer] = []
        while not self._repeats(cycle):
            if len(cycle) == self._sum or self._sum > REPLAY:
                cycle = []
            block = self._taken(min(size, lead or self._sum - len(cycle)))
            if lead:
                lead -= len(block)
            else:
                cycle += block
            yield self._handing(block)
            size = min(size * 2, _LARGEST)
        cycle *= 1 + _LARGEST // self._sum
        while True:
            yield self._handing(cycle)

    def _taken(self, count: int) -> list[Peer]:
        peers = self._peers
        return [peers[index] for index in self._take(count)]

    def _handing(self, block: list[Peer]) -> Iterator[Peer]:
        self._before += len(self._block)
        self._block, self._left = block, iter(block)
        return self._left

    def _repeats(self, cycle: list[Peer]) -> bool:
        if len(cycle) != self._sum:
            return False
        counts = Counter(cycle)
        return all(counts[peer] == weight for peer, weight in zip(self._peers, self._weights, strict=True))
