"""LB401: calls that went elsewhere than the policy, or the weights in the registry, would have them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import sqrt
from typing import Final

from lbctl.doctor.case import Case
from lbctl.doctor.evidence.probe import probes
from lbctl.doctor.finding import Check, Level, Needs, Scope, Symptom
from lbctl.model import Service
from lbctl.stats.chance import ENOUGH
from lbctl.stats.chi_square import p_value
from lbctl.stats.evidence import ALPHA
from lbctl.stats.report import BackendRow, Report

_EFFECT: Final = 0.1  # Cohen's w: less is a small difference


async def examine(case: Case) -> Sequence[Symptom]:
    """Judge the calls of every service twice: against the policy, and against the weights."""
    reports = await case.once(probes)
    judged = ((each, reports[each.prefix]) for each in case.services if each.prefix in reports)
    return [symptom for service, report in judged for symptom in _judged(case, service, report)]


def _judged(case: Case, service: Service, report: Report) -> Iterator[Symptom]:
    again = case.command("hammer", service, options=("-n", str(report.issued), "--policy", report.policy))
    balance = report.balance
    if balance.verdict == "skewed":
        yield Symptom(f"policy {report.policy}: {balance.note}", balance.worst or "", service.name, again)
    elif balance.verdict == "too_few":
        yield Symptom(balance.note, "", service.name, again, Level.INFO)
    else:
        yield from _against_weights(service, report, again)


def _against_weights(service: Service, report: Report, again: str) -> Iterator[Symptom]:
    rows = [row for row in report.backends if row.state == "ready" and row.weight > 0]
    picks, weights = sum(row.picks for row in rows), sum(row.weight for row in rows)
    if len(rows) < 2 or not picks:
        return
    expected = [picks * row.weight / weights for row in rows]
    if min(expected) < ENOUGH or not _differ(rows, expected, picks):
        return
    worst, due = max(zip(rows, expected, strict=True), key=lambda pair: abs(pair[0].picks - pair[1]))
    what = (
        f"policy {report.policy} gave it {worst.picks / picks:.1%} of {picks:,} calls, "
        f"where its weight stands for {due / picks:.1%}"
    )
    yield Symptom(what, worst.address, service.name, again)


def _differ(rows: Sequence[BackendRow], expected: Sequence[float], picks: int) -> bool:
    """Whether chance is out of the question, and the difference is not small either."""
    chi2 = sum((row.picks - due) ** 2 / due for row, due in zip(rows, expected, strict=True))
    dof = len(rows) - 1
    return p_value(chi2, dof) < ALPHA and sqrt(max(chi2 - dof, 0.0) / picks) >= _EFFECT


CHECK = Check(
    "LB401",
    "imbalance",
    Level.WARN,
    why="Some backends carry the load of others: they are the first to be slow and to fail.",
    fix="choose a policy that goes by the weights, or weights that fit the backends",
    examine=examine,
    needs=Needs.PROBE,
    scope=Scope.BACKENDS,
)
