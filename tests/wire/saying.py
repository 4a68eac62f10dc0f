"""What a scripted server says, put together from parts; each part is told the stream's id."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tests.scripted import Behaviour, Connection, answering
from tests.wire import frames as h2
from tests.wire.frames import Field, ReplyBytes, Text, data, header_frame, message, reply


@dataclass(frozen=True)
class Scripted:
    """A server's behaviour and the SETTINGS it begins with."""

    behave: Behaviour
    settings: Mapping[int, int] | None = None


def together(*parts: ReplyBytes) -> ReplyBytes:
    return lambda sid: b"".join(part(sid) for part in parts)


def says(*parts: ReplyBytes) -> Scripted:
    """The same for every request, in one write."""
    return Scripted(answering(together(*parts)))


def says_once(*parts: ReplyBytes) -> Scripted:
    """For the first request; later ones get a plain answer."""
    return Scripted(answering(together(*parts), reply))


def says_on_first_connection(*parts: ReplyBytes, close: bool = False) -> Scripted:
    """To the first request of the first connection, and then nothing or FIN; other connections get plain answers."""

    async def behave(peer: Connection) -> None:
        if peer.index:
            return await answering(reply)(peer)
        request = await peer.request()
        peer.send(together(*parts)(request.stream))
        if close:
            peer.close()
        return await silent(peer)

    return Scripted(behave)


async def silent(peer: Connection) -> None:
    while True:
        await peer.request()


async def closing(peer: Connection) -> None:
    await peer.request()
    peer.close()


async def aborting(peer: Connection) -> None:
    await peer.request()
    peer.abort()


def in_chunks(size: int) -> Behaviour:
    """Plain answers, so many bytes at a time."""

    async def behave(peer: Connection) -> None:
        while True:
            request = await peer.request()
            await peer.send_bytewise(reply(request.stream), size=size)

    return behave


# ---- parts -----------------------------------------------------------------------------------------------------------


def raw(said: bytes) -> ReplyBytes:
    """Bytes that name no stream of ours."""
    return lambda sid: said


def head(*fields: Field, end: bool = False) -> ReplyBytes:
    return lambda sid: h2.headers(sid, *fields, end=end)


def head_block(fragment: bytes, *, end: bool = False, pad: int | None = None, priority: bool = False) -> ReplyBytes:
    return lambda sid: header_frame(sid, fragment, end=end, pad=pad, priority=priority)


def head_pieces(pieces: list[bytes], *, end: bool = False) -> ReplyBytes:
    return lambda sid: h2.scattered(sid, pieces, end=end)


def body(payload: bytes = b"", *, end: bool = False, pad: int | None = None) -> ReplyBytes:
    return lambda sid: data(sid, payload, end=end, pad=pad)


def large(size: int) -> ReplyBytes:
    """A plain answer of that size."""
    return lambda sid: reply(sid, bytes(size))


def tail(status: int | Text = 0, *more: Field) -> ReplyBytes:
    return lambda sid: h2.trailers(sid, status, *more)


def only_tail(status: int | Text, *more: Field) -> ReplyBytes:
    return lambda sid: h2.trailers_only(sid, status, *more)


def reset(code: int) -> ReplyBytes:
    return lambda sid: h2.rst(sid, code)


def on_stream(kind: int, payload: bytes = b"", flags: int = 0) -> ReplyBytes:
    return lambda sid: h2.frame(kind, flags, sid, payload)


def leave_after(code: int = h2.NO_ERROR, debug: bytes = b"") -> ReplyBytes:
    """A GOAWAY that covers the request."""
    return lambda sid: h2.goaway(sid, code, debug)


def bytewise(payload: bytes) -> ReplyBytes:
    """One octet per frame, with empty frames between."""
    return lambda sid: b"".join(data(sid, bytes((octet,))) + data(sid) for octet in payload)


REPLY = message(b"reply")
