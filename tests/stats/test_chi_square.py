from __future__ import annotations

import json
from math import erfc, exp, isclose, sqrt
from pathlib import Path
from random import Random

import pytest

from lbctl.stats.chi_square import p_value, upper_gamma

CRITICAL = json.loads((Path(__file__).parents[1] / "vectors" / "policies.json").read_text())["chi2_critical"]


@pytest.mark.parametrize(("row", "p"), [("p0.001", 1e-3), ("p1e-6", 1e-6)])
def test_critical_values_are_the_published_ones(row: str, p: float) -> None:
    for dof, critical in zip(CRITICAL["given"]["df"], CRITICAL["expect"][row], strict=True):
        assert isclose(p_value(critical, dof), p, rel_tol=0.005), dof  # they are given to two decimals


@pytest.mark.parametrize("x", [0.0, 1e-9, 0.3, 1.0, 2.9, 3.1, 17.0, 80.0, 700.0, 1400.0])
def test_one_and_two_degrees_of_freedom_agree_with_their_closed_forms(x: float) -> None:
    assert isclose(p_value(x, 1), erfc(sqrt(x / 2)), rel_tol=1e-10, abs_tol=1e-300)
    assert isclose(p_value(x, 2), exp(-x / 2), rel_tol=1e-10, abs_tol=1e-300)


@pytest.mark.parametrize("dof", [4, 6, 20, 100])
@pytest.mark.parametrize("ratio", [0.1, 0.9, 1.0, 1.1, 3.0])
def test_even_degrees_of_freedom_agree_with_the_poisson_sum(dof: int, ratio: float) -> None:
    half = dof * ratio / 2
    term = total = exp(-half)
    for k in range(1, dof // 2):
        term *= half / k
        total += term
    assert isclose(p_value(2 * half, dof), total, rel_tol=1e-10)


@pytest.mark.parametrize("dof", [1_000, 100_000, 10_000_000])
def test_many_degrees_of_freedom_look_normal(dof: int) -> None:
    assert isclose(p_value(dof, dof), 0.5, abs_tol=0.01)
    assert isclose(p_value(dof + 3.0902 * sqrt(2 * dof), dof), 1e-3, rel_tol=0.5)


def test_the_extremes_are_certain_and_impossible() -> None:
    assert p_value(0.0, 5) == 1.0
    assert p_value(1e9, 5) == 0.0
    assert p_value(-1e-12, 5) == 1.0  # what rounding may leave of a perfect fit
    assert upper_gamma(3.0, 0.0) == 1.0


def test_no_degrees_of_freedom_is_an_error() -> None:
    with pytest.raises(ValueError, match="degree"):
        p_value(1.0, 0)


def test_the_tail_only_falls() -> None:
    rng = Random(2)
    for dof in (1, 2, 3, 9, 40):
        points = sorted(rng.uniform(0, 6 * dof) for _ in range(200))
        tail = [p_value(x, dof) for x in points]
        assert tail == sorted(tail, reverse=True)
        assert all(0.0 <= p <= 1.0 for p in tail)
