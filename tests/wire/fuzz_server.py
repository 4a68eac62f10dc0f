"""Plausible conversations of a server, frame by frame, and ways to damage them."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from random import Random

from hpack import Encoder

from tests.wire import frames as h2
from tests.wire.frames import Field, data, frame, header_frame, message

Said = Callable[[], bytes]  # made when it is said, since the encoder's table moves

STATUSES = [*["0"] * 12, "5", "14", "13", "99", "x", ""]
CONTENT_TYPES = [*["application/grpc"] * 12, "application/grpc+proto", "text/html", "application/json"]
NUMBERS = [0, 1, 4095, 16_384, 65_535, 2**24, 2**31 - 1, 2**31, 2**32 - 1]


class Voice:
    """One connection's server: its encoder, and what it may say on a stream."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.encoder = Encoder()
        self.encoder.header_table_size = rng.choice([4096, 4096, 200, 0])
        self.packed = gzip.compress(b"reply" * 10, mtime=0)

    def block(self, fields: list[Field], *, literal: bool) -> bytes:
        return h2.block(*fields) if literal else bytes(self.encoder.encode(fields))

    def head(self, sid: int, fields: list[Field], *, end: bool = False) -> Said:
        literal = self.rng.random() < 0.3
        pieces = self.rng.random() < 0.15
        pad, priority = self.rng.choice([None, None, None, 0, 20]), self.rng.random() < 0.1

        def said() -> bytes:
            whole = self.block(fields, literal=literal)
            if pieces:
                cut = len(whole) // 2
                return h2.scattered(sid, [whole[:cut], b"", whole[cut:]], end=end)
            return header_frame(sid, whole, end=end, pad=pad, priority=priority)

        return said

    def extra(self) -> list[Field]:
        varying: list[Field] = [("x-n", str(self.rng.randrange(5))), ("date", str(self.rng.randrange(1000)))]
        return varying[: self.rng.choice([0, 0, 1, 2])]

    def reply(self, sid: int) -> Iterator[Said]:
        """Everything said on one stream."""
        rng = self.rng
        if rng.random() < 0.1:
            yield self.head(sid, [(":status", "103")])
        kind = rng.choice(CONTENT_TYPES)
        encoding: list[Field] = [("grpc-encoding", rng.choice(["gzip", "gzip", "br"]))] if rng.random() < 0.3 else []
        if rng.random() < 0.9:
            yield self.head(
                sid, [(":status", rng.choice(["200"] * 9 + ["503"])), ("content-type", kind), *encoding, *self.extra()]
            )
        yield from self.messages(sid, packed=bool(encoding))
        ending = rng.random()
        if ending < 0.8:
            yield self.head(sid, [("grpc-status", rng.choice(STATUSES)), *self.extra()], end=True)
        elif ending < 0.9:
            yield lambda: h2.rst(sid, rng.choice([0, 2, 7, 7, 8, 11]))
        elif ending < 0.95:
            yield lambda: data(sid, end=True)

    def messages(self, sid: int, *, packed: bool) -> Iterator[Said]:
        rng = self.rng
        for _ in range(rng.choice([0, 1, 1, 1, 1, 1, 2, 5])):
            body, flag = (self.packed, 1) if packed else (b"reply" * rng.choice([0, 1, 1, 30, 3000]), 0)
            whole = message(body, flag=flag)
            size = rng.choice([1, 5, 7, 16_384, 16_384, 16_384, 16_384]) if len(whole) < 100 else 16_384
            for at in range(0, len(whole), size):
                pad = rng.choice([None, None, None, 0, 9]) if at + size >= len(whole) and len(whole) < 16_000 else None
                yield lambda payload=whole[at : at + size], pad=pad: data(sid, payload, pad=pad)  # type: ignore[misc]

    def aside(self) -> Said:
        """Something about the connection, or of no consequence."""
        rng = self.rng
        sid = rng.choice([1, 3, 5])
        setting = rng.choice([{0xFA01: 1}, {h2.INITIAL_WINDOW_SIZE: 70_000}, {h2.MAX_CONCURRENT_STREAMS: 5}])
        odd = [
            h2.ping(rng.randbytes(8)),
            h2.settings(setting),
            h2.window_update(0, 1000),
            h2.window_update(sid, 1000),
            frame(0xFA, 0xFF, sid, b"grease"),
            frame(h2.PRIORITY, 0, sid, bytes(5)),
        ]
        if rng.random() < 0.05:
            return lambda: h2.goaway(rng.choice([0, 5, 9, 2**31 - 1]), rng.choice([0, 11]), b"bye")
        return lambda: rng.choice(odd)


def conversation(rng: Random, streams: list[int]) -> list[bytes]:
    """What a server says to requests on these streams, mixed as servers do; most of it right."""
    voice = Voice(rng)
    replies = [voice.reply(sid) for sid in rng.sample(streams, len(streams))]
    whole_replies = rng.random() < 0.4
    said: list[bytes] = []
    while replies:
        reply = replies[0] if whole_replies else rng.choice(replies)
        part = next(reply, None)
        if part is None:
            replies.remove(reply)
            continue
        said += split(part())
        if rng.random() < 0.05:
            said += split(voice.aside()())
    return said


def split(raw: bytes) -> list[bytes]:
    """Frame by frame."""
    return [h2.frame(*each) for each in h2.split(raw)[0]]


# ---- damage ----------------------------------------------------------------------------------------------------------


def flipped(rng: Random, frames: list[bytes]) -> None:
    at = rng.randrange(len(frames))
    octets = bytearray(frames[at])
    octets[rng.randrange(3, len(octets))] ^= 1 << rng.randrange(8)  # the length stays: frames remain frames
    frames[at] = bytes(octets)


def relabelled(rng: Random, frames: list[bytes]) -> None:
    """Another type, other flags, or another stream."""
    at = rng.randrange(len(frames))
    (each,), _ = h2.split(frames[at])
    change = rng.randrange(3)
    kind = rng.randrange(11) if change == 0 else each.kind
    flags = rng.choice([0, 1, 4, 5, 8, 0x2D, 0xFF]) if change == 1 else each.flags
    stream = rng.choice([0, 1, 2, 3, 7, 99, 2**31 - 1]) if change == 2 else each.stream
    frames[at] = h2.frame(kind, flags, stream, each.payload)


def resized(rng: Random, frames: list[bytes]) -> None:
    """A payload that is cut, or longer than it was."""
    at = rng.randrange(len(frames))
    (each,), _ = h2.split(frames[at])
    payload = each.payload[: rng.randrange(len(each.payload) + 1)] + rng.randbytes(rng.choice([0, 0, 1, 5, 17_000]))
    frames[at] = h2.frame(each.kind, each.flags, each.stream, payload)


def swapped(rng: Random, frames: list[bytes]) -> None:
    one, two = rng.randrange(len(frames)), rng.randrange(len(frames))
    frames[one], frames[two] = frames[two], frames[one]


def repeated(rng: Random, frames: list[bytes]) -> None:
    frames.insert(rng.randrange(len(frames) + 1), rng.choice(frames))


def lost(rng: Random, frames: list[bytes]) -> None:
    if len(frames) > 1:
        del frames[rng.randrange(len(frames))]


def strange(rng: Random, frames: list[bytes]) -> None:
    """A frame out of nowhere."""
    number = rng.choice(NUMBERS).to_bytes(4, "big")
    payload = rng.choice([b"", number, number + bytes(4), b"\x00\x04" + number, rng.randbytes(rng.randrange(60))])
    odd = h2.frame(rng.randrange(11), rng.choice([0, 1, 4, 5, 0x2D]), rng.choice([0, 1, 3, 7, 2, 99]), payload)
    frames.insert(rng.randrange(len(frames) + 1), odd)


DAMAGES = (flipped, flipped, relabelled, resized, swapped, repeated, lost, strange)


def damaged(rng: Random, frames: list[bytes]) -> list[bytes]:
    """The same conversation with a few accidents; sometimes with none, sometimes with a tail that is no frame."""
    frames = list(frames)
    for _ in range(rng.choice([0, 0, 1, 1, 1, 2, 4, 10])):
        if frames:
            rng.choice(DAMAGES)(rng, frames)
    if rng.random() < 0.05:
        frames.append(rng.randbytes(rng.randrange(1, 40)))
    return frames
