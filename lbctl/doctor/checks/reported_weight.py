"""LB402: a weight in the registry that is not the one a backend reports of itself (ORCA).

A backend may state its weight by name (``named_metrics.weight``). Without one it is what gRPC's weighted_round_robin
makes of its report: the rate of its requests for each part of it that is busy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from lbctl.balance.load_report import LoadReport
from lbctl.balance.load_weight import weight_of
from lbctl.doctor.case import Case
from lbctl.doctor.evidence.loads import loads
from lbctl.doctor.finding import Check, Level, Scope, Symptom
from lbctl.doctor.rotation import picked
from lbctl.model import Endpoint, Instance, Service

_NAMED: Final = "weight"
_FACTOR: Final = 2.0  # shares by load that differ by less say nothing: load is never quite even


async def examine(case: Case) -> Sequence[Symptom]:
    """Compare both, where backends report."""
    reports = await case.once(loads)
    return [
        symptom
        for service in case.services
        for symptom in (*_stated(case, service, reports), *_worked_out(case, service, reports))
    ]


def _stated(case: Case, service: Service, reports: Mapping[Endpoint, LoadReport]) -> Iterator[Symptom]:
    if case.is_direct and all(each.weight == 1 for each in service.instances):
        return  # nobody has stated any weights that theirs could differ from
    for each in picked(service):
        stated = _stated_by(reports.get(each.endpoint))
        if stated is not None and stated != each.effective_weight:
            where = "given" if case.is_direct else "in the registry"
            what = f"weight {each.effective_weight} {where}, and {stated:g} in its load reports"
            yield Symptom(what, each.address, service.name, _write(case, each, stated))


def _worked_out(case: Case, service: Service, reports: Mapping[Endpoint, LoadReport]) -> Iterator[Symptom]:
    """Shares by load against shares by weight, among the backends whose reports say enough."""
    found = {each: report for each in picked(service) if (report := reports.get(each.endpoint)) is not None}
    by_load = {
        each: weight
        for each, report in found.items()
        if _stated_by(report) is None and (weight := weight_of(report, penalty=1.0))
    }
    loads_sum, weights_sum = sum(by_load.values()), sum(each.effective_weight for each in by_load)
    if len(by_load) < 2:
        return
    for each, load in by_load.items():
        due, carries = each.effective_weight / weights_sum, load / loads_sum
        if max(due, carries) > _FACTOR * min(due, carries):
            what = f"its weight stands for {due:.1%} of the calls, and its load reports for {carries:.1%}"
            yield Symptom(what, each.address, service.name, _by_load(case, service))


def _stated_by(report: LoadReport | None) -> float | None:
    return None if report is None else report.named_metrics.get(_NAMED)


def _write(case: Case, instance: Instance, weight: float) -> str:
    whole = max(round(weight), 1)
    if case.is_direct:
        return case.command("hammer", replace(instance, weight=whole))
    return case.command("weight", instance, f"{instance.address}={whole}")


def _by_load(case: Case, service: Service) -> str:
    if case.is_direct:
        return case.command("hammer", service, options=("--policy", "weighted_round_robin"))
    return case.command("weight", service, options=("--auto",))


CHECK = Check(
    "LB402",
    "weight against report",
    Level.WARN,
    why="Clients that go by the registry and clients that go by load reports share the calls out differently.",
    fix="write the weight that the backend has, or mend what it reports",
    examine=examine,
    scope=Scope.BACKENDS,
)
