"""The messages of a client that streams, as somebody writes them: a JSON value a line, or over several, or an array."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Final, Protocol

from lbctl.errors import LbctlError
from lbctl.load.requests.given import Given, Order
from lbctl.wire.outbox import Outbox

if TYPE_CHECKING:
    from lbctl.clock import Clock
    from lbctl.rpc.messages.resolver import Resolver
    from lbctl.rpc.schemas.schema import Method

_AHEAD: Final = 16  # messages that wait to be sent
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"')


class Input(Protocol):
    """Where messages come from while a call lasts. ``asked``: the user said so, and did not just leave data out.

    One that ``forgives`` is told of a mistake and goes on: somebody types. ``source`` is what errors call it.
    """

    @property
    def asked(self) -> bool: ...

    @property
    def forgives(self) -> bool: ...

    @property
    def source(self) -> str: ...

    def lines(self) -> AsyncIterator[str]:
        """Lines as they come, with their ends; begins to read when the first is asked for."""
        ...

    def explain(self, error: LbctlError) -> None: ...


async def whole(given: Input) -> str:
    """Everything, to its end."""
    return "".join([line async for line in given.lines()])


class Pieces:
    """Puts lines together until they are whole JSON values, by their brackets: strings do not go over lines."""

    def __init__(self) -> None:
        self.first = 0  # the line that the piece began in
        self._line = 0
        self._depth = 0
        self._parts: list[str] = []

    def add(self, line: str) -> str | None:
        """The text that is whole with this line; None where more is to come, or there is nothing."""
        self._line += 1
        if not self._parts:
            if not line.strip():
                return None
            self.first = self._line
        self._parts.append(line)
        bare = _STRING.sub("", line)
        self._depth += bare.count("{") + bare.count("[") - bare.count("}") - bare.count("]")
        return self.rest() if self._depth <= 0 else None

    def rest(self) -> str | None:
        """What is there, whole or not."""
        text = "".join(self._parts)
        self._parts.clear()
        self._depth = 0
        return text or None


class Feeder:
    """Puts the messages of an input into the outbox of one call, as there is room."""

    def __init__(self, given: Input, method: Method, resolver: Resolver, how: Given, seed: int, clock: Clock) -> None:
        """``how`` says whether values are drawn."""
        from lbctl.load.requests.templates import Drawing

        self._input = given
        self._method = method
        self._resolver = resolver
        self._how = replace(how, file=None, raw=None, columns={}, drawn=(), order=Order.ONCE)
        self._drawing = Drawing(Random(f"messages {seed}"), clock)

    async def __call__(self, outbox: Outbox) -> None:
        """Feed it to the end of the input. Raises UsageError for a mistake that the input does not forgive."""
        room = asyncio.Event()
        outbox.on_taken = room.set
        pieces = Pieces()
        async for line in self._input.lines():
            text = pieces.add(line)
            if self._input.forgives:  # a message a line: what is not whole is a mistake
                text = text or pieces.rest()
            if text is not None:
                await self._put(text, pieces.first, outbox, room)
        rest = pieces.rest()
        if rest is not None:
            await self._put(rest, pieces.first, outbox, room)
        outbox.end()

    async def _put(self, text: str, line: int, outbox: Outbox, room: asyncio.Event) -> None:
        try:
            messages = await self._messages(text, line)
        except LbctlError as error:
            if not self._input.forgives:
                raise
            self._input.explain(error)
            return
        for message in messages:
            while len(outbox) >= _AHEAD:
                room.clear()
                await room.wait()
            outbox.put(message)
            await asyncio.sleep(0)  # what comes back is heard in between, however much there is to send

    async def _messages(self, text: str, line: int) -> list[bytes]:
        from lbctl.load.requests.feed import Feed
        from lbctl.rpc.messages.resolver import names_in_text

        await self._resolver.learn(names_in_text([text]))
        typed = self._input.forgives  # its line is the one above
        where = (
            replace(self._how, source="request") if typed else replace(self._how, source=self._input.source, line=line)
        )
        feed = Feed(replace(where, text=text), self._method.full_name, self._method)
        return [message for content in feed.contents(self._drawing) for message in content.messages]
