"""Metrics of a run over HTTP while it goes on: a thread answers, from what the run's own loop left there once a second.

The thread never looks at the run. What it has to spell is spelled once a second at most, however many ask for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections.abc import AsyncIterator, Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer, ThreadingMixIn
from threading import Lock, Thread
from types import TracebackType
from typing import Final, Self

from lbctl.load.controls import Controls
from lbctl.model import Endpoint
from lbctl.stats.report import Report
from lbctl.view.prometheus import Snapshot, registry, snapshot
from lbctl.view.turns import quick_turns

PATH: Final = "/metrics"
_EVERY_S: Final = 1.0
_END_S: Final = 0.05  # how soon the thread notices that it is over
_SLOW_S: Final = 10.0  # a client that sends or takes nothing for so long is not waited for


class MetricsEndpoint:
    """A context manager that listens; raises OSError if it cannot. As a screen it keeps up with the run.

    Before the first snapshot it answers 503.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._pages = _Pages()
        self._server: _Server | None = None

    def __enter__(self) -> Self:
        self._server = _Server(self._endpoint, self._pages)
        Thread(target=self._server.serve_forever, args=(_END_S,), name="metrics", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()

    @property
    def url(self) -> str:
        """Where it is, with the port that it really has."""
        assert self._server is not None
        host, port = self._endpoint.host, self._server.server_address[1]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}{PATH}"

    @contextlib.asynccontextmanager
    async def showing(self, report: Callable[[], Report], controls: Controls) -> AsyncIterator[None]:
        """Renew what is served until the block ends, and once more then."""
        self._pages.renew(snapshot(report()))
        task = asyncio.create_task(self._keep_up(report))
        try:
            with quick_turns():
                yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            self._pages.renew(snapshot(report()))

    async def _keep_up(self, report: Callable[[], Report]) -> None:
        while True:
            await asyncio.sleep(_EVERY_S)
            self._pages.renew(snapshot(report()))


class _Pages:
    """The latest snapshot, and how it is spelled in each format that was asked for."""

    def __init__(self) -> None:
        self._lock = Lock()  # of what is spelled; the run's loop never takes it
        self._snapshot: Snapshot | None = None
        self._spelled: dict[str, tuple[Snapshot, bytes]] = {}

    def renew(self, latest: Snapshot) -> None:
        self._snapshot = latest

    def page(self, accept: str) -> tuple[str, bytes] | None:
        """Content type and body for a client that accepts these formats; None while there is nothing."""
        from prometheus_client.exposition import choose_encoder

        latest = self._snapshot
        if latest is None:
            return None
        encode, kind = choose_encoder(accept)
        with self._lock:
            kept = self._spelled.get(kind)
            if kept is None or kept[0] is not latest:
                # Clients may name any version they like; a format each is enough.
                if len(self._spelled) > 4:
                    self._spelled.clear()
                kept = self._spelled[kind] = latest, encode(registry(lambda: latest))
        return kind, kept[1]


class _Server(ThreadingMixIn, TCPServer):
    """Listens at once; connections that are open do not hold its end up."""

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = sys.platform != "win32"  # there it would share a port that is in use

    def __init__(self, endpoint: Endpoint, pages: _Pages) -> None:
        found = socket.getaddrinfo(
            endpoint.host or None, endpoint.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        self.address_family, address = found[0][0], found[0][4]
        self.pages = pages
        super().__init__(address[:2], _Handler)  # type: ignore[arg-type]  # host and port, of either family

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = _SLOW_S
    server: _Server
    server_version = "lbctl"
    sys_version = ""

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path == "/":
            self._answer(HTTPStatus.OK, "text/plain; charset=utf-8", f"lbctl: metrics are at {PATH}\n".encode())
            return
        if path != PATH:
            self._answer(HTTPStatus.NOT_FOUND, "text/plain; charset=utf-8", f"metrics are at {PATH}\n".encode())
            return
        found = self.server.pages.page(self.headers.get("Accept", ""))
        if found is None:
            self._answer(HTTPStatus.SERVICE_UNAVAILABLE, "text/plain; charset=utf-8", b"the run has not begun\n")
        else:
            self._answer(HTTPStatus.OK, *found)

    do_HEAD = do_GET  # noqa: N815 - likewise

    def _answer(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that http.server has
        """Standard error is for the run."""
