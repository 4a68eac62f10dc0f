"""What each frame does off the fast path (RFC 9113 §6); the table at the end is the dispatch.

A handler gets the connection's state and one complete frame. Its effect is complete when it returns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from lbctl.model import Code
from lbctl.wire import frames as h2
from lbctl.wire import talks
from lbctl.wire.frames import ErrorCode, error_name
from lbctl.wire.head import Head, parse
from lbctl.wire.header_block import CompressionError, HeaderBomb
from lbctl.wire.response import MessageTooLarge, Response
from lbctl.wire.state import Partial, State
from lbctl.wire.status import OK_REPLY, from_rst, local, lost, of_response
from lbctl.wire.windows import STREAM_WINDOW, WindowOverflow

_MAX_BLOCK: Final = 256 << 10  # compressed octets of one block over its CONTINUATION frames
_MAX_PIECES: Final = 128

NO_HEADERS: Final = local(Code.INTERNAL, "DATA before response headers")
NO_STATUS: Final = local(Code.INTERNAL, "response without :status")

UNREADABLE: Final = parse([])  # stands for the head of a block that ended the connection

Handler = Callable[[State, int, int, bytes], None]


def on_data(state: State, flags: int, stream: int, payload: bytes) -> None:
    """DATA: credited whole, padding and unknown streams included, before anything else is decided."""
    if _is_idle(state, stream):
        return state.fail(ErrorCode.PROTOCOL_ERROR, f"DATA on idle stream {stream}")
    state.received.uncredited += len(payload)
    if state.received.overrun:
        return state.fail(ErrorCode.FLOW_CONTROL_ERROR, "DATA beyond the connection's window")
    content = _unpadded(state, flags, payload)
    if content is None:
        return None
    if stream not in state.open:
        if stream in state.ghosts:
            _credit_ghost(state, stream, len(payload))
        return _late(state, flags, stream)
    response = state.response_of(stream)
    if response.head is None:
        ended = bool(flags & h2.END_STREAM)
        return state.reset(stream, ErrorCode.PROTOCOL_ERROR, NO_HEADERS, ended=ended)
    return _take(state, flags, stream, content, response, len(payload))


def _late(state: State, flags: int, stream: int) -> None:
    """Something for a call that is over."""
    state.count("late_frames")
    if flags & h2.END_STREAM:
        state.exorcise(stream)


def _credit_ghost(state: State, stream: int, size: int) -> None:
    """An abandoned stream needs credit like any other, or the peer could never end it."""
    state.ghosts[stream] += size
    if state.ghosts[stream] >= STREAM_WINDOW // 2:
        state.emit(h2.window_update(stream, state.ghosts[stream]))
        state.ghosts[stream] = 0


def _take(state: State, flags: int, stream: int, content: bytes, response: Response, size: int) -> None:
    ended = bool(flags & h2.END_STREAM)
    response.uncredited += size
    try:
        response.feed(content)
    except MessageTooLarge as error:
        return state.reset(stream, ErrorCode.CANCEL, local(Code.RESOURCE_EXHAUSTED, str(error)), ended=ended)
    if state.talks:
        talks.heard(state, stream, response)
    if stream not in state.open:
        return None
    if ended:
        return _conclude(state, stream, response, None)
    if response.uncredited >= STREAM_WINDOW // 2:
        state.emit(h2.window_update(stream, response.uncredited))
        response.uncredited = 0
    return None


def _unpadded(state: State, flags: int, payload: bytes) -> bytes | None:
    """The payload without its padding, or None after a connection error."""
    if not flags & h2.PADDED:
        return payload
    if not payload or payload[0] >= len(payload):
        state.fail(ErrorCode.PROTOCOL_ERROR, "padding is as long as the frame")
        return None
    return payload[1 : len(payload) - payload[0]]


def _is_idle(state: State, stream: int) -> bool:
    """Whether we never opened this id: 0, even, or beyond what we used."""
    return stream % 2 == 0 or stream >= state.next_id


def on_headers(state: State, flags: int, stream: int, payload: bytes) -> None:
    """HEADERS: padding and priority fields removed; without END_HEADERS the block waits for CONTINUATION."""
    if _is_idle(state, stream):
        return state.fail(ErrorCode.PROTOCOL_ERROR, f"HEADERS on idle stream {stream}")
    block = _unpadded(state, flags, payload)
    if block is None:
        return None
    if flags & h2.PRIORITY_FLAG:
        if len(block) < 5:
            return state.fail(ErrorCode.FRAME_SIZE_ERROR, "HEADERS too short for its priority")
        block = block[5:]
    if flags & h2.END_HEADERS:
        return _on_block(state, flags, stream, block)
    state.partial = Partial(stream, flags, [block])
    return None


def on_continuation(state: State, flags: int, stream: int, payload: bytes) -> None:
    """CONTINUATION: only directly behind an unfinished block of the same stream."""
    partial = state.partial
    if partial is None or partial.stream != stream:
        return state.fail(ErrorCode.PROTOCOL_ERROR, "unexpected CONTINUATION")
    partial.pieces.append(payload)
    if len(partial.pieces) > _MAX_PIECES or sum(map(len, partial.pieces)) > _MAX_BLOCK:
        return state.fail(ErrorCode.ENHANCE_YOUR_CALM, "header block of too many CONTINUATION frames")
    if flags & h2.END_HEADERS:
        state.partial = None
        return _on_block(state, partial.flags, stream, b"".join(partial.pieces))
    return None


def _on_block(state: State, flags: int, stream: int, block: bytes) -> None:
    """A complete block. It is decoded even for a call that is over: the compression context is the connection's."""
    take_head(state, flags, stream, read_head(state, block))


def read_head(state: State, block: bytes) -> Head:
    """The head of a complete block; UNREADABLE after a connection error."""
    try:
        return state.reader.read(block)
    except CompressionError as error:
        state.fail(ErrorCode.COMPRESSION_ERROR, f"header block cannot be decoded: {error}")
    except HeaderBomb:
        state.fail(ErrorCode.ENHANCE_YOUR_CALM, "header block decodes to over 1 MiB")
    return UNREADABLE


def take_head(state: State, flags: int, stream: int, head: Head) -> None:
    """A head, for whichever call it is."""
    if head is UNREADABLE:
        return None
    if stream not in state.open:
        return _late(state, flags, stream)
    for name in head.anomalies:
        state.count("anomaly", name)
    ended = bool(flags & h2.END_STREAM)
    if head.flaw:
        return state.reset(stream, ErrorCode.PROTOCOL_ERROR, local(Code.INTERNAL, head.flaw), ended=ended)
    response = state.response_of(stream)
    if response.head is None:
        return _on_first_head(state, stream, response, head, ended=ended)
    return _on_trailers(state, stream, response, head, ended=ended)


def _on_first_head(state: State, stream: int, response: Response, head: Head, *, ended: bool) -> None:
    if head.http_status is None:
        return state.reset(stream, ErrorCode.PROTOCOL_ERROR, NO_STATUS, ended=ended)
    if head.http_status < 200:
        if ended:
            reason = f"response ended on interim status {head.http_status}"
            return state.reset(stream, ErrorCode.PROTOCOL_ERROR, local(Code.INTERNAL, reason), ended=True)
        return None
    response.head = head
    response.bare = ended
    if ended:
        return _conclude(state, stream, response, head)
    return None


def _on_trailers(state: State, stream: int, response: Response, head: Head, *, ended: bool) -> None:
    if head.http_status is not None and head.http_status < 200 and not ended:
        return None
    if not ended:
        reason = local(Code.INTERNAL, "second response headers without END_STREAM")
        return state.reset(stream, ErrorCode.PROTOCOL_ERROR, reason)
    if head.http_status is not None:
        state.count("anomaly", "pseudo-field")
    return _conclude(state, stream, response, head)


def _conclude(state: State, stream: int, response: Response, trailers: Head | None) -> None:
    assert response.head is not None
    if response.head.content_length not in (None, response.size):
        state.count("anomaly", "content-length")
    talk = state.talks.get(stream)
    many = talk is not None and talk.spec.server
    reply = of_response(response.head, trailers, response.problem(many=many), response.excerpt())
    asked = state.limits.load_reports or state.limits.headers
    if trailers is not None and trailers.metadata and (asked or reply is not OK_REPLY):
        reply = reply._replace(metadata=trailers.metadata)
    kept = response.kept() if response.keep else ()
    if kept:
        # Also beside an error: what a stream had brought before it counts.
        messages = kept if talk is not None else ()  # of any stream, also of one that has one reply
        reply = reply._replace(message=kept[0] if reply.code == Code.OK else b"", messages=messages)
    state.finish(stream, reply)


def on_rst_stream(state: State, flags: int, stream: int, payload: bytes) -> None:
    """RST_STREAM: refused streams may be retried, others end with the mapped code; never answered by another RST."""
    if len(payload) != 4:
        return state.fail(ErrorCode.FRAME_SIZE_ERROR, "RST_STREAM is not 4 octets")
    if _is_idle(state, stream):
        return state.fail(ErrorCode.PROTOCOL_ERROR, f"RST_STREAM on idle stream {stream}")
    error = int.from_bytes(payload, "big")
    state.count("rst_received", error_name(error))
    if stream not in state.open:
        return state.exorcise(stream)
    state.send.drop(stream)
    if error == ErrorCode.REFUSED_STREAM and not _has_begun(state, stream):
        return state.refuse(stream, from_rst(error))
    return state.finish(stream, from_rst(error))


def on_settings(state: State, flags: int, stream: int, payload: bytes) -> None:
    """SETTINGS: applied in order, the last value of an identifier wins, then acknowledged behind what is queued."""
    if stream:
        return state.fail(ErrorCode.PROTOCOL_ERROR, "SETTINGS on a stream")
    if flags & h2.ACK:
        return state.fail(ErrorCode.FRAME_SIZE_ERROR, "SETTINGS ACK with a payload") if payload else None
    if len(payload) % 6:
        return state.fail(ErrorCode.FRAME_SIZE_ERROR, "SETTINGS is not a multiple of 6 octets")
    for position in range(0, len(payload), 6):
        name = int.from_bytes(payload[position : position + 2], "big")
        value = int.from_bytes(payload[position + 2 : position + 6], "big")
        problem = _apply(state, name, value)
        if problem is not None:
            return state.fail(*problem)
    state.count("settings")
    state.ready = True
    state.emit(h2.settings_ack())
    return None


def _apply(state: State, name: int, value: int) -> tuple[ErrorCode, str] | None:
    """Take one setting; the error it is, if it is one. Unknown identifiers are ignored."""
    if name == h2.INITIAL_WINDOW_SIZE:
        return _resize(state, value)
    if name == h2.MAX_FRAME_SIZE_SETTING:
        if not h2.MAX_FRAME_SIZE <= value < 1 << 24:
            return ErrorCode.PROTOCOL_ERROR, f"MAX_FRAME_SIZE {value}"
        state.peer.max_frame_size = value
    elif name == h2.ENABLE_PUSH and value > 1:
        return ErrorCode.PROTOCOL_ERROR, f"ENABLE_PUSH {value}"
    elif name == h2.MAX_CONCURRENT_STREAMS:
        state.peer.max_streams = value
        state.relimit()
    elif name == h2.HEADER_TABLE_SIZE:
        state.writer.offer(value)
    elif name == h2.MAX_HEADER_LIST_SIZE:
        state.peer.max_header_list = value
    return None


def _resize(state: State, value: int) -> tuple[ErrorCode, str] | None:
    if value > h2.MAX_WINDOW:
        return ErrorCode.FLOW_CONTROL_ERROR, f"INITIAL_WINDOW_SIZE {value}"
    try:
        state.send.resize(value)
    except WindowOverflow:
        return ErrorCode.FLOW_CONTROL_ERROR, "INITIAL_WINDOW_SIZE overflows a stream's window"
    return None


def on_ping(state: State, flags: int, stream: int, payload: bytes) -> None:
    """PING: echoed ahead of queued requests, since the peer may be timing it."""
    if stream:
        return state.fail(ErrorCode.PROTOCOL_ERROR, "PING on a stream")
    if len(payload) != 8:
        return state.fail(ErrorCode.FRAME_SIZE_ERROR, "PING is not 8 octets")
    if flags & h2.ACK:
        state.pings_open.discard(payload)
    else:
        state.count("pings")
        state.emit(b"")
        state.out.insert(state.urgent, h2.ping_ack(payload))
        state.urgent += 1
    return None


def on_goaway(state: State, flags: int, stream: int, payload: bytes) -> None:
    """GOAWAY: no new streams; those above the last id were not processed, the others go on."""
    if stream:
        return state.fail(ErrorCode.PROTOCOL_ERROR, "GOAWAY on a stream")
    if len(payload) < 8:
        return state.fail(ErrorCode.FRAME_SIZE_ERROR, "GOAWAY is shorter than 8 octets")
    last = int.from_bytes(payload[:4], "big") & h2.MAX_WINDOW
    name = error_name(int.from_bytes(payload[4:8], "big"))
    debug = payload[8:].decode("utf-8", "replace")[:200]
    if state.last_processed is not None and last > state.last_processed:
        state.count("anomaly", "GOAWAY raised its last stream id")
        last = state.last_processed
    if last and last % 2 == 0:
        state.count("anomaly", "GOAWAY with an even stream id")
    told = f"{name} {debug!r}" if debug else name
    state.count("goaway", told)
    state.last_processed = last
    state.goaway_reason = f"GOAWAY {told}"
    state.release_waiting()
    for ghost in [number for number in state.ghosts if number > last]:
        state.exorcise(ghost)
    for open_stream in [number for number in state.open if number > last]:
        if _has_begun(state, open_stream):
            state.finish(open_stream, lost(f"cut off: {state.goaway_reason}"))
        else:
            state.refuse(open_stream, lost(f"not processed: {state.goaway_reason}"))
    return None


def _has_begun(state: State, stream: int) -> bool:
    """Whether anything of a reply has come: such a call was processed, whatever the peer says of it later."""
    return stream in state.progress or stream in state.responses


def on_window_update(state: State, flags: int, stream: int, payload: bytes) -> None:
    """WINDOW_UPDATE: credit for a stream or the connection; an increment of 0 or past 2^31 - 1 is an error."""
    if len(payload) != 4:
        return state.fail(ErrorCode.FRAME_SIZE_ERROR, "WINDOW_UPDATE is not 4 octets")
    if stream and _is_idle(state, stream):
        return state.fail(ErrorCode.PROTOCOL_ERROR, f"WINDOW_UPDATE on idle stream {stream}")
    increment = int.from_bytes(payload, "big") & h2.MAX_WINDOW
    if not increment:
        return _bad_credit(state, stream, ErrorCode.PROTOCOL_ERROR, "WINDOW_UPDATE of 0")
    try:
        state.send.credit(stream, increment)
    except WindowOverflow:
        return _bad_credit(state, stream, ErrorCode.FLOW_CONTROL_ERROR, "WINDOW_UPDATE past 2^31-1")
    return None


def _bad_credit(state: State, stream: int, error: ErrorCode, reason: str) -> None:
    if not stream:
        state.fail(error, reason)
    elif stream in state.open:
        state.reset(stream, error, local(Code.INTERNAL, reason))


def on_priority(state: State, flags: int, stream: int, payload: bytes) -> None:
    """PRIORITY: deprecated and ignored, apart from its form."""
    if not stream:
        return state.fail(ErrorCode.PROTOCOL_ERROR, "PRIORITY on stream 0")
    if len(payload) != 5 and stream in state.open:
        return state.reset(stream, ErrorCode.FRAME_SIZE_ERROR, local(Code.INTERNAL, "PRIORITY is not 5 octets"))
    return None


def on_push_promise(state: State, flags: int, stream: int, payload: bytes) -> None:
    """PUSH_PROMISE: we disabled push, and its block is lost to the compression context."""
    state.fail(ErrorCode.PROTOCOL_ERROR, "PUSH_PROMISE although push is disabled")


HANDLERS: Final[dict[int, Handler]] = {
    h2.DATA: on_data,
    h2.HEADERS: on_headers,
    h2.PRIORITY: on_priority,
    h2.RST_STREAM: on_rst_stream,
    h2.SETTINGS: on_settings,
    h2.PUSH_PROMISE: on_push_promise,
    h2.PING: on_ping,
    h2.GOAWAY: on_goaway,
    h2.WINDOW_UPDATE: on_window_update,
    h2.CONTINUATION: on_continuation,
}
