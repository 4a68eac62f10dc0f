"""A small load on a service through a policy: Health/Check, as many calls as the user asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from lbctl.discovery.backends import distinct
from lbctl.doctor.case import Case
from lbctl.load.plan import Plan, Task
from lbctl.load.run import Run
from lbctl.model import Instance, Service
from lbctl.rpc.health import CHECK_PATH
from lbctl.rpc.options import ConnectionOptions, Secure
from lbctl.stats.report import Report
from lbctl.wire.request import Request

_TIMEOUT_S: Final = 5.0
_MOST_AT_ONCE: Final = 16
_SEEDS: Final = 1 << 31


async def probes(case: Case) -> Mapping[str, Report]:
    """What became of the calls, by the prefix of the service; a service that nobody serves is left out."""
    found = {}
    for service in case.services:
        report = await _probed(case, service)
        if report is not None:
            found[service.prefix] = report
    return found


async def _probed(case: Case, service: Service) -> Report | None:
    called = [each for each in service.instances if each.speaks_grpc]
    backends = distinct(called)
    if not backends:
        return None
    run = Run(_task(case, service, len(backends)), case.clock)
    try:
        run.apply(called)
        await run.settled()
        if len(run.backends.failures()) == run.backends.count:
            return None
        await run.drive()
        return run.report()
    finally:
        await run.aclose()


def _task(case: Case, service: Service, backends: int) -> Task:
    plan = Plan(min(backends, _MOST_AT_ONCE, case.order.probe), case.order.probe, None, _TIMEOUT_S)

    def request_for(instance: Instance) -> Request:
        access = case.order.access_for(instance)
        scheme = "http" if access.secure is None else "https"
        named = access.authority or instance.endpoint.authority
        return Request(CHECK_PATH, b"", named, plan.timeout_ns, access.metadata, scheme, sensitive=access.sensitive)

    def secure_for(instance: Instance) -> Secure | None:
        return case.order.access_for(instance).secure

    return Task(
        service=service.name,
        method=CHECK_PATH.removeprefix("/"),
        policy=case.order.policy,
        seed=case.rng.randrange(_SEEDS),
        plan=plan,
        request_for=request_for,
        secure_for=secure_for,
        connection=ConnectionOptions(connect_timeout_s=case.order.timeout_s),
    )
