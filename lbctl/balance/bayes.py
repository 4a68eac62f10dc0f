"""A test of promised shares that may be looked at as often as one likes, without raising more false alarms.

The shares p are held against every other set of shares at once, more probable the nearer it is to p: a Dirichlet
distribution with parameters c p, where c says how near. How much better that explains the counts than p itself does is
their Bayes factor. If p is right, the factor is 1 on average at any moment, so by Ville's inequality the chance that it
ever exceeds 1/alpha, however often somebody looks, is at most alpha. A chi-square has no such property: looked at again
and again, it passes any level at some time.

    factor = product of rising(c p_i, n_i) / p_i^n_i  /  rising(c, n),     rising(a, n) = a (a + 1) ... (a + n - 1)

    p 1/2 1/2, c 2, counts 2 0:   (1 x 2 x 4) / (2 x 3)          = 4/3
    p 1/2 1/2, c 2, counts 1 1:   (1 x 2) (1 x 2) / (2 x 3)      = 2/3
    the mean over 2 picks:        1/4 x 4/3 + 1/2 x 2/3 + 1/4 x 4/3 = 1

Several c, and the mean of their factors: a small one sees a large difference early, a large one sees small differences.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, lgamma, log
from typing import Final

NEARNESS: Final = (10.0, 100.0, 1_000.0, 10_000.0)


def log_factor(counts: Sequence[int], shares: Sequence[float]) -> float:
    """Return the logarithm of the Bayes factor against these shares; counts where the share is 0 are left out."""
    pairs = [(count, share) for count, share in zip(counts, shares, strict=True) if share > 0.0]
    if len(pairs) < 2:
        return 0.0
    total = sum(count for count, _ in pairs)
    expected = sum(count * log(share) for count, share in pairs if count)
    return log_mean([_mixed(pairs, total, nearness) - expected for nearness in NEARNESS])


def log_mean(logs: Sequence[float]) -> float:
    """Return the logarithm of the mean of numbers that are given by their logarithms."""
    largest = max(logs)
    return largest + log(sum(exp(each - largest) for each in logs) / len(logs))


def _mixed(pairs: Sequence[tuple[int, float]], total: int, nearness: float) -> float:
    """The logarithm of the probability of one order of these counts under all the other shares together."""
    found = lgamma(nearness) - lgamma(nearness + total)
    return found + sum(lgamma(nearness * share + count) - lgamma(nearness * share) for count, share in pairs if count)
