"""Changes that are wanted at a live view, on a real etcd: what is asked, what is written, and what is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from lbctl.commands.registrar import Registrar, registrar_for
from lbctl.commands.rewriting import Where
from lbctl.etcd.client import Etcd
from lbctl.load.controls import Question
from tests.fakes import until

pytestmark = pytest.mark.e2e

A, B = "127.0.0.1:1", "127.0.0.1:2"
ECHO = Where("echo")


class Person:
    """Somebody at a screen: waits for questions, answers, and reads what is told."""

    def __init__(self, etcd: Etcd | None, refusal: str = "") -> None:
        self.told: list[tuple[str, str | None, str, str]] = []
        self.registrar = Registrar(etcd, ECHO, self.note, refusal)
        self.registrar.on_news = lambda: self.seen.append(self.registrar.question is not None)
        self.seen: list[bool] = []

    def note(self, kind: str, backend: str | None, text: str, level: str = "info") -> None:
        self.told.append((kind, backend, text, level))

    async def asked(self) -> Question:
        await until(lambda: self.registrar.question is not None)
        found = self.registrar.question
        assert found is not None
        return found

    async def hears(self, text: str) -> str:
        """Wait for something that is told with this in it, and return its level."""
        await until(lambda: any(text in words for _, _, words, _ in self.told) and not self.registrar.busy)
        return next(level for _, _, words, level in self.told if text in words)

    async def agrees(self, ask: str, about: str, told: str) -> None:
        assert await self.asked() == (ask, about)
        self.registrar.answer(yes=True)
        await self.hears(told)


@asynccontextmanager
async def person(etcd: Etcd | None, refusal: str = "") -> AsyncIterator[Person]:
    found = Person(etcd, refusal)
    try:
        yield found
    finally:
        await found.registrar.aclose()


async def register(etcd: Etcd) -> None:
    for address, weight in ((A, 5), (B, 1)):
        await etcd.put(f"/services/echo/{address}".encode(), f"{address}|{weight}".encode())


async def values(etcd: Etcd) -> list[str]:
    return [entry.value.decode() for entry in (await etcd.range(b"")).entries]


async def test_an_instance_is_drained_and_put_back_for_every_client(etcd: Etcd) -> None:
    await register(etcd)
    async with person(etcd) as someone:
        turn = someone.registrar.turn
        turn(A)
        assert someone.registrar.busy == "reading the registry"
        turn(B)  # one after the other
        ask = f"Drain {A} for every client?"
        await someone.agrees(ask, "weight 5 -> 0, 1/2 in rotation", f"{A} drained for every client at revision")
        assert await values(etcd) == [f"{A}|5", f"{A}|0", f"{B}|1"]  # the first is the note
        assert someone.told[-1][:2] == ("drain", A)
        assert someone.seen == [True, False]
        assert someone.told[-1][2].endswith(f"; undo: lbctl undrain echo {A}")
        turn(B)
        await someone.agrees(
            f"Drain {B} for every client?", "weight 1 -> 0, NONE in rotation", "undrain echo 127.0.0.1:2"
        )
        turn(A)
        ask = f"Undrain {A} for every client?"
        await someone.agrees(ask, "weight 0 -> 5, 1/2 in rotation", f"{A} undrained for every client")
        assert f"{A}|5" in await values(etcd)


async def test_nothing_is_written_without_a_yes(etcd: Etcd) -> None:
    await register(etcd)
    async with person(etcd) as someone:
        someone.registrar.answer(yes=True)  # nothing was asked
        for act in (someone.registrar.turn, someone.registrar.deregister):
            act(A)
            await someone.asked()
            someone.registrar.answer(yes=False)
            assert someone.registrar.question is None
        someone.registrar.turn(A)
        await someone.asked()
    assert [text for _, _, text, _ in someone.told] == [
        "drain: nothing was written",
        "deregister: nothing was written",
    ]
    assert await values(etcd) == [f"{A}|5", f"{B}|1"]


async def test_a_weight_is_written_and_keys_are_deleted(etcd: Etcd) -> None:
    await register(etcd)
    async with person(etcd) as someone:
        someone.registrar.weigh(A, 5)
        assert await someone.hears("weight: nothing to write: it is so already") == "info"
        someone.registrar.weigh(A, 7)
        ask = f"Give {A} weight 7 for every client?"
        await someone.agrees(ask, "weight 5 -> 7, 2/2 in rotation", f"{A} has weight 7 for every client")
        someone.registrar.deregister(B)
        await someone.agrees(
            f"Delete {B} for every client?", "1 key, 1 instance left", f"{B} deregistered for every client"
        )
        assert await values(etcd) == [f"{A}|7"]


async def test_what_somebody_else_wrote_meanwhile_stands(etcd: Etcd) -> None:
    await register(etcd)
    async with person(etcd) as someone:
        someone.registrar.turn(A)
        await someone.asked()
        await etcd.put(f"/services/echo/{A}".encode(), f"{A}|9".encode())
        someone.registrar.answer(yes=True)
        assert await someone.hears("a key changed since it was read: nothing was written") == "bad"
        assert await values(etcd) == [f"{A}|9", f"{B}|1"]


async def test_what_cannot_be_done_is_told_with_what_to_do_about_it(etcd: Etcd) -> None:
    await register(etcd)
    await etcd.put(f"/services/echo/{B}".encode(), f"{B}|0".encode())
    async with person(etcd) as someone:
        someone.registrar.turn("10.0.0.9:1")
        assert await someone.hears('10.0.0.9:1 is not an instance of "echo"; there are 127.0.0.1:1') == "bad"
        someone.registrar.turn(B)
        assert await someone.hears("what its weight was is not kept; say it: lbctl weight echo") == "bad"


@pytest.mark.parametrize(
    ("refusal", "why"), [("--read-only: nothing is written to etcd",) * 2, ("", "there is no registry")]
)
async def test_where_nothing_may_be_written_nothing_is_asked(refusal: str, why: str) -> None:
    someone = Person(None)
    async with registrar_for(None, ECHO, someone.note, refusal) as registrar:
        registrar.turn(A)
        assert (registrar.question, registrar.busy) == (None, "")
    (told,) = someone.told
    assert told[2].startswith(f"drain: not done: {why}")


async def test_a_view_that_ends_waits_for_a_write_and_for_nothing_else(etcd: Etcd) -> None:
    await register(etcd)
    async with person(etcd) as someone:
        someone.registrar.turn(A)
        await someone.asked()
        someone.registrar.answer(yes=True)
    assert f"{A}|0" in await values(etcd)
    async with person(etcd) as someone:
        someone.registrar.turn(B)
    assert someone.told == []
    assert asyncio.all_tasks() == {asyncio.current_task()}
