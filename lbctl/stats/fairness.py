"""The verdict on the balance: whether every backend got what the policy owed it, and whether one can tell yet.

Counts are judged against what the policy should have done at the time, so a backend that died half-way skews nothing.

    how the picks were made        judged by
    one peer, turns, smooth WRR    each count within the policy's bound, in calls: per epoch, and over all epochs
    by chance                      Pearson's chi-square, p < 0.001
    by hash or by feedback         not at all: nobody can state the shares beforehand

Small expectations: backends that expect fewer than five picks are judged in groups of at least five. Where more than a
fifth of them would need that, "balanced" says too much and the verdict is "too few". Large counts: a difference that is
certain and below one part in a hundred is "practically equal".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, log, sqrt
from typing import NamedTuple, Protocol

from lbctl.stats.chi_square import p_value
from lbctl.stats.report import Balance

ALPHA = 0.001
PRACTICAL = 0.01  # effect size (Cohen's w) below which a certain difference is of no consequence
ENOUGH = 5.0  # expected picks of a category for a chi-square to be valid
_ALONE = 0.8  # part of the backends that must be judged by themselves for "balanced" to be said
_ROUNDING = 1e-6


class Counted(Protocol):
    """One backend's picks and expected picks; see ``lbctl.balance.evidence`` for the sums."""

    @property
    def address(self) -> str: ...
    @property
    def picks(self) -> int: ...
    @property
    def expected(self) -> float: ...
    @property
    def bounded_picks(self) -> int: ...
    @property
    def bounded_expected(self) -> float: ...
    @property
    def slack(self) -> float: ...
    @property
    def slack_squares(self) -> float: ...
    @property
    def pooled_picks(self) -> int: ...
    @property
    def pooled_expected(self) -> float: ...


class Evidence(Protocol):
    """What the balancer knows about all epochs."""

    @property
    def expectation(self) -> str: ...
    @property
    def bounded(self) -> int: ...
    @property
    def overrun(self) -> float: ...
    @property
    def drawn(self) -> int: ...
    @property
    def chi2(self) -> float: ...
    @property
    def dof(self) -> int: ...
    @property
    def pooled(self) -> int: ...
    @property
    def unjudged(self) -> int: ...
    @property
    def strays(self) -> int: ...
    @property
    def backends(self) -> Sequence[Counted]: ...


class _Finding(NamedTuple):
    verdict: str
    note: str
    chi2: float | None = None
    dof: int | None = None
    p: float | None = None


class _Group(NamedTuple):
    """Backends judged as one category."""

    picks: int
    expected: float
    size: int


def judge(evidence: Evidence) -> Balance:
    """Return the verdict on everything picked so far."""
    rows = evidence.backends
    finding = _finding(evidence)
    picks = sum(row.picks for row in rows)
    worst = max(rows, key=lambda row: (abs(row.picks - row.expected), row.address), default=None)
    if worst is None or not picks:
        return Balance(evidence.expectation, finding.verdict, None, None, None, None, None, None, finding.note)
    largest = max((row.picks / row.expected for row in rows if row.expected >= 1.0), default=0.0)
    return Balance(
        expectation=evidence.expectation,
        verdict=finding.verdict,
        max_delta=abs(worst.picks - worst.expected) / picks,
        chi2=finding.chi2,
        dof=finding.dof,
        p_value=finding.p,
        max_over_expected=largest if largest > 1.0 - _ROUNDING else None,  # less: the largest expects under one pick
        worst=worst.address,
        note=finding.note,
    )


def _finding(evidence: Evidence) -> _Finding:
    """Judge what can be judged; the worst of it is the verdict, and a test's numbers are shown when there was one."""
    by_chance = evidence.drawn + evidence.pooled
    parts = []
    if by_chance:
        parts.append(_chance(evidence))
    if evidence.bounded:
        parts.append(_bounded(evidence))
    if evidence.strays:
        parts.append(_Finding("skewed", f"{_picks(evidence.strays)} went to backends that should have had none"))
    if not parts:
        return _unjudged(evidence)
    decisive = min(parts, key=lambda part: ("skewed", "too_few", "balanced").index(part.verdict))
    tested = next((part for part in parts if part.chi2 is not None), decisive)
    return decisive._replace(chi2=tested.chi2, dof=tested.dof, p=tested.p)


def _unjudged(evidence: Evidence) -> _Finding:
    if not evidence.unjudged:
        return _Finding("too_few", "nothing was picked yet")
    if sum(row.expected > 0 for row in evidence.backends) == 1:
        return _Finding("balanced", "there was one backend to pick")
    return _Finding("not_applicable", f"no share can be stated beforehand where picks follow {evidence.expectation}")


def _bounded(evidence: Evidence) -> _Finding:
    """Judge policies that promise how far a count may be from its expectation.

    Every epoch has its own bound. Over all of them the bounds add up, and beyond a handful of epochs that sum is too
    generous: deviations that lean neither way stay within the square root of the sum of squares, times a factor.
    """
    rows = [row for row in evidence.backends if row.bounded_expected > 0 or row.bounded_picks]
    factor = sqrt(2.0 * log(2.0 * len(rows) / ALPHA))
    allowed = [min(row.slack, factor * sqrt(row.slack_squares)) for row in rows]
    excess = [abs(row.bounded_picks - row.bounded_expected) - limit for row, limit in zip(rows, allowed, strict=True)]
    if evidence.overrun > _ROUNDING or max(excess) > _ROUNDING:
        return _Finding("skewed", _blame(rows))
    possible = max(max(row.bounded_expected, evidence.bounded - row.bounded_expected) for row in rows)
    if possible <= max(allowed):
        return _Finding("too_few", f"{_picks(evidence.bounded)} cannot tell one order of backends from another")
    off = max(abs(row.bounded_picks - row.bounded_expected) for row in rows)
    return _Finding("balanced", f"every count is within {_calls(off)} of its expectation")


def _chance(evidence: Evidence) -> _Finding:
    """Judge draws by Pearson's chi-square: long epochs each with its own, the short ones together in groups.

    The sum over short epochs varies less than a chi-square, so judging it as one raises no more alarms than promised.
    """
    groups = _grouped((row.pooled_picks, row.pooled_expected) for row in evidence.backends if row.pooled_expected > 0)
    pooled_dof = max(len(groups) - 1, 0)
    chi2 = evidence.chi2
    if pooled_dof:
        chi2 += sum((group.picks - group.expected) ** 2 / group.expected for group in groups)
    dof = evidence.dof + pooled_dof
    if not dof:
        return _Finding("too_few", _needed(evidence))
    picks = evidence.drawn + (evidence.pooled if pooled_dof else 0)
    p = p_value(chi2, dof)
    summary = f"chi-square {chi2:.3g}, {dof} degree{'s' if dof > 1 else ''} of freedom, p {p:.2g}"
    if p < ALPHA:
        effect = sqrt(max(chi2 - dof, 0.0) / picks)
        if effect < PRACTICAL:
            return _Finding("balanced", f"practically equal: effect size {effect:.4f} ({summary})", chi2, dof, p)
        return _Finding("skewed", f"{_blame(evidence.backends)} ({summary})", chi2, dof, p)
    alone = sum(group.size == 1 for group in groups)
    if not evidence.drawn and alone < _ALONE * sum(group.size for group in groups):
        return _Finding("too_few", _needed(evidence), chi2, dof, p)
    return _Finding("balanced", f"what chance would do: {summary}", chi2, dof, p)


def _grouped(rows: Iterable[tuple[int, float]]) -> list[_Group]:
    """Merge the smallest expectations, smallest first, until every group expects enough; counts play no part."""
    groups: list[_Group] = []
    merged = _Group(0, 0.0, 0)
    for picks, expected in sorted(rows, key=lambda row: row[1]):
        merged = _Group(merged.picks + picks, merged.expected + expected, merged.size + 1)
        if merged.expected >= ENOUGH:
            groups.append(merged)
            merged = _Group(0, 0.0, 0)
    if merged.size and groups:
        last = groups.pop()
        merged = _Group(last.picks + merged.picks, last.expected + merged.expected, last.size + merged.size)
    return [*groups, merged] if merged.size else groups


def _needed(evidence: Evidence) -> str:
    picks = sum(row.picks for row in evidence.backends)
    least = min((row.expected for row in evidence.backends if row.expected > 0), default=0.0)
    if not least:
        return f"{_picks(picks)} are too few to judge"
    return f"{_picks(picks)} are too few to judge: {ceil(ENOUGH * picks / least - _ROUNDING):,} are needed"


def _blame(rows: Sequence[Counted]) -> str:
    worst = max(rows, key=lambda row: (abs(row.picks - row.expected), row.address))
    return f"{worst.address} got {_picks(worst.picks)} where {worst.expected:,.1f} were expected"


def _picks(count: int) -> str:
    return f"{count:,} pick" if count == 1 else f"{count:,} picks"


def _calls(number: float) -> str:
    return "1 call" if number <= 1.0 else f"{number:,.1f} calls"
