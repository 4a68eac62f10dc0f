"""Proves the exact server from outside: one call after the other on a bare socket, never sleeping.

    python -m benchmarks.exact_probe PORT CALLS

It prints the round trip's percentiles in microseconds as one line of JSON. What a delay adds to the round trip without
any delay is how long the server really waited.
"""

from __future__ import annotations

import json
import socket
import sys
import time
from typing import Final

_HELLO: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes.fromhex("000000 04 00 00000000")
# :method POST, :scheme http, :path and :authority literal; the server decodes none of it.
_BLOCK: Final = bytes.fromhex("83 86 04 02") + b"/x" + bytes.fromhex("01 01") + b"x"
_END: Final = b"grpc-status\x010"  # the last octets of every reply


def _request(stream: int) -> bytes:
    raw = stream.to_bytes(4, "big")
    return len(_BLOCK).to_bytes(3, "big") + b"\x01\x04" + raw + _BLOCK + b"\0\0\x05\0\x01" + raw + bytes(5)


def main(port: int, calls: int) -> None:
    """Measure and print."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setblocking(False)
        connection.send(_HELLO)
        took = sorted(_call(connection, 2 * number + 1) for number in range(calls))
    p50, p99 = (took[int(calls * share)] / 1e3 for share in (0.5, 0.99))
    print(json.dumps({"min": took[0] / 1e3, "p50": p50, "p99": p99}))


def _call(connection: socket.socket, stream: int) -> int:
    request = _request(stream)
    began = time.monotonic_ns()
    connection.send(request)
    seen = b""
    while not seen.endswith(_END):
        try:
            seen += connection.recv(4096)
        except BlockingIOError:
            continue
    return time.monotonic_ns() - began


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
