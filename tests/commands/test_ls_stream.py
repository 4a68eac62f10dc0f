"""``ls -w``: a row for every change of a backend, whatever the number of its keys."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from lbctl.commands.ls import Ls, run
from lbctl.commands.ls_stream import Moment, stream
from lbctl.etcd.client import Etcd
from tests.fakes import until


class Rows:
    """What was shown, as operation and address."""

    def __init__(self) -> None:
        self.moments: list[Moment] = []

    @property
    def shown(self) -> list[tuple[str, str]]:
        found = [(change.op, change.after or change.before) for each in self.moments for change in each.changes]
        return [(str(op), instance.address) for op, instance in found if instance is not None]

    async def come_to(self, *wanted: tuple[str, str]) -> None:
        await until(lambda: len(self.shown) >= len(wanted), 20)
        assert self.shown == list(wanted)


@asynccontextmanager
async def streaming(etcd: Etcd, request: Ls) -> AsyncIterator[Rows]:
    rows = Rows()
    listing = await run(etcd, request)
    work = asyncio.create_task(stream(etcd, listing, request, rows.moments.append))
    await until(lambda: rows.moments, 20)
    try:
        yield rows
    finally:
        work.cancel()
        with suppress(asyncio.CancelledError):
            await work


@pytest.mark.parametrize("request_", [Ls("echo"), Ls()], ids=["one", "all"])
async def test_another_key_of_an_address_is_no_newcomer_and_takes_nobody_away(etcd: Etcd, request_: Ls) -> None:
    await etcd.put(b"/services/echo/a", b"10.0.0.1:80|5")
    async with streaming(etcd, request_) as rows:
        await etcd.put(b"/services/echo/b", b"10.0.0.1:80|5")
        await etcd.delete(b"/services/echo/a")
        await etcd.put(b"/services/echo/c", b"10.0.0.2:80|1")
        seen = [("changed", "10.0.0.1:80")] * 2 + [("joined", "10.0.0.2:80")]
        await until(lambda: ("joined", "10.0.0.2:80") in rows.shown, 20)
        assert [each for each in rows.shown if each[0] != "changed"] == seen[2:]
        await etcd.delete(b"/services/echo/b")
        await until(lambda: rows.shown[-1] == ("left", "10.0.0.1:80"), 20)
        assert rows.moments[-1].shares == {("/services/echo/c", ("10.0.0.2", 80)): 1.0}


async def test_an_address_that_changes_under_its_key_moves(etcd: Etcd) -> None:
    await etcd.put(b"/services/echo/a", b"10.0.0.1:80|5")
    await etcd.put(b"/services/echo/b", b"10.0.0.2:80|5")
    async with streaming(etcd, Ls("echo")) as rows:
        await etcd.put(b"/services/echo/a", b"10.0.0.3:80|5")
        await rows.come_to(("moved", "10.0.0.3:80"))
        await etcd.put(b"/services/echo/b", b"10.0.0.3:80|7")  # one backend now
        await rows.come_to(("moved", "10.0.0.3:80"), ("left", "10.0.0.2:80"), ("weight", "10.0.0.3:80"))
