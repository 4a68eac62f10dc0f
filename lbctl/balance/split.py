"""Picks over two or more sets of peers: chance says which set, the policy's own picker says whom of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random
from typing import Any

from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Law, Learning, Picker, Reported, Why
from lbctl.model import Reply


class Split:
    """Each picker gets so many percent of the picks, 100 in all."""

    def __init__(self, pickers: Sequence[Picker], percents: Sequence[int], rng: Random) -> None:
        self._pickers = pickers
        self._percents = percents
        self._rng = rng
        self._by_draw = [picker for picker, percent in zip(pickers, percents, strict=True) for _ in range(percent)]
        # Asked once: of a protocol that takes longer than to tell them.
        self._learning = [picker for picker in pickers if isinstance(picker, Learning)]
        self._reported = [picker for picker in pickers if isinstance(picker, Reported)]

    def pick(self, call: Call) -> Peer:
        return self._by_draw[int(self._rng.random() * 100)].pick(call)

    def why(self, call: Call) -> tuple[Peer, Why]:
        """Tell the draw in front of what the picker says."""
        drawn = int(self._rng.random() * 100)
        picker = self._by_draw[drawn]
        level = self._pickers.index(picker)
        peer, why = picker.why(call)
        text = f"level {level + 1} has {self._percents[level]} % of the picks, drawn {drawn} of 0..99: {why.text}"
        return peer, why._replace(text=text)

    def law(self) -> Law:
        """The shares of all; drawn where each of the pickers draws, for then no pick depends on another."""
        laws = [picker.law() for picker in self._pickers]
        shares = [
            percent / 100 * share for percent, law in zip(self._percents, laws, strict=True) for share in law.shares
        ]
        return Law(shares, math.inf, drawn=all(law.drawn for law in laws), partial=any(law.partial for law in laws))

    def retire(self) -> None:
        for picker in self._pickers:
            picker.retire()

    def ended(self, peer: Peer, begun_ns: int, now_ns: int, reply: Reply) -> None:
        for picker in self._learning:
            picker.ended(peer, begun_ns, now_ns, reply)

    def reported(self, peer: Peer, report: Any, now_ns: int) -> None:  # noqa: ANN401  # the policy knows its reports
        for picker in self._reported:
            picker.reported(peer, report, now_ns)
