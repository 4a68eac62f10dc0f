"""A scripted gRPC server that answers every call after an exact time, and says how exact it was and when calls came.

    python -m benchmarks.exact_server DELAY_US [--record FILE] [--stall AT_MS,FOR_MS]

It needs a core of its own: it never sleeps, so neither a timer nor the scheduler stands between a request's last octet
and its time of arrival, or between the due time of a reply and its write. It does not decode requests: whatever ends a
stream gets an empty message and status 0. It prints its port as one line of JSON, ends when its standard input closes,
and then prints a second line: how many replies there were, and how late their writes began, in microseconds. The
record holds when each request was read, in ns of the system's monotonic clock, which other processes share. While it
stalls, so long after the first request, it neither reads nor writes.
"""

from __future__ import annotations

import argparse
import gc
import json
import select
import socket
import sys
import time
from array import array
from collections import deque
from pathlib import Path
from struct import Struct
from typing import Final

_FRAME: Final = Struct(">IBI")  # length and type, flags, stream
_DATA, _HEADERS, _SETTINGS, _PING = 0, 1, 4, 6
_ACK: Final = 1
_END_STREAM: Final = 1
_PREFACE: Final = len(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
# Literals without indexing: they mean the same whatever came before.
_START: Final = bytes.fromhex("88 0f10 10") + b"application/grpc"
_END: Final = bytes.fromhex("00 0b") + b"grpc-status" + bytes.fromhex("01 30")
_MESSAGE: Final = bytes(5)
_HELLO: Final = bytes.fromhex("000000 04 00 00000000") + bytes.fromhex("000004 08 00 00000000 7fff0000")
_LOOK_EVERY: Final = 20_000  # turns between two looks at standard input


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return _FRAME.pack(len(payload) << 8 | kind, flags, stream) + payload


def _reply(stream: int) -> bytes:
    return _frame(_HEADERS, 4, stream, _START) + _frame(_DATA, 0, stream, _MESSAGE) + _frame(_HEADERS, 5, stream, _END)


class Peer:
    """One connection: reads frames, and knows what is due."""

    def __init__(self, connection: socket.socket, delay_ns: int, arrivals: array[int], late_ns: array[int]) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setblocking(False)
        connection.send(_HELLO)
        self.open = True
        self._connection = connection
        self._delay_ns = delay_ns
        self._arrivals = arrivals
        self._late_ns = late_ns
        self._unread = b""
        self._skip = _PREFACE
        self._due: deque[tuple[int, bytes]] = deque()

    def read(self) -> None:
        """Take what has come, if anything has."""
        try:
            data = self._connection.recv(65536)
        except BlockingIOError:
            return
        now = time.monotonic_ns()
        if not data:
            self._connection.close()
            self.open = False
            return
        data = self._unread + data
        position = min(self._skip, len(data))
        self._skip -= position
        while len(data) - position >= 9:
            word, flags, stream = _FRAME.unpack_from(data, position)
            end = position + 9 + (word >> 8)
            if end > len(data):
                break
            self._take(word & 0xFF, flags, stream, data[position + 9 : end], now)
            position = end
        self._unread = data[position:]

    def _take(self, kind: int, flags: int, stream: int, payload: bytes, now: int) -> None:
        if kind in (_DATA, _HEADERS) and flags & _END_STREAM:
            self._arrivals.append(now)
            self._due.append((now + self._delay_ns, _reply(stream)))
        elif kind in (_SETTINGS, _PING) and not flags & _ACK:
            self._connection.send(_frame(kind, _ACK, 0, payload if kind == _PING else b""))

    def write(self) -> None:
        """Answer what is due."""
        due = self._due
        while due and self.open:
            at, reply = due[0]
            now = time.monotonic_ns()
            if now < at:
                return
            if self._connection.send(reply) != len(reply):
                raise SystemExit("the client does not read")
            self._late_ns.append(now - at)
            due.popleft()


class Stall:
    """A time in which nothing is done, counted from the first request."""

    def __init__(self, at_ms: float, for_ms: float) -> None:
        self._at_ns, self._for_ns = int(at_ms * 1e6), int(for_ms * 1e6)
        self.is_over = not for_ms

    def holds(self, first_ns: int) -> bool:
        """Whether it goes on now."""
        since_ns = time.monotonic_ns() - first_ns - self._at_ns
        self.is_over = since_ns >= self._for_ns
        return 0 <= since_ns < self._for_ns


def serve(delay_ns: int, record: Path | None, stall: Stall) -> None:
    """Serve until standard input closes."""
    arrivals, late_ns = array("q"), array("q")
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setblocking(False)
    print(json.dumps({"port": listener.getsockname()[1]}), flush=True)
    peers: list[Peer] = []
    gc.disable()
    turns = 0
    while True:
        while arrivals and not stall.is_over and stall.holds(arrivals[0]):
            pass
        for peer in peers:
            peer.write()
            peer.read()
        if not all(peer.open for peer in peers):
            peers = [peer for peer in peers if peer.open]
        turns += 1
        if turns % _LOOK_EVERY and peers:
            continue
        peers += _newcomers(listener, delay_ns, arrivals, late_ns)
        if select.select([sys.stdin], [], [], 0)[0]:
            break
    if record is not None:
        record.write_bytes(arrivals.tobytes())
    late_ns = array("q", sorted(late_ns)) or array("q", [0])
    p50, p99 = (late_ns[int(len(late_ns) * share)] / 1e3 for share in (0.5, 0.99))
    print(json.dumps({"replies": len(arrivals), "late_us": {"p50": p50, "p99": p99, "max": late_ns[-1] / 1e3}}))


def _newcomers(listener: socket.socket, delay_ns: int, arrivals: array[int], late_ns: array[int]) -> list[Peer]:
    try:
        connection, _ = listener.accept()
    except BlockingIOError:
        return []
    return [Peer(connection, delay_ns, arrivals, late_ns)]


def main() -> None:
    """Serve as the command line says."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.exact_server")
    parser.add_argument("delay_us", type=float)
    parser.add_argument("--record", type=Path, help="write the times of arrival to this file")
    parser.add_argument("--stall", default="0,0", help="do nothing so many ms after the first request, for so many ms")
    args = parser.parse_args()
    at_ms, for_ms = map(float, args.stall.split(","))
    serve(int(args.delay_us * 1000), args.record, Stall(at_ms, for_ms))


if __name__ == "__main__":
    main()
