"""``lbctl register``: one instance registered for as long as lbctl runs, or for as long as a command does."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

from lbctl.commands.heard import Heard
from lbctl.commands.holding import Holder, Permanent
from lbctl.commands.rewriting import text
from lbctl.commands.stopping import status_after
from lbctl.demo.guest import CommandNotFound, Guest
from lbctl.discovery.change_report import REGISTER, ChangeReport, ChangeRow
from lbctl.discovery.codecs.registration import Registration, Wanted
from lbctl.discovery.registering import Preview, preview, registration
from lbctl.discovery.weight_report import DRY_RUN
from lbctl.errors import CannotCall
from lbctl.etcd.client import Etcd
from lbctl.etcd.keepalive import KeyTaken, LeaseKeeper
from lbctl.etcd.ranges import KeyRange
from lbctl.etcd.swap import Swap, swap
from lbctl.model import Endpoint, Entry
from lbctl.rpc import OWN_VARIABLES

_LOOK_S: Final = 0.05


@dataclass(frozen=True, slots=True)
class Register:
    """What to register, for how long after lbctl is gone (None: for ever), and the command to run meanwhile.

    With ``wait_s`` the command is started first, and has so long until it takes connections.
    """

    layout: str
    wanted: Wanted
    ttl_s: int | None = 10
    command: tuple[str, ...] = ()
    wait_s: float | None = None
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ), hash=False)

    def spell(self, lease: int) -> Registration:
        """The key and its value, for a lease."""
        return registration(self.layout, self.wanted._replace(lease=lease))


class Found(NamedTuple):
    """What is to be written, and what is there now; ``read_at`` is 0 where there is no such key."""

    preview: Preview
    there: Entry | None
    revision: int

    @property
    def read_at(self) -> int:
        return 0 if self.there is None else self.there.mod_revision


class Stands(NamedTuple):
    """What is registered; ``lease`` is 0 for a key that stays."""

    key: str
    value: str
    lease: int


@dataclass(frozen=True, slots=True)
class Talk:
    """Where it speaks: once when it is registered, and whenever something changes."""

    stands: Callable[[Stands], None]
    note: Callable[[str], None]


async def look(etcd: Etcd, request: Register) -> Found:
    """See what is there before anything is written."""
    coming = preview(request.layout, request.wanted)
    key = coming.key.encode()
    listing = await etcd.list(KeyRange(key, key + b"\0"))
    return Found(coming, listing.entries[0] if listing.entries else None, listing.revision)


def report(request: Register, found: Found, at: datetime) -> ChangeReport:
    """What there is to show before anything is written."""
    there = found.there
    row = ChangeRow(
        key=found.preview.key,
        address=str(request.wanted.endpoint),
        lease=_lease(request, there),
        value=None if there is None else text(there.value),
        new_value=text(found.preview.value),
    )
    return ChangeReport(at, REGISTER, request.wanted.service, request.layout, found.revision, DRY_RUN, (row,))


def _lease(request: Register, there: Entry | None) -> int | None:
    if there is not None:
        return there.lease
    return 0 if request.ttl_s is None else None


async def once(etcd: Etcd, request: Register, read_at: int) -> tuple[Stands, int]:
    """Register and leave; returns what stands, and since which revision. Raises KeyTaken where the key has changed."""
    lease = 0 if request.ttl_s is None else await etcd.grant(request.ttl_s)
    key, value = request.spell(lease)
    written = await swap(etcd, [Swap(key, value, read_at, lease)])
    if not written.done:
        if lease:
            await etcd.revoke(lease)
        raise KeyTaken(key)
    return Stands(text(key), text(value), lease), written.revision


async def run(etcd: Etcd, request: Register, read_at: int, talk: Talk) -> int:
    """Stay registered until a signal, or until the command has ended; returns the exit status.

    That is the command's own where there is one. Raises what registering raises: before the command is started, unless
    it has to be waited for, and CannotCall where that is in vain.
    """
    command = _found(request.command, request.environ)
    with Heard() as heard:
        async with AsyncExitStack() as owned:
            guest = None
            if request.wait_s is not None:
                guest = await _started(command, request, owned, heard)
                status = await _until_it_answers(guest, request, heard)
                if status is not None:
                    return status
            holder = _holder(etcd, request, read_at, talk)
            owned.push_async_callback(_leave, holder, request, talk)
            number = await heard.during(holder.start())
            if number is None:
                talk.stands(Stands(text(holder.key), text(request.spell(holder.lease).value), holder.lease))
                if command:
                    guest = guest or await _started(command, request, owned, heard)
                    return await _see_through(guest, heard, holder)
                number = await heard.next()
            elif guest is not None:
                guest.forward(number)
                return await _see_through(guest, heard, holder)
            return status_after(number)


async def _started(command: tuple[str, ...], request: Register, owned: AsyncExitStack, heard: Heard) -> Guest:
    environ = {name: value for name, value in request.environ.items() if name not in OWN_VARIABLES}
    guest = await Guest.start(command, environ)
    owned.push_async_callback(guest.finish)
    if await heard.waiting():
        guest.miss()
    return guest


async def _until_it_answers(guest: Guest, request: Register, heard: Heard) -> int | None:
    """Wait until the address takes connections; the command's status where that ends before, or is told to."""
    leaving, hearing = asyncio.create_task(guest.wait()), asyncio.create_task(heard.next())
    answering = asyncio.create_task(_answers(request.wanted.endpoint))
    tasks = {leaving, hearing, answering}
    try:
        await asyncio.wait(tasks, timeout=request.wait_s, return_when=asyncio.FIRST_COMPLETED)
        if hearing.done():
            guest.forward(hearing.result())
            return await _see_through(guest, heard)
        if leaving.done():
            return leaving.result()
        if not answering.done():
            raise CannotCall(
                f"{request.wanted.endpoint} takes no connections after {request.wait_s:g}s: nothing was registered",
                "is it the address that the command listens on?",
            )
        return None
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _answers(endpoint: Endpoint) -> None:
    """Return when something takes connections there."""
    while True:
        with suppress(OSError):
            _, writer = await asyncio.open_connection(*endpoint)
            writer.close()
            return
        await asyncio.sleep(_LOOK_S)


async def _see_through(guest: Guest, heard: Heard, holder: Holder | None = None) -> int:
    """Wait for the command's end and return its status; at a signal clients hear of it before the command does."""
    leaving = asyncio.create_task(guest.wait())
    while True:
        hearing = asyncio.create_task(heard.next())
        await asyncio.wait({leaving, hearing}, return_when=asyncio.FIRST_COMPLETED)
        if leaving.done():
            hearing.cancel()
            return leaving.result()
        if holder is not None:
            await holder.close()
        guest.forward(hearing.result())


async def _leave(holder: Holder, request: Register, talk: Talk) -> None:
    if not await holder.close():
        talk.note(f"{text(holder.key)} could not be deleted: etcd does not answer; {_remains(request)}")


def _holder(etcd: Etcd, request: Register, read_at: int, talk: Talk) -> Holder:
    if request.ttl_s is None:
        return Permanent(etcd, request.spell(0), read_at)
    return LeaseKeeper(etcd, request.spell, request.ttl_s, talk.note, read_at=read_at, restores=True)


def _remains(request: Register) -> str:
    if request.ttl_s is None:
        return "it stays there"
    return f"it goes with its lease, within {request.ttl_s}s"


def _found(command: tuple[str, ...], environ: Mapping[str, str]) -> tuple[str, ...]:
    """The command with its program as a path; raises CommandNotFound before anything is written."""
    if not command:
        return ()
    program = shutil.which(command[0], path=environ.get("PATH", os.defpath))
    if program is None and command[0] == "lbctl":
        program = shutil.which("lbctl", path=str(Path(sys.executable).parent))
    if program is None:
        raise CommandNotFound(
            f"command not found: {command[0]}", "usage: lbctl register SERVICE ADDRESS [OPTIONS] -- COMMAND [ARGS]..."
        )
    return (program, *command[1:])
