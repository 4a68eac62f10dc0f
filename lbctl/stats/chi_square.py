"""The chi-square distribution's upper tail, exact to about twelve digits, from the standard library alone.

dof   x       P(X >= x)
1     10.828  0.001
2     13.816  0.001
99    148.23  0.001
"""

from __future__ import annotations

from math import exp, lgamma, log

_PRECISION = 1e-16
_TINY = 1e-300


def p_value(chi2: float, dof: int) -> float:
    """Return the probability that chance alone gives at least this chi-square; ``dof`` is at least 1."""
    if dof < 1:
        raise ValueError("a chi-square needs at least one degree of freedom")
    return upper_gamma(dof / 2.0, max(chi2, 0.0) / 2.0)


def upper_gamma(a: float, x: float) -> float:
    """Return the regularised upper incomplete gamma function Q(a, x) for a > 0 and x >= 0."""
    if x == 0.0:
        return 1.0
    scale = a * log(x) - x - lgamma(a)
    if x < a + 1.0:
        return max(0.0, 1.0 - exp(scale) * _lower_series(a, x))
    return min(1.0, exp(scale) * _upper_fraction(a, x)) if scale > -745.0 else 0.0


def _lower_series(a: float, x: float) -> float:
    """Sum 1/a + x/(a (a+1)) + x^2/(a (a+1) (a+2)) + ..., whose terms shrink where x < a + 1."""
    term = total = 1.0 / a
    n = a
    while term > total * _PRECISION:
        n += 1.0
        term *= x / n
        total += term
    return total


def _upper_fraction(a: float, x: float) -> float:
    """Evaluate 1/(x+1-a- 1(1-a)/(x+3-a- 2(2-a)/(x+5-a- ...))) from the front (Lentz's method)."""
    b = x + 1.0 - a
    c = 1.0 / _TINY
    d = value = 1.0 / b
    for i in range(1, 1_000_000):
        numerator = -i * (i - a)
        b += 2.0
        d = 1.0 / _off_zero(numerator * d + b)
        c = _off_zero(b + numerator / c)
        value *= c * d
        if abs(c * d - 1.0) < _PRECISION * 4:
            break
    return value


def _off_zero(number: float) -> float:
    return number if abs(number) > _TINY else _TINY
