"""A strict peer's bookkeeping of one connection: every rule the client breaks becomes a line in ``violations``.

Limits that the server changes by SETTINGS count from the client's ACK on, since what it sends before may still follow
the old ones; windows that the server opens count from the moment it wrote them.
"""

from __future__ import annotations

import struct
from collections import deque
from dataclasses import dataclass

from tests.wire import frames as h2
from tests.wire.frames import Frame
from tests.wire.request_head import Head, HeadReader


@dataclass(slots=True)
class StreamState:
    """One stream, seen from the server; windows may be negative."""

    may_receive: int  # flow-controlled bytes the client may still send
    may_send: int  # and we
    client_ended: bool = False
    server_ended: bool = False
    client_reset: bool = False
    server_reset: bool = False

    @property
    def is_open(self) -> bool:
        return not (self.client_reset or self.server_reset or (self.client_ended and self.server_ended))


class Ledger:
    """Windows, streams and settings of one connection, fed with every frame of both directions in order."""

    def __init__(self) -> None:
        self.violations: list[str] = []
        self.streams: dict[int, StreamState] = {}
        self.may_receive = h2.DEFAULT_WINDOW
        self.may_send = h2.DEFAULT_WINDOW
        self.most_open = 0
        self.highest = 0
        self._client_iws = h2.DEFAULT_WINDOW  # what we granted for new streams, as acknowledged
        self._our_iws = h2.DEFAULT_WINDOW  # what the client granted for new streams
        self._max_streams: int | None = None
        self._max_frame = h2.LARGEST_FRAME
        self._unacknowledged: deque[dict[int, int]] = deque()
        self._pings: list[bytes] = []
        self._heads = HeadReader()
        self._block_of: int | None = None
        self._block = b""

    @property
    def open_streams(self) -> int:
        return sum(state.is_open for state in self.streams.values())

    # ---- what the server wrote ---------------------------------------------------------------------------------------

    def sent(self, frame: Frame) -> None:
        """Note a frame of ours; one that makes no sense changes nothing."""
        state = self.streams.get(frame.stream)
        if frame.kind == h2.SETTINGS and not frame.flags & h2.ACK and len(frame.payload) % 6 == 0:
            self._unacknowledged.append(dict(struct.iter_unpack(">HL", frame.payload)))
        elif frame.kind == h2.PING and not frame.flags & h2.ACK:
            self._pings.append(frame.payload)
        elif frame.kind == h2.WINDOW_UPDATE:
            self._granted(frame, state)
        elif frame.kind == h2.DATA:
            self.may_send -= len(frame.payload)
            if state is not None:
                state.may_send -= len(frame.payload)
        elif frame.kind == h2.RST_STREAM and state is not None:
            state.server_reset = True
        if state is not None and frame.kind in (h2.DATA, h2.HEADERS) and frame.flags & h2.END_STREAM:
            state.server_ended = True

    def _granted(self, frame: Frame, state: StreamState | None) -> None:
        if frame.stream == 0:
            self.may_receive += frame.number
        elif state is not None:
            state.may_receive += frame.number

    # ---- what the client wrote ---------------------------------------------------------------------------------------

    def received(self, frame: Frame) -> Head | None:
        """Check a frame of the client; the decoded head when it completed a header block."""
        if self._block_of is not None and (frame.kind, frame.stream) != (h2.CONTINUATION, self._block_of):
            self._fault(f"{frame} inside the header block of stream {self._block_of}")
        if len(frame.payload) > self._max_frame:
            self._fault(f"{frame} is larger than our MAX_FRAME_SIZE")
        check = _CHECKS.get(frame.kind)
        if check is None:
            self._fault(f"unexpected {frame}")
            return None
        return check(self, frame)

    def _fault(self, text: str) -> None:
        self.violations.append(text)

    def _headers(self, frame: Frame) -> Head | None:
        if frame.stream in self.streams:
            self._fault(f"second {frame}")
        elif frame.stream % 2 == 0 or frame.stream <= self.highest:
            self._fault(f"stream {frame.stream} opened after {self.highest}")
        self.highest = max(self.highest, frame.stream)
        state = StreamState(may_receive=self._client_iws, may_send=self._our_iws)
        state.client_ended = bool(frame.flags & h2.END_STREAM)
        self.streams[frame.stream] = state
        self.most_open = max(self.most_open, self.open_streams)
        if self._max_streams is not None and self.open_streams > self._max_streams:
            self._fault(f"{self.open_streams} streams open, {self._max_streams} allowed")
        self._block_of, self._block = frame.stream, b""
        return self._fragment(frame)

    def _continuation(self, frame: Frame) -> Head | None:
        if self._block_of is None:
            self._fault(f"stray {frame}")
            return None
        return self._fragment(frame)

    def _fragment(self, frame: Frame) -> Head | None:
        if frame.flags & (h2.PADDED | h2.WITH_PRIORITY):
            self._fault(f"{frame}: the client pads nothing and sets no priority")
        self._block += frame.payload
        if not frame.flags & h2.END_HEADERS:
            return None
        self._block_of = None
        head, faults = self._heads.read(self._block)
        self.violations += faults
        return head

    def _data(self, frame: Frame) -> None:
        self.may_receive -= len(frame.payload)
        if self.may_receive < 0 and frame.payload:
            self._fault(f"{frame} overruns the connection window by {-self.may_receive}")
        state = self.streams.get(frame.stream)
        if state is None:
            self._fault(f"{frame} on a stream that is not open")
            return
        if state.client_ended or state.client_reset:
            self._fault(f"{frame} after the client ended the stream")
        state.may_receive -= len(frame.payload)
        if state.may_receive < 0 and frame.payload:
            self._fault(f"{frame} overruns the stream window by {-state.may_receive}")
        state.client_ended |= bool(frame.flags & h2.END_STREAM)

    def _rst(self, frame: Frame) -> None:
        state = self.streams.get(frame.stream)
        if len(frame.payload) != 4 or state is None:
            self._fault(f"{frame}: malformed, or on an idle stream")
            return
        if state.client_reset or state.server_reset:
            self._fault(f"{frame} on a stream that was reset before")
        state.client_reset = True

    def _settings(self, frame: Frame) -> None:
        if frame.stream or len(frame.payload) % 6:
            self._fault(f"malformed {frame}")
        if not frame.flags & h2.ACK:
            for key, value in struct.iter_unpack(">HL", frame.payload):
                self._client_setting(key, value)
        elif not self._unacknowledged:
            self._fault("SETTINGS ACK without SETTINGS")
        else:
            for key, value in self._unacknowledged.popleft().items():
                self._acknowledged(key, value)

    def _client_setting(self, key: int, value: int) -> None:
        if key != h2.INITIAL_WINDOW_SIZE:
            return
        for state in self.streams.values():
            state.may_send += value - self._our_iws
        self._our_iws = value

    def _acknowledged(self, key: int, value: int) -> None:
        if key == h2.HEADER_TABLE_SIZE:
            self._heads.table_limit(value)
        elif key == h2.MAX_CONCURRENT_STREAMS:
            self._max_streams = value
        elif key == h2.MAX_FRAME_SIZE:
            self._max_frame = value
        elif key == h2.INITIAL_WINDOW_SIZE:
            for state in self.streams.values():
                state.may_receive += value - self._client_iws
            self._client_iws = value

    def _ping(self, frame: Frame) -> None:
        if len(frame.payload) != 8 or frame.stream:
            self._fault(f"malformed {frame}")
        elif frame.flags & h2.ACK and frame.payload not in self._pings:
            self._fault(f"{frame} answers no PING")
        elif frame.flags & h2.ACK:
            self._pings.remove(frame.payload)

    def _goaway(self, frame: Frame) -> None:
        if frame.stream or len(frame.payload) < 8 or frame.payload[:4] != bytes(4):
            self._fault(f"malformed {frame}, or it accepts streams the server cannot open")

    def _window_update(self, frame: Frame) -> None:
        if len(frame.payload) != 4 or not 0 < frame.number <= h2.LARGEST_WINDOW:
            self._fault(f"malformed {frame}")
        elif frame.stream == 0:
            self.may_send += frame.number
        elif frame.stream in self.streams:
            self.streams[frame.stream].may_send += frame.number
        else:
            self._fault(f"{frame} on an idle stream")
        if self.may_send > h2.LARGEST_WINDOW:
            self._fault(f"{frame} overflows the window")


_CHECKS = {
    h2.DATA: Ledger._data,
    h2.HEADERS: Ledger._headers,
    h2.RST_STREAM: Ledger._rst,
    h2.SETTINGS: Ledger._settings,
    h2.PING: Ledger._ping,
    h2.GOAWAY: Ledger._goaway,
    h2.WINDOW_UPDATE: Ledger._window_update,
    h2.CONTINUATION: Ledger._continuation,
}
