"""Replies that arrive whole and look alike: HEADERS, one DATA, trailers, in a row, told apart by their stream id only.

Most servers write a unary reply in one piece, and after the first ones on a connection its blocks are a few indices.
So the last reply of that kind is kept as a pattern; a run of replies like it costs one unpacking and one comparison
each. The pattern says nothing by itself: it counts only while both of its header blocks are in the reader's cache.
"""

from __future__ import annotations

from collections.abc import Mapping
from struct import Struct
from typing import TYPE_CHECKING, Final

from lbctl.wire.frames import HEADER_SIZE
from lbctl.wire.head import OK_END, OK_START, Head

if TYPE_CHECKING:
    from lbctl.wire.state import State

_PREFIX: Final = 5  # flag and length of a message
_FRONT: Final = 5  # length, type and flags of a frame: all of its header but the stream id


class WholeReply:
    """The pattern of one reply. ``message`` is the length of its DATA payload, ``size`` of everything."""

    __slots__ = ("_expected", "_first", "_last", "_unpack", "message", "size")

    def __init__(self, reply: bytes, data_at: int, trailers_at: int) -> None:
        """Learn from one reply whose DATA frame and trailers begin at those offsets."""
        self._first = reply[HEADER_SIZE:data_at]
        self._last = reply[trailers_at + HEADER_SIZE :]
        self.message = trailers_at - data_at - HEADER_SIZE
        self.size = len(reply)
        body = self.message - _PREFIX
        layout = Struct(f">5sI{len(self._first) + _FRONT}sI5s{body}x5sI{len(self._last)}s")
        self._unpack = layout.unpack_from
        front, _, middle, _, prefix, end_front, _, last = self._unpack(reply)
        self._expected = (front, middle, prefix, end_front, last)

    def holds(self, cache: Mapping[bytes, Head]) -> bool:
        """Whether its header blocks still mean what they meant."""
        first, last = cache.get(self._first), cache.get(self._last)
        return first is not None and last is not None and (first.fast, last.fast) == (OK_START, OK_END)

    def take(self, data: bytes, position: int, state: State) -> int:
        """Finish every call whose reply stands here in a row; returns where the first other thing begins."""
        unpack, size = self._unpack, self.size
        front, middle, prefix, end_front, last = self._expected
        opened, progress, responses, done = state.open, state.progress, state.responses, state.done
        final = len(data) - size
        while position <= final:
            a, one, b, two, c, d, three, e = unpack(data, position)
            if not (
                e == last and a == front and b == middle and c == prefix and d == end_front and one == two == three
            ):
                break
            if one not in opened or one in progress or one in responses:
                break
            done.append(opened.pop(one))
            position += size
        return position
