"""Whether counts are more even than chance would make them: the lower tail of the chi-square, where it means anything.

Counts are whole numbers, so with few of them the most even outcome is nothing rare. For N draws over k categories it
has a chance of about (2 pi N)^(-(k-1)/2) / sqrt(p1 p2 ... pk):

    1,000 draws over 2 equal backends    2.5 %        500 500 says nothing
    1,000 draws over 3                   0.08 %
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log, pi

from lbctl.stats.chi_square import p_value

TAIL = 0.001


def too_even(chi2: float, dof: int, expected: Sequence[float]) -> bool:
    """Whether chance gives counts as even as these at most once in a thousand runs; ``expected`` picks, above 0."""
    picks = sum(expected)
    if len(expected) < 2 or picks <= len(expected):
        return False
    shares = sum(log(each / picks) for each in expected)
    most_even = exp(min(0.0, -0.5 * ((len(expected) - 1) * log(2.0 * pi * picks) + shares)))
    return most_even <= TAIL and p_value(chi2, dof) > 1.0 - TAIL
