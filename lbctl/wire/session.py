"""One HTTP/2 client connection carrying gRPC calls: bytes in, finished calls out; no sockets, no clock.

This is the hot path, and speed shapes it. A call is started from a template (its header block and message are the
same bytes every time), and a reply that looks like nearly all replies do, HEADERS, one DATA with one whole message,
trailers with status 0, is recognised by comparing bytes: its header blocks are in the cache of ``HeaderReader``, which
holds only what is true of the current compression table. Everything else takes the handlers' slow and complete way.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from lbctl.wire import frames as h2
from lbctl.wire.frames import HEAD, ErrorCode
from lbctl.wire.handlers import HANDLERS, UNREADABLE, read_head, take_head
from lbctl.wire.head import OK_END, OK_START
from lbctl.wire.limits import Limits
from lbctl.wire.posting import Posting
from lbctl.wire.request import Request
from lbctl.wire.state import HEADERS_SEEN, MESSAGE_SEEN
from lbctl.wire.whole_reply import WholeReply
from lbctl.wire.windows import STREAM_WINDOW

DEFAULT_LIMITS: Final = Limits()

_PREFIX: Final = 5  # flag and length of a message
_MAX_FRAME: Final = h2.MAX_FRAME_SIZE
_HEADERS_ONLY = h2.END_HEADERS
_HEADERS_LAST = h2.END_HEADERS | h2.END_STREAM


class Session(Posting):
    """A client connection from its preface to its end; calls are started, and ends are in what it receives."""

    def __init__(
        self, request: Request | None = None, *, keep_messages: bool = False, limits: Limits = DEFAULT_LIMITS
    ) -> None:
        super().__init__(request, keep_messages=keep_messages, limits=limits)
        self._hits = 0  # header blocks that the hot loop found in the cache
        self._tail = b""
        self._whole: WholeReply | None = None
        # The hot loop leaves messages to others that are too large, or need credit for their stream on the way.
        self._most = min(limits.max_message, STREAM_WINDOW // 2 - h2.MAX_FRAME_SIZE)

    def total_counters(self) -> Counter[str]:
        """Everything counted so far, header blocks and those that had to be decoded included."""
        total = Counter(self.counters)
        total["header_blocks"] = self.reader.read_blocks + self._hits
        total["header_blocks_decoded"] = self.reader.decoded
        return total

    def receive(self, data: bytes, now_ns: int = 0) -> None:
        """Take what the peer sent, at that time. Finished calls are in the baskets afterwards.

        Never raises on what a peer does.
        """
        if self.closed:
            return
        self.now_ns = now_ns
        if self._tail:
            data = self._tail + data
        if not self.ready and self._is_foreign(data):
            return
        self._tail = data[self._frames(data) :]
        credit = self.received.due()
        if credit and not self.closed:
            self.emit(credit)
        if len(self.firsts) != len(self.progress) + len(self.responses):
            self._stamp_firsts()
        if self.waiting or self.send.busy or not self.hot:
            self.pump()

    def _stamp_firsts(self) -> None:
        """Remember when the headers of replies came that are not complete yet."""
        firsts, now = self.firsts, self.now_ns
        fresh = [stream for stream in self.progress if stream not in firsts]
        fresh += [
            stream for stream, response in self.responses.items() if response.head is not None and stream not in firsts
        ]
        for stream in fresh:
            firsts[stream] = now
        if self.limits.replay:
            self.committed += [self.open[stream] for stream in fresh]

    def _frames(self, data: bytes) -> int:  # noqa: C901  # the hot loop: one body, or two calls per frame more
        """Take every complete frame; returns how many octets that was."""
        position = 0
        available = len(data) - h2.HEADER_SIZE
        unpack = HEAD.unpack_from
        known = self.reader.cache.get
        opened, progress, done = self.open, self.progress, self.done
        responses, firsts = self.responses, self.firsts
        uploads = self.send.uploads
        most = self._most
        hits = 0
        plain = self.ready and self.partial is None and not self.careful
        cache = self.reader.cache
        whole = self._whole
        if whole is not None and not whole.holds(cache):
            whole = None
        learned = False
        headers_at = data_at = -1
        prefix_length = -1
        prefix = b""
        consumed = 0
        while position <= available:
            word, flags, stream = unpack(data, position)
            length = word >> 8
            kind = word & 0xFF
            begin = position + 9
            end = begin + length
            if length > _MAX_FRAME:
                self._oversized(length)
                return len(data)
            if end - 9 > available:
                break
            if plain and kind == 1 and flags | h2.END_STREAM == _HEADERS_LAST and stream in opened:
                if flags == _HEADERS_ONLY:
                    if whole is not None and not uploads:
                        after = whole.take(data, position, self)
                        if after > position:
                            replies = (after - position) // whole.size
                            hits += 2 * replies
                            consumed += replies * whole.message
                            position = after
                            continue
                    headers_at = position
                head = known(data[begin:end])
                if head is None:
                    head = read_head(self, data[begin:end])
                    if head is UNREADABLE:
                        return len(data)
                    whole = None
                else:
                    hits += 1
                seen = progress.get(stream, 0)
                if head.fast == OK_START and flags == _HEADERS_ONLY and not seen and stream not in responses:
                    progress[stream] = HEADERS_SEEN
                elif head.fast == OK_END and flags == _HEADERS_LAST and seen == MESSAGE_SEEN and stream not in uploads:
                    del progress[stream]
                    call = opened.pop(stream)
                    done.append(call)
                    if firsts and stream in firsts:
                        self.early.append((call, firsts.pop(stream)))
                    if not learned and 0 <= headers_at < data_at and _in_a_row(data, headers_at, data_at, position):
                        learned = True
                        found = WholeReply(data[headers_at:end], data_at - headers_at, position - headers_at)
                        if found.holds(cache):
                            whole = self._whole = found
                else:
                    take_head(self, flags, stream, head)
                position = end
                continue
            if plain and kind == 0 and flags == 0:
                data_at = position
                seen = progress.get(stream, 0)
                if seen == HEADERS_SEEN:
                    if length != prefix_length:
                        prefix_length = length
                        prefix = b"\0" + (length - 5).to_bytes(4, "big") if 5 <= length <= most + 5 else b"-"
                    if data[begin : begin + 5] == prefix:
                        left = MESSAGE_SEEN
                    else:
                        missing = _missing(data, begin, length, most)
                        left = MESSAGE_SEEN + missing if missing else 0
                else:
                    left = seen - length
                if left >= MESSAGE_SEEN:
                    progress[stream] = left
                    consumed += length
                    position = end
                    continue
            self._dispatch(kind, flags, stream & 0x7FFF_FFFF, data[begin:end])
            position = end
            if self.closed:
                return len(data)
            plain = self.partial is None and not self.careful
            if whole is not None and not whole.holds(cache):
                whole = None
        self.received.uncredited += consumed
        self._hits += hits
        return position

    def _dispatch(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        """The slow and complete way of one frame."""
        if not self.ready and (kind != h2.SETTINGS or flags & h2.ACK):
            return self.fail(ErrorCode.PROTOCOL_ERROR, "first frame is not SETTINGS")
        if self.partial is not None and kind != h2.CONTINUATION:
            return self.fail(ErrorCode.PROTOCOL_ERROR, "header block interrupted by another frame")
        handler = HANDLERS.get(kind)
        if handler is not None:
            handler(self, flags, stream, payload)
        if kind in (h2.SETTINGS, h2.GOAWAY):
            self.unsettle()
        return None

    def _oversized(self, length: int) -> None:
        text = f"frame of {length} octets" if self.ready else "peer does not speak HTTP/2"
        self.fail(ErrorCode.FRAME_SIZE_ERROR, text)

    def _is_foreign(self, data: bytes) -> bool:
        """Whether the first octets are another protocol's; the connection is over then."""
        if data.startswith(b"HTTP/"):
            self.lose("peer speaks HTTP/1.x, not HTTP/2")
        elif data[:2] == b"\x15\x03":
            self.lose("peer speaks TLS, not plaintext HTTP/2")
        return bool(self.closed)


def _missing(data: bytes, begin: int, length: int, most: int) -> int:
    """What is still to come of a plain message whose first DATA payload is this; 0 for anything out of the ordinary.

    Messages of more than ``most`` octets are out of the ordinary too.
    """
    if length < _PREFIX or data[begin]:
        return 0
    size = int.from_bytes(data[begin + 1 : begin + _PREFIX], "big")
    return max(0, size + _PREFIX - length) if size <= most else 0


def _in_a_row(data: bytes, headers_at: int, data_at: int, trailers_at: int) -> bool:
    """Whether these three frames follow each other and belong to one stream."""
    first, _, one = HEAD.unpack_from(data, headers_at)
    second, _, two = HEAD.unpack_from(data, data_at)
    _, _, three = HEAD.unpack_from(data, trailers_at)
    if headers_at + 9 + (first >> 8) != data_at or data_at + 9 + (second >> 8) != trailers_at:
        return False
    return bool(one == two == three)
