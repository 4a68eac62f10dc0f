"""What a mutant is, and the ways to make one: a frame's handler replaced, a reason forgiven, a setting ignored."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

import pytest

from lbctl.model import Code, Reply
from lbctl.wire import handlers
from lbctl.wire.state import State

Patch = pytest.MonkeyPatch
Mutate = Callable[[Patch], None]
Check = Callable[[], Awaitable[None]]
Handler = Callable[[State, int, int, bytes], None]


class Mutant(NamedTuple):
    """An engine that is wrong on purpose, the test that has to notice, and the named behaviours it stands for."""

    numbers: tuple[int, ...]
    mutate: Mutate
    check: Check
    doors: tuple[str, ...] = ("caller", "hot")  # the ways into the engine on which it makes a difference


def replacing(kind: int, make: Callable[[Handler], Handler]) -> Mutate:
    """A mutant of one frame's handler."""
    return lambda patch: patch.setitem(handlers.HANDLERS, kind, make(handlers.HANDLERS[kind]))


def ignores(handler: Handler) -> Handler:
    return lambda state, flags, stream, payload: None


def afterwards(change: Callable[[State], None]) -> Callable[[Handler], Handler]:
    """The handler, and then a change of the state that undoes what it was for."""

    def make(handler: Handler) -> Handler:
        def changed(state: State, flags: int, stream: int, payload: bytes) -> None:
            handler(state, flags, stream, payload)
            change(state)

        return changed

    return make


def forgiving(*words: str) -> Mutate:
    """A client without one check: calls whose reason holds one of the words are OK."""

    def mutate(patch: Patch) -> None:
        original = State.finish

        def finish(self: State, stream: int, reply: Reply) -> None:
            forgiven = any(word in reply.reason for word in words)
            original(self, stream, Reply(Code.OK) if forgiven else reply)

        patch.setattr(State, "finish", finish)

    return mutate


def setting(target: object, name: str, value: object) -> Mutate:
    """One attribute replaced."""
    return lambda patch: patch.setattr(target, name, value)


def lenient(patch: Patch) -> None:
    """Nothing the peer does is a connection error."""
    patch.setattr(State, "fail", lambda self, error, reason: None)
