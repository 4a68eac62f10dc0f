"""The same scripted servers met by lbctl and by grpc.aio: they agree, or differ as a list says, with the reason."""

from __future__ import annotations

import pytest

from lbctl.model import Code
from tests.scripted import ScriptedServer
from tests.wire import harness
from tests.wire.behaviours import BEHAVIOURS
from tests.wire.differences import DIFFERENCES, NOT_UNPACKED_IN_A_LOAD, UNSTEADY
from tests.wire.saying import Scripted

TIMEOUT_S = 0.8


async def outcome(script: Scripted, door: str, patch: pytest.MonkeyPatch) -> Code:
    """What one client makes of it."""
    patch.setenv(harness.DOOR, door)
    async with (
        ScriptedServer(script.behave, settings=script.settings, strict=False) as server,
        harness.dial(server.endpoint) as client,
    ):
        return (await harness.call(client, timeout_s=TIMEOUT_S)).reply.code


def test_there_are_enough_behaviours_and_the_list_names_no_other() -> None:
    assert len(BEHAVIOURS) >= 150
    assert set(DIFFERENCES) <= set(BEHAVIOURS)


@pytest.mark.slow
@pytest.mark.parametrize("name", BEHAVIOURS)
async def test_a_single_call_and_a_load_agree(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    by_caller = await outcome(BEHAVIOURS[name], "caller", monkeypatch)
    by_load = await outcome(BEHAVIOURS[name], "hot", monkeypatch)
    if name in NOT_UNPACKED_IN_A_LOAD:
        assert (by_caller, by_load) == (Code.INTERNAL, Code.OK)
    else:
        assert by_caller == by_load


@pytest.mark.slow
@pytest.mark.parametrize("name", BEHAVIOURS)
async def test_lbctl_and_grpcio_agree_or_differ_as_listed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = await outcome(BEHAVIOURS[name], "caller", monkeypatch)
    theirs = await outcome(BEHAVIOURS[name], "grpcio", monkeypatch)
    if name.startswith(UNSTEADY):
        assert ours == Code.OK
    elif name in DIFFERENCES:
        assert (ours, theirs) == DIFFERENCES[name][:2]
    else:
        assert ours == theirs
