"""The verdict on the balance: whether every backend got what the policy owed it, and whether one can tell yet.

Counts are judged against what the policy should have done at the time, so a backend that died half-way skews nothing.

    how the picks were made        judged by
    one peer, turns, smooth WRR    each count within the policy's bound, in calls: per epoch, and over all epochs
    by chance                      Pearson's chi-square, p < 0.001, once: when the run is over
    the same, while it goes on     a Bayes factor above 1,000, which may be looked at as often as one likes
    by hash                        as by chance or exactly: the shares follow from where the keys come from
    by feedback                    not here: nobody can state the shares beforehand (see ``bands``)

Small expectations: backends that expect fewer than five picks are judged in groups of at least five. Where more than a
fifth of them would need that, "balanced" says too much and the verdict is "too few". Large counts: a difference that is
certain and below one part in a hundred is "practically equal". Counts that are more even than chance would make them
are balanced, with a note: they were hardly drawn.
"""

from __future__ import annotations

from dataclasses import replace
from math import log, sqrt

from lbctl.stats.chance import judge_chance, judge_chance_so_far
from lbctl.stats.evidence import ALPHA, ROUNDING, Evidence, Finding, blame, in_picks, of_keys
from lbctl.stats.report import Balance


def judge(evidence: Evidence, *, over: bool = True) -> Balance:
    """Return the verdict on everything picked so far; ``over``: nothing more will be, and nobody judged before.

    Where it is not over, the p-value is the reciprocal of the Bayes factor: it holds whenever somebody stops to look.
    """
    rows = evidence.backends
    finding = _finding(evidence, over=over)
    picks = sum(row.picks for row in rows)
    stated = evidence.expectation != "feedback" or (picks > 0 and not evidence.unjudged)
    worst = max(rows, key=lambda row: (abs(row.picks - row.expected), row.address), default=None)
    if worst is None or not picks:
        nothing = Balance(evidence.expectation, finding.verdict, None, None, None, None, None, None, finding.note)
        return replace(nothing, stated=stated)
    largest = max((row.picks / row.expected for row in rows if row.expected >= 1.0), default=0.0)
    return Balance(
        expectation=evidence.expectation,
        verdict=finding.verdict,
        max_delta=abs(worst.picks - worst.expected) / picks,
        chi2=finding.chi2,
        dof=finding.dof,
        p_value=finding.p,
        max_over_expected=largest if largest > 1.0 - ROUNDING else None,  # less: the largest expects under one pick
        worst=worst.address,
        note=finding.note,
        effect=finding.effect,
        stated=stated,
    )


def _finding(evidence: Evidence, *, over: bool) -> Finding:
    """Judge what can be judged; the worst of it is the verdict, and a test's numbers are shown when there was one."""
    by_chance = evidence.drawn + evidence.pooled
    parts = []
    if by_chance:
        parts.append(judge_chance(evidence) if over else judge_chance_so_far(evidence))
    if evidence.bounded:
        parts.append(_bounded(evidence))
    if evidence.strays:
        parts.append(Finding("skewed", f"{in_picks(evidence.strays)} went to backends that should have had none"))
    if not parts:
        return _unjudged(evidence)
    decisive = min(parts, key=lambda part: ("skewed", "too_few", "balanced").index(part.verdict))
    tested = next((part for part in parts if part.p is not None), decisive)
    return decisive._replace(chi2=tested.chi2, dof=tested.dof, p=tested.p, effect=tested.effect)


def _unjudged(evidence: Evidence) -> Finding:
    if not evidence.unjudged:
        return Finding("too_few", "nothing was picked yet")
    if sum(row.expected > 0 for row in evidence.backends) == 1:
        return Finding("balanced", "there was one backend to pick")
    if evidence.unfinished:
        return Finding("not_applicable", f"there are too many of{of_keys(evidence)} to look up whose all of them are")
    return Finding("not_applicable", f"no share can be stated beforehand where picks follow {evidence.expectation}")


def _bounded(evidence: Evidence) -> Finding:
    """Judge policies that promise how far a count may be from its expectation.

    Every epoch has its own bound. Over all of them the bounds add up, and beyond a handful of epochs that sum is too
    generous: deviations that lean neither way stay within the square root of the sum of squares, times a factor.
    """
    rows = [row for row in evidence.backends if row.bounded_expected > 0 or row.bounded_picks]
    factor = sqrt(2.0 * log(2.0 * len(rows) / ALPHA))
    missing = [min(row.below, factor * sqrt(row.below_squares)) for row in rows]
    surplus = [min(row.above, factor * sqrt(row.above_squares)) for row in rows]
    off = [row.bounded_picks - row.bounded_expected for row in rows]
    within = all(
        -below - ROUNDING <= each <= above + ROUNDING for each, below, above in zip(off, missing, surplus, strict=True)
    )
    if evidence.overrun > ROUNDING or not within:
        return Finding("skewed", blame(rows))
    telling = any(
        row.bounded_expected > below + ROUNDING or evidence.bounded - row.bounded_expected > above + ROUNDING
        for row, below, above in zip(rows, missing, surplus, strict=True)
    )
    if not telling:
        return Finding("too_few", f"{in_picks(evidence.bounded)} cannot tell one order of backends from another")
    worst = max(map(abs, off))
    if evidence.expectation == "hash":
        return Finding("balanced", f"every count is within {_calls(worst)} of what{of_keys(evidence)} make of it")
    return Finding("balanced", f"every count is within {_calls(worst)} of its expectation")


def _calls(number: float) -> str:
    return "1 call" if number <= 1.0 else f"{number:,.1f} calls"
