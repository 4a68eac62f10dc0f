"""``ls -w``: a row for every change of a backend, whatever the number of its keys."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from lbctl.commands.ls import Ls, run
from lbctl.commands.ls_stream import Moment, stream
from lbctl.etcd.client import Etcd
from lbctl.view.change_rows import change_rows
from lbctl.view.theme import PLAIN
from tests.fakes import until


class Rows:
    """What was shown, as operation and address."""

    def __init__(self) -> None:
        self.moments: list[Moment] = []

    @property
    def shown(self) -> list[tuple[str, str]]:
        found = [(change.op, change.after or change.before) for each in self.moments for change in each.changes]
        return [(str(op), instance.address) for op, instance in found if instance is not None]

    @property
    def printed(self) -> list[str]:
        """The rows less their revisions."""
        rows = (change_rows(each.changes, each.shares, each.revision, PLAIN, each.kept) for each in self.moments)
        return [row.rpartition("  rev ")[0] for each in rows for row in each]

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


async def test_a_key_rewritten_in_another_layout_is_no_change_of_weight(etcd: Etcd) -> None:
    await etcd.put(b"/services/echo/10.0.0.1:80", b"10.0.0.1:80|5")
    await etcd.put(b"/services/echo/10.0.0.2:80", b"10.0.0.2:80|1")
    async with streaming(etcd, Ls()) as rows:
        await etcd.put(b"/services/echo/10.0.0.1:80", b"10.0.0.1:80")
        await rows.come_to(("changed", "10.0.0.1:80"))
        await etcd.put(b"/services/echo/10.0.0.2:80", b"10.0.0.2:80")
        await rows.come_to(("changed", "10.0.0.1:80"), ("changed", "10.0.0.2:80"))
    assert rows.printed == [
        "CHANGED echo  10.0.0.1:80  weight 1  share 100.0%  layout plain, was seed with weight 5",
        "CHANGED echo  10.0.0.2:80  weight 1  share 50.0%  layout plain, was seed",
    ]


async def test_a_backend_that_left_as_its_key_is_of_another_layout_is_told_so(etcd: Etcd) -> None:
    for number in (1, 2, 3):
        await etcd.put(f"/services/echo/10.0.0.{number}:80".encode(), f"10.0.0.{number}:80|5".encode())
    async with streaming(etcd, Ls("echo")) as rows:
        await etcd.put(b"/services/echo/10.0.0.1:80", b"10.0.0.1:80")
        await rows.come_to(("left", "10.0.0.1:80"))
        await etcd.delete(b"/services/echo/10.0.0.2:80")
        await rows.come_to(("left", "10.0.0.1:80"), ("left", "10.0.0.2:80"))
    assert rows.printed == [
        "LEFT    echo  10.0.0.1:80  weight 5  its key is of the layout plain now",
        "LEFT    echo  10.0.0.2:80  weight 5",
    ]


async def test_an_address_that_changes_under_its_key_moves(etcd: Etcd) -> None:
    await etcd.put(b"/services/echo/a", b"10.0.0.1:80|5")
    await etcd.put(b"/services/echo/b", b"10.0.0.2:80|5")
    async with streaming(etcd, Ls("echo")) as rows:
        await etcd.put(b"/services/echo/a", b"10.0.0.3:80|5")
        await rows.come_to(("moved", "10.0.0.3:80"))
        await etcd.put(b"/services/echo/b", b"10.0.0.3:80|7")  # one backend now
        await rows.come_to(("moved", "10.0.0.3:80"), ("left", "10.0.0.2:80"), ("weight", "10.0.0.3:80"))
