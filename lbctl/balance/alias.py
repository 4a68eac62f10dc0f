"""Vose's alias table in whole numbers: any weights, drawn from with one number and one comparison.

weights 5 1 1, sum 7: n x weight is 15 3 3, and each of the 3 slots holds 7 of these 21

slot    own part   the rest
0       7 of 7     -
1       3 of 7     4 go to 0
2       3 of 7     4 go to 0        so 0 has 7 + 4 + 4 = 15 of 21, 1 and 2 have 3 each
"""

from __future__ import annotations

from collections.abc import Sequence


class AliasTable:
    """``index(number)`` for a number from 0 up to ``size``, each as likely as any other."""

    def __init__(self, weights: Sequence[int]) -> None:
        count, total = len(weights), sum(weights)
        left = [weight * count for weight in weights]
        self._total = total
        self.size = count * total
        self.own = [total] * count
        self.other = list(range(count))
        light = [index for index, part in enumerate(left) if part < total]
        heavy = [index for index, part in enumerate(left) if part > total]
        while light:
            slot, giver = light.pop(), heavy[-1]
            self.own[slot], self.other[slot] = left[slot], giver
            left[giver] -= total - left[slot]
            if left[giver] <= total:
                heavy.pop()
            if left[giver] < total:
                light.append(giver)

    def index(self, number: int) -> int:
        slot, rest = divmod(number, self._total)
        return slot if rest < self.own[slot] else self.other[slot]

    def pieces(self) -> list[tuple[int, int]]:
        """Whose the numbers are, from 0 on: indices, and up to which number each comes next."""
        pieces = []
        for slot, (own, other) in enumerate(zip(self.own, self.other, strict=True)):
            start = slot * self._total
            if own:
                pieces.append((slot, start + own))
            if own < self._total:
                pieces.append((other, start + self._total))
        return pieces

    def parts(self) -> list[int]:
        """How many of the numbers lead to each index: the table's law."""
        parts = list(self.own)
        for slot, other in enumerate(self.other):
            parts[other] += self._total - self.own[slot]
        return parts
