"""Weights and drains that are taken back after a while, on a real etcd and by real signals."""

from __future__ import annotations

import os
import signal

import pytest

from lbctl.commands.drain import drain, undrain
from lbctl.commands.heard import Heard
from lbctl.commands.noting import notes
from lbctl.commands.reverting import revert
from lbctl.commands.rewriting import LostRace, Rewrite, Where, registered, write_each
from lbctl.commands.turning import weighing
from lbctl.commands.weight import Wish, planned
from lbctl.demo.etcd_server import EtcdServer
from lbctl.errors import RegistryError
from lbctl.etcd.client import Etcd
from lbctl.etcd.config import EtcdConfig

pytestmark = pytest.mark.e2e

A, B = "127.0.0.1:1", "127.0.0.1:2"
ECHO = Where("echo")


async def register(etcd: Etcd, lease: int = 0) -> None:
    for address in (A, B):
        await etcd.put(f"/services/echo/{address}".encode(), f"{address}|5".encode(), lease)


async def values(etcd: Etcd) -> list[str]:
    return [entry.value.decode() for entry in (await etcd.range(b"")).entries]


async def weighed(etcd: Etcd) -> tuple[Rewrite, ...]:
    return planned(await registered(etcd, ECHO), [Wish(A, 9), Wish(B, 5)])


async def test_a_weight_goes_back_after_its_time_under_its_lease(etcd: Etcd) -> None:
    lease = await etcd.grant(60)
    await register(etcd, lease)
    plan = await weighed(etcd)
    notes: list[str] = []
    with Heard() as heard:
        revisions = await write_each(etcd, plan)
        assert await values(etcd) == [f"{A}|9", f"{B}|5"]
        await revert(etcd, plan, revisions, 0.01, heard, notes.append)

    entry = await etcd.get(f"/services/echo/{A}".encode())
    assert entry is not None
    assert (entry.value, entry.lease) == (f"{A}|5".encode(), lease)
    assert notes == [
        "it goes back to what it was in 0.01s, or at Ctrl-C",
        f"written back at revision {entry.mod_revision}",
    ]


async def test_a_signal_brings_it_back_at_once_and_a_drain_takes_its_note_along(etcd: Etcd) -> None:
    await register(etcd)
    plan = drain(await registered(etcd, ECHO), [A, B])

    def note(line: str) -> None:
        if "in 3600s" in line:
            os.kill(os.getpid(), signal.SIGHUP)

    with Heard() as heard:
        assert await revert(etcd, plan, await write_each(etcd, plan), 3600.0, heard, note) == signal.SIGHUP

    assert await values(etcd) == [f"{A}|5", f"{B}|5"]


async def test_what_somebody_wrote_meanwhile_stays(etcd: Etcd) -> None:
    await register(etcd)
    plan = await weighed(etcd)
    with Heard() as heard:
        revisions = await write_each(etcd, plan)
        await etcd.put(f"/services/echo/{A}".encode(), f"{A}|7".encode())
        with pytest.raises(LostRace, match="nothing was written"):
            await revert(etcd, plan, revisions, 0.01, heard, lambda _: None)
    assert await values(etcd) == [f"{A}|7", f"{B}|5"]


async def test_a_key_that_somebody_wrote_keeps_no_other_from_going_back(etcd: Etcd) -> None:
    await register(etcd)
    plan = drain(await registered(etcd, ECHO), [A, B])
    notes: list[str] = []
    with Heard() as heard:
        revisions = await write_each(etcd, plan)
        await etcd.put(f"/services/echo/{A}".encode(), f"{A}|7".encode())
        with pytest.raises(LostRace, match=f"/services/echo/{A}: read .* now {A}.7 at revision"):
            await revert(etcd, plan, revisions, 0.01, heard, notes.append)
    entry = await etcd.get(f"/services/echo/{B}".encode())
    assert entry is not None
    assert entry.value == f"{B}|5".encode()
    assert notes[1:] == [f"1 of 2 written back at revision {entry.mod_revision}"]
    assert await etcd.get(f"/lbctl/drained//services/echo/{B}".encode()) is None


async def test_a_drained_key_that_has_a_weight_for_a_while_is_drained_again_with_its_note(etcd: Etcd) -> None:
    """Meanwhile it has no note, so that whoever ends lbctl leaves the weight, and nothing that contradicts it."""
    lease = await etcd.grant(60)
    await register(etcd, lease)
    await write_each(etcd, drain(await registered(etcd, ECHO), [A]))
    plan = (await weighing(etcd, await registered(etcd, ECHO), [Wish(A, 3)])).rewrites

    with Heard() as heard:
        revisions = await write_each(etcd, plan)
        assert await values(etcd) == [f"{A}|3", f"{B}|5"]
        await revert(etcd, plan, revisions, 0.01, heard, lambda _: None)

    there = await registered(etcd, ECHO)
    key = f"/services/echo/{A}"
    noted = await notes(etcd, there)
    assert set(noted.standing) == {key}
    assert (noted.standing[key].value, noted.standing[key].lease) == (f"{A}|5".encode(), lease)
    await write_each(etcd, undrain(there, [A], noted))
    assert await values(etcd) == [f"{A}|5", f"{B}|5"]


@pytest.mark.slow
async def test_an_etcd_that_is_away_when_the_time_comes_is_waited_for(own_etcd: EtcdServer) -> None:
    notes: list[str] = []
    async with Etcd(EtcdConfig((own_etcd.endpoint,), dial_timeout_s=0.3)) as etcd:
        await register(etcd)
        plan = await weighed(etcd)
        revisions = await write_each(etcd, plan)
        await own_etcd.kill()
        with Heard() as heard:

            def note(line: str) -> None:
                notes.append(line)
                if "not written back yet" in line:
                    os.kill(os.getpid(), signal.SIGTERM)

            with pytest.raises(RegistryError):
                await revert(etcd, plan, revisions, 0.01, heard, note)
            await own_etcd.restart()
            await revert(etcd, plan, revisions, 0.01, heard, note)
        assert await values(etcd) == [f"{A}|5", f"{B}|5"]
    assert [line.partition(":")[0] for line in notes][1] == "not written back yet"
