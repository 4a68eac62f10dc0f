"""The verdict on picks that were left to chance: Pearson's chi-square at the end, a Bayes factor before it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, exp, sqrt
from typing import Final, NamedTuple

from lbctl.stats.chi_square import p_value
from lbctl.stats.evenness import too_even
from lbctl.stats.evidence import ALPHA, ROUNDING, Evidence, Finding, blame, in_picks, of_keys

PRACTICAL: Final = 0.01  # effect size (Cohen's w) below which a certain difference is of no consequence
ENOUGH: Final = 5.0  # expected picks of a category for a chi-square to be valid
TOO_EVEN: Final = "more even than chance would be"
_ALONE: Final = 0.8  # part of the backends that must be judged by themselves for "balanced" to be said


class _Group(NamedTuple):
    """Backends judged as one category."""

    picks: int
    expected: float
    size: int


class _Test(NamedTuple):
    """Pearson's chi-square over everything that was left to chance."""

    chi2: float
    dof: int  # 0: nothing can be said yet
    picks: int
    groups: Sequence[_Group]

    @property
    def effect(self) -> float:
        """Cohen's w, less what chance alone would make of it."""
        return sqrt(max(self.chi2 - self.dof, 0.0) / self.picks) if self.picks else 0.0


def _tested(evidence: Evidence) -> _Test:
    """Long epochs each with a chi-square of its own, the short ones together in groups.

    The sum over short epochs varies less than a chi-square, so judging it as one raises no more alarms than promised.
    """
    groups = _grouped((row.pooled_picks, row.pooled_expected) for row in evidence.backends if row.pooled_expected > 0)
    pooled_dof = max(len(groups) - 1, 0)
    chi2 = evidence.chi2
    if pooled_dof:
        chi2 += sum((group.picks - group.expected) ** 2 / group.expected for group in groups)
    picks = evidence.drawn + (evidence.pooled if pooled_dof else 0)
    return _Test(chi2, evidence.dof + pooled_dof, picks, groups)


def _added_up(evidence: Evidence) -> _Test:
    """The counts of all epochs together, which show what leans the same way in each.

    Where the shares differ between epochs the sum varies less than a chi-square.
    """
    groups = _grouped((row.chance_picks, row.chance_expected) for row in evidence.backends if row.chance_expected > 0)
    chi2 = sum((group.picks - group.expected) ** 2 / group.expected for group in groups)
    return _Test(chi2, max(len(groups) - 1, 0), evidence.drawn + evidence.pooled, groups)


def judge_chance(evidence: Evidence) -> Finding:
    """Judge draws when all were made, by Pearson's chi-square; of several epochs, by the stronger one of two."""
    test = _tested(evidence)
    if not test.dof:
        return Finding("too_few", _needed(evidence))
    p, over = p_value(test.chi2, test.dof), ""
    telling = test
    if evidence.chances > 1:
        together = _added_up(evidence)
        p_together = p_value(together.chi2, together.dof) if together.dof else 1.0
        if p_together < p:
            telling, over = together, f" over {evidence.chances:,} epochs together"
        p = min(1.0, 2.0 * min(p, p_together))  # there were two tests
    chi2, dof, effect = telling.chi2, telling.dof, telling.effect
    summary = f"chi-square {chi2:.3g}{over}, {dof} degree{'s' if dof > 1 else ''} of freedom, p {p:.2g}"
    if p < ALPHA:
        return Finding(*_certain(evidence, effect, summary), chi2, dof, p, effect)
    if not _alone(evidence, test):
        return Finding("too_few", _needed(evidence), chi2, dof, p, effect)
    if (
        not over
        and not test.groups
        and too_even(chi2, dof, [row.expected for row in evidence.backends if row.expected > 0])
    ):
        return Finding("balanced", f"{TOO_EVEN}: {summary}", chi2, dof, p, effect)
    of = f" of{of_keys(evidence)}" if evidence.expectation == "hash" else ""
    return Finding("balanced", f"what chance would make{of}: {summary}", chi2, dof, p, effect)


def judge_chance_so_far(evidence: Evidence) -> Finding:
    """Judge draws while more of them are made, by a Bayes factor: that alarm may be waited for."""
    test = _tested(evidence)
    p = exp(min(0.0, -evidence.log_factor))
    if p < ALPHA:
        effect = test.effect if test.dof else None
        return Finding(*_certain(evidence, effect, f"p {p:.2g} so far"), p=p, effect=effect)
    if not test.dof or not _alone(evidence, test):
        return Finding("too_few", _needed(evidence))
    return Finding("balanced", "what chance would make, so far", p=p, effect=test.effect)


def _certain(evidence: Evidence, effect: float | None, summary: str) -> tuple[str, str]:
    """Verdict and note where chance is out of the question: a difference too small to matter is none.

    What is certain of counts too few for an effect size is gross.
    """
    if effect is None:
        return "skewed", f"{blame(evidence.backends)} ({summary})"
    if effect < PRACTICAL:
        return "balanced", f"practically equal: effect size {effect:.4f} ({summary})"
    return "skewed", f"{blame(evidence.backends)} (effect size {effect:.2g}, {summary})"


def _alone(evidence: Evidence, test: _Test) -> bool:
    """Whether enough backends are judged by themselves, not in a group."""
    if evidence.drawn:
        return True
    return sum(group.size == 1 for group in test.groups) >= _ALONE * sum(group.size for group in test.groups)


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
        return f"{in_picks(picks)} are too few to judge"
    return f"{in_picks(picks)} are too few to judge: {ceil(ENOUGH * picks / least - ROUNDING):,} are needed"
