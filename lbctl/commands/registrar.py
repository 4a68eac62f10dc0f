"""Changes to the registry that are wanted at a live view: planned and written as by the commands, and asked about."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final, NamedTuple, Protocol

from lbctl.commands.deregister import left, planned, with_notes
from lbctl.commands.noting import readable_notes, tidy
from lbctl.commands.rewriting import (
    Change,
    Registered,
    Rewrite,
    Where,
    afterwards,
    in_rotation,
    instances_at,
    is_out,
    registered,
    write,
)
from lbctl.commands.turning import Turning, draining, undraining, weighing
from lbctl.commands.weight import Wish
from lbctl.discovery.registering import keeper_of
from lbctl.discovery.rotation import unheeded
from lbctl.errors import LbctlError
from lbctl.etcd.client import Etcd
from lbctl.load.controls import Question
from lbctl.model import Entry

_EVENTS: Final = {"weight": "weight", "deregister": "log"}  # by what was done; all else is a drain


class Note(Protocol):
    """Takes what there is to tell, about an address."""

    def __call__(self, kind: str, backend: str | None, text: str, level: str = "info") -> None: ...


class _Proposal(NamedTuple):
    """What is about to be written, what to ask first, and what to tell before and afterwards; ``undo`` is a command."""

    question: Question
    changes: Sequence[Change]
    stale: Mapping[str, Entry]
    done: str
    undo: str = ""
    remarks: Sequence[str] = ()


_Plan = Callable[[Etcd, Registered, str], Awaitable[_Proposal]]


class Registrar:
    """Makes one change after the other; what became of each is told. Nothing here waits for anybody or raises.

    Without an ``etcd``, or with a ``refusal``, it makes none and tells why.
    """

    def __init__(self, etcd: Etcd | None, where: Where, note: Note, refusal: str = "") -> None:
        self._etcd = etcd
        self._where = where
        self._note = note
        self._refusal = refusal or ("" if etcd is not None else "there is no registry: backends were given by hand")
        self._proposal: _Proposal | None = None
        self._about = ("", "")  # what is done, and to which address
        self._work: asyncio.Task[None] | None = None
        self._working = self._writing = False
        self.on_news: Callable[[], None] = lambda: None

    @property
    def question(self) -> Question | None:
        """What is asked now; the next is only planned once it is answered."""
        return None if self._proposal is None else self._proposal.question

    @property
    def busy(self) -> str:
        """What is being waited for, in words; "" for nothing."""
        if not self._working:
            return ""
        return "writing to the registry" if self._writing else "reading the registry"

    def turn(self, address: str) -> None:
        """Take an instance out of the rotation of every client, or put it back where it is out."""
        self._begin("drain", address, _turning)

    def weigh(self, address: str, weight: int) -> None:
        """Give an instance another weight."""

        async def plan(etcd: Etcd, found: Registered, address: str) -> _Proposal:
            turning = await weighing(etcd, found, [Wish(address, weight)])
            return _proposal(found, turning, f"Give {address} weight {weight}", f"has weight {weight}")

        self._begin("weight", address, plan)

    def deregister(self, address: str) -> None:
        """Delete the keys of an address."""
        self._begin("deregister", address, _deregistering)

    def answer(self, *, yes: bool) -> None:
        """Write what was asked about, or do not."""
        proposal, self._proposal = self._proposal, None
        if proposal is None:
            return
        if yes:
            self._writing = True
            self._start(lambda: self._write(proposal))
        else:
            self._tell("nothing was written")

    async def aclose(self) -> None:
        """Finish a write that goes on; read no more, and ask nothing."""
        self._proposal = None
        if self._work is None:
            return
        if not self._writing:
            self._work.cancel()
        with suppress(asyncio.CancelledError):
            await self._work

    def _begin(self, verb: str, address: str, plan: _Plan) -> None:
        if self._proposal is not None or self.busy:
            return
        self._about = (verb, address)
        if self._refusal or self._etcd is None:
            self._tell(f"not done: {self._refusal}", "bad")
            return
        etcd = self._etcd
        self._start(lambda: self._propose(etcd, plan))

    def _start(self, work: Callable[[], Awaitable[None]]) -> None:
        self._working = True
        self._work = asyncio.create_task(self._seen_through(work))

    async def _seen_through(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except LbctlError as error:
            words = "; ".join([*str(error).split("\n"), *filter(None, [error.hint])])
            self._tell(f"not done: {words}", "bad")
        finally:
            self._working = self._writing = False
            self.on_news()

    async def _propose(self, etcd: Etcd, plan: _Plan) -> None:
        found = await registered(etcd, self._where, usable=self._about[0] != "deregister")
        proposal = await plan(etcd, found, self._about[1])
        if any(each.value != each.read.value for each in proposal.changes):
            self._proposal = proposal
            for remark in proposal.remarks:
                self._tell(remark)
        else:
            self._tell("nothing to write: it is so already")

    async def _write(self, proposal: _Proposal) -> None:
        assert self._etcd is not None
        revision = await write(self._etcd, proposal.changes)
        verb, address = self._about
        undo = f"; undo: {proposal.undo}" if proposal.undo else ""
        words = f"{address} {proposal.done} for every client at revision {revision}{undo}"
        self._note(_EVENTS.get(verb, "drain"), address, words, "change")
        beside = {each.key for change in proposal.changes for each in change.beside}
        await tidy(self._etcd, proposal.stale, beside)

    def _tell(self, text: str, level: str = "info") -> None:
        verb, address = self._about
        self._note(_EVENTS.get(verb, "drain"), address, f"{verb}: {text}", level)


@asynccontextmanager
async def registrar_for(etcd: Etcd | None, where: Where, note: Note, refusal: str = "") -> AsyncIterator[Registrar]:
    """A registrar while the block lasts."""
    found = Registrar(etcd, where, note, refusal)
    try:
        yield found
    finally:
        await found.aclose()


async def _turning(etcd: Etcd, found: Registered, address: str) -> _Proposal:
    """Out of the rotation, or back where every key of the address is out."""
    if all(is_out(each) for each in instances_at(found.service, address)):
        turning = await undraining(etcd, found, [address])
        return _proposal(found, turning, f"Undrain {address}", "undrained")
    turning = await draining(etcd, found, [address])
    return _proposal(found, turning, f"Drain {address}", "drained")


def _proposal(found: Registered, turning: Turning, ask: str, done: str) -> _Proposal:
    service, plan = found.service, turning.rewrites
    there = in_rotation(afterwards(service, plan))
    rest = f"{there}/{len(service.instances)} in rotation" if there else "NONE in rotation"
    what = next((_what(each) for each in plan if each.changes), "nothing")
    remarks = (*turning.remark.split("\n"), unheeded(service.layout), keeper_of(service.layout).rewrites)
    return _Proposal(
        Question(f"{ask} for every client?", f"{what}, {rest}"),
        plan,
        turning.stale,
        done,
        turning.undo,
        [remark for remark in remarks if remark],
    )


def _what(each: Rewrite) -> str:
    """What a rewrite changes for clients."""
    before = each.instance
    if before.status != each.status:
        return f"status {before.status or 'enabled'} -> {each.status or 'enabled'}"
    return f"weight {'none' if before.weight is None else before.weight} -> {each.weight}"


async def _deregistering(etcd: Etcd, found: Registered, address: str) -> _Proposal:
    noted = await readable_notes(etcd, found)
    plan, keeper = with_notes(planned(found, [address]), noted), keeper_of(found.service.layout)
    keys, remark = "1 key" if len(plan) == 1 else f"{len(plan)} keys", keeper.restores or keeper.rewrites
    rest = left(found, plan)
    return _Proposal(
        Question(f"Delete {address} for every client?", f"{keys}, {rest or 'NO'} instance{'s' * (rest != 1)} left"),
        plan,
        noted.stale,
        "deregistered",
        remarks=[remark] if remark else [],
    )
