"""``doctor --backends``: the checks of backends alone, and no etcd asked."""

from __future__ import annotations

from contextlib import AsyncExitStack

from lbctl.balance.load_report import LoadReport
from lbctl.doctor.finding import Scope
from lbctl.doctor.table import CHECKS
from lbctl.model import Endpoint, Instance
from tests.doctor.ward import NOT_SERVING, backend, examined, seen
from tests.rpc.servers import refused_port

ALONE = tuple(check.code for check in CHECKS if check.scope is Scope.BACKENDS)


def given(*endpoints: Endpoint | str, weight: int = 1) -> tuple[Instance, ...]:
    """Backends as --backends names them."""
    parted = [each if isinstance(each, Endpoint) else _parted(each) for each in endpoints]
    return tuple(Instance(str(each), "backends", "backends", each, weight) for each in parted)


def _parted(address: str) -> Endpoint:
    host, _, port = address.rpartition(":")
    return Endpoint(host, int(port))


async def test_backends_that_are_well_have_no_finding_and_only_they_are_looked_at() -> None:
    async with backend() as first, backend() as second:
        found = await examined(None, given=given(first, second), probe=100)
    assert seen(found) == []
    assert found.checks == ALONE
    assert ALONE == ("LB301", "LB302", "LB303", "LB304", "LB305", "LB306", "LB401", "LB402", "LB403")
    assert {each.why for each in found.skipped} == {"needs etcd"}
    assert (found.endpoints, found.cluster, found.revision) == ((), None, 0)
    assert [row.picks for row in found.probes[""].backends] == [50, 50]


async def test_each_fault_of_given_backends_is_found_once_with_a_command_that_names_it() -> None:
    async with AsyncExitStack() as stack:

        async def served(**faults: object) -> Endpoint:
            return await stack.enter_async_context(backend(**faults))  # type: ignore[arg-type]

        well, secure, ill = await served(), await served(tls=True), await served(status=NOT_SERVING)
        other, unasked, untold = await served(offers=("test.Other",)), await served(status=None), await served()
        modest = await served(report=LoadReport(named_metrics={"weight": 2.0}))
        mute = await served(offers=None)
        gone = stack.enter_context(refused_port())
        all_of_them = given(well, secure, ill, other, unasked, untold, gone, mute) + given(modest, weight=5)
        found = await examined(None, given=all_of_them)
    assert seen(found) == sorted(
        [
            ("LB301", "error", str(gone)),
            ("LB302", "error", str(secure)),
            ("LB303", "error", str(ill)),
            ("LB304", "info", "backends"),
            ("LB305", "info", "backends"),
            ("LB306", "error", str(other)),
            ("LB402", "warn", str(modest)),
        ]
    )
    whole = ",".join(str(each.endpoint) for each in all_of_them[:-1]) + f",{modest}=5"
    assert {each.code: each.symptom.command for each in found.findings} == {
        "LB301": f"lbctl health --backends {gone} --watch",
        "LB302": f"lbctl health --backends {secure} --tls",
        "LB303": f"lbctl health --backends {ill} --watch",
        "LB304": f"lbctl health --backends {whole} --strict",
        "LB305": f"lbctl doctor --backends {whole} --select LB305",
        "LB306": f"lbctl health --backends {other} --service test.Echo",
        "LB402": f"lbctl hammer --backends {modest}=2",
    }


async def test_weights_that_nobody_gave_differ_from_no_report() -> None:
    async with backend(report=LoadReport(named_metrics={"weight": 2.0})) as endpoint:
        assert seen(await examined(None, given=given(endpoint))) == []


async def test_calls_that_a_policy_sends_elsewhere_than_the_given_weights_are_found() -> None:
    async with backend() as heavy, backend() as light:
        backends = given(heavy, weight=5) + given(light)
        found = await examined(None, given=backends, select=("LB401",), policy="round_robin", probe=120)
    assert seen(found) == [("LB401", "warn", str(min(heavy, light, key=str)))]
    command = f"lbctl hammer --backends {heavy}=5,{light} -n 120 --policy round_robin"
    assert found.findings[0].symptom.command == command


async def test_a_slow_one_among_given_backends_is_found() -> None:
    async with backend() as first, backend() as second, backend(delay_s=0.03) as slow:
        found = await examined(None, given=given(first, second, slow), select=("LB403",), probe=60)
    assert seen(found) == [("LB403", "warn", str(slow))]
