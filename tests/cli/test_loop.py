from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from socket import socketpair

import pytest

from lbctl.cli.loop import run_fast, run_plain


def raising(error: BaseException) -> Callable[[], None]:
    def callback() -> None:
        raise error

    return callback


class Careless(asyncio.Protocol):
    def data_received(self, data: bytes) -> None:
        raise ZeroDivisionError(data)


async def fed(protocol: type[asyncio.Protocol]) -> None:
    """Send a byte to such a protocol, and wait for ever."""
    ours, theirs = socketpair()
    with ours, theirs:
        transport, _ = await asyncio.get_running_loop().create_connection(protocol, sock=ours)
        try:
            theirs.send(b"x")
            await asyncio.Event().wait()
        finally:
            transport.close()


def test_what_a_callback_raises_ends_the_run() -> None:
    async def work() -> None:
        asyncio.get_running_loop().call_soon(raising(ZeroDivisionError("why")))
        await asyncio.Event().wait()

    with pytest.raises(ZeroDivisionError, match="why"):
        run_fast(work())


def test_what_a_protocol_raises_ends_the_run() -> None:
    with pytest.raises(ZeroDivisionError):
        run_fast(fed(Careless))


def test_it_is_raised_though_the_run_went_on_to_its_end() -> None:
    async def work() -> int:
        asyncio.get_running_loop().call_soon(raising(KeyError("a")))
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return 7
        raise AssertionError

    with pytest.raises(KeyError):
        run_fast(work())


def test_a_broken_connection_ends_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    async def work() -> int:
        done = asyncio.Event()
        asyncio.get_running_loop().call_soon(raising(ConnectionResetError("gone")))
        asyncio.get_running_loop().call_soon(done.set)
        await done.wait()
        return 7

    assert run_fast(work()) == 7


def test_a_future_that_nobody_looks_at_ends_nothing() -> None:
    async def work() -> int:
        asyncio.get_running_loop().create_future().set_exception(ZeroDivisionError("unseen"))
        gc.collect()  # where a future goes, its loop reports what nobody has seen
        await asyncio.sleep(0)
        return 7

    assert run_fast(work()) == 7


def test_what_the_work_itself_raises_is_raised() -> None:
    async def work() -> None:
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        run_fast(work())


class Huge:
    """Something that takes long to spell."""

    spelled = 0

    def __repr__(self) -> str:
        self.spelled += 1
        return "huge"


def test_what_a_command_found_is_not_spelled_on_the_way_out() -> None:
    async def work() -> Huge:
        return huge

    huge = Huge()
    assert run_plain(work()) is huge
    assert huge.spelled == 0
