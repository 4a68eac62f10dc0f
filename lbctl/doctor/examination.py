"""All checks of a case: those that only look at once, then those that put load on backends or write, one by one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from lbctl.doctor.case import Case
from lbctl.doctor.diagnosis import Beside, Diagnosis, Skipped, sorted_findings
from lbctl.doctor.evidence.cluster import Cluster, cluster
from lbctl.doctor.evidence.health import health
from lbctl.doctor.evidence.probe import probes
from lbctl.doctor.evidence.prometheus import servers
from lbctl.doctor.finding import Check, Finding, Needs, Scope
from lbctl.errors import LbctlError, RegistryError
from lbctl.model import Endpoint
from lbctl.stats.report import BackendRow, Report


class _Made(NamedTuple):
    """What one check came to."""

    findings: tuple[Finding, ...]
    skipped: tuple[Skipped, ...] = ()


async def examine(case: Case, checks: Sequence[Check]) -> Diagnosis:
    """Make the checks and say what they found; one that etcd does not let us make is skipped."""
    at, began_ns = case.clock.wall(), case.clock.now_ns()
    allowed = [check for check in checks if _is_allowed(case, check)]
    made = await asyncio.gather(*(_made(case, check) for check in allowed if check.needs is Needs.NOTHING))
    for check in allowed:
        if check.needs is not Needs.NOTHING:
            made.append(await _made(case, check))
    beside, missing = await _beside(case)
    prevented = tuple(skipped for each in made for skipped in each.skipped)
    unmade = {each.code for each in prevented}
    asked_for = (Skipped(check.code, _want(case, check)) for check in checks if check not in allowed)
    return Diagnosis(
        at=at,
        took_s=(case.clock.now_ns() - began_ns) / 1e9,
        endpoints=case.endpoints,
        cluster=await _cluster(case),
        revision=case.revision,
        services=case.services,
        checks=tuple(check.code for check in allowed if check.code not in unmade),
        findings=sorted_findings([finding for each in made for finding in each.findings]),
        skipped=(*asked_for, *prevented, *missing),
        probes=await case.once(probes) if case.order.probe else {},
        beside=beside,
        is_read=not case.unread,
    )


def _is_allowed(case: Case, check: Check) -> bool:
    if _obstacle(case, check):
        return False
    match check.needs:
        case Needs.PROBE:
            return case.order.probe > 0
        case Needs.CANARY:
            return case.order.canary
    return True


def _want(case: Case, check: Check) -> str:
    """What a check that is not allowed needs, or what is in its way."""
    return _obstacle(case, check) or f"needs {check.needs}"


def _obstacle(case: Case, check: Check) -> str:
    """Why there is nothing for a check to look at, if that is so."""
    if case.is_direct and check.scope is not Scope.BACKENDS:
        return "needs etcd"
    return case.unread if check.scope is not Scope.MEMBERS else ""


async def _made(case: Case, check: Check) -> _Made:
    try:
        symptoms = await check.examine(case)
    except RegistryError as error:
        return _Made((), (Skipped(check.code, str(error)),))
    return _Made(tuple(Finding(check, each) for each in symptoms))


async def _cluster(case: Case) -> Cluster | None:
    """What is known of etcd, for the first line."""
    if case.is_direct:
        return None
    try:
        return await case.once(cluster)
    except RegistryError:
        return None


async def _beside(case: Case) -> tuple[tuple[Beside, ...], tuple[Skipped, ...]]:
    """The servers' own figures beside ours, where Prometheus was named."""
    if not case.order.prometheus:
        return (), ()
    try:
        found = await case.once(servers)
    except LbctlError as error:
        return (), (Skipped("prometheus", str(error)),)
    ours = await case.once(probes) if case.order.probe else {}
    rtts = await case.once(health)
    rows = []
    for service in case.services:
        for endpoint in dict.fromkeys(each.endpoint for each in service.instances if each.endpoint in found):
            report = ours.get(service.prefix)
            client = _client(report, endpoint)
            rows.append(Beside(service.name, str(endpoint), found[endpoint], rtts[endpoint].rtt_s, *client))
    return tuple(rows), ()


def _client(report: Report | None, endpoint: Endpoint) -> tuple[float | None, float | None]:
    """Calls a second and the median in milliseconds, as the probe saw them."""
    row = next((row for row in report.backends if row.address == str(endpoint)), None) if report else None
    if report is None or row is None or not report.elapsed_s:
        return None, None
    return row.attempts / report.elapsed_s, _p50_ms(row)


def _p50_ms(row: BackendRow) -> float | None:
    return row.latency.quantiles([0.5])[0] / 1e3 if row.latency.total else None
