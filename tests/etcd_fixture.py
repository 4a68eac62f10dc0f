"""A real etcd for tests, run by an event loop of its own so that it outlives the loop of any one test."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import TypeVar

from lbctl.demo.etcd_server import EtcdServer

T = TypeVar("T")


class LoopThread:
    """An event loop in a thread: ``run`` waits for a coroutine's result from outside."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="test etcd loop", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[object, object, T], timeout: float = 30.0) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5.0)
        self._loop.close()


@contextmanager
def background_etcd() -> Iterator[EtcdServer]:
    """Run one etcd until the block ends; only its plain attributes (endpoint, pid, port) may be used outside."""
    thread = LoopThread()
    try:
        server = thread.run(EtcdServer.start())
        try:
            yield server
        finally:
            thread.run(server.stop())
    finally:
        thread.close()
