"""A TCP proxy in front of etcd that breaks connections in the ways networks do."""

from __future__ import annotations

import asyncio
import socket
from typing import Self


class TcpProxy:
    """Relays 127.0.0.1 to one port; may drop, refuse, go silent, or cut the next connection after n bytes."""

    def __init__(self, target_port: int) -> None:
        self._target = target_port
        self._server: asyncio.Server | None = None
        self._port = 0
        self._relays: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._flowing = asyncio.Event()
        self._flowing.set()
        self.cut_next_after: int | None = None
        self.accepted = 0
        self.passed = bytearray()  # everything that either side sent

    async def __aenter__(self) -> Self:
        await self.accept()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.refuse()

    @property
    def endpoint(self) -> str:
        return f"127.0.0.1:{self._port}"

    async def accept(self) -> None:
        """Listen, on the same port as before."""
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self._port))
        self._server = await asyncio.start_server(self._serve, sock=listener)
        self._port = listener.getsockname()[1]

    async def refuse(self) -> None:
        """Stop listening and drop everything."""
        if self._server is not None:
            self._server.close()
            self._server = None
        await self.drop()

    async def drop(self) -> None:
        """Reset every connection."""
        for writer in list(self._writers):
            writer.transport.abort()
        self._flowing.set()
        for relay in list(self._relays):
            relay.cancel()
        await asyncio.gather(*self._relays, return_exceptions=True)

    def silence(self) -> None:
        """Keep the connections and pass nothing on."""
        self._flowing.clear()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        limit, self.cut_next_after = self.cut_next_after, None
        self._writers.add(writer)
        try:
            back_reader, back_writer = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.transport.abort()
            self._writers.discard(writer)
            return
        self._writers.add(back_writer)
        pair = (writer, back_writer)
        for source, sink, cut in ((reader, back_writer, None), (back_reader, writer, limit)):
            relay = asyncio.create_task(self._relay(source, sink, cut, pair))
            self._relays.add(relay)
            relay.add_done_callback(self._relays.discard)

    async def _relay(
        self,
        source: asyncio.StreamReader,
        sink: asyncio.StreamWriter,
        limit: int | None,
        pair: tuple[asyncio.StreamWriter, asyncio.StreamWriter],
    ) -> None:
        try:
            while data := await source.read(65536):
                await self._flowing.wait()
                self.passed += data
                sink.write(data if limit is None else data[:limit])
                await sink.drain()
                if limit is not None and (limit := limit - len(data)) <= 0:
                    break
        except OSError:
            pass
        finally:
            for writer in pair:
                self._writers.discard(writer)
                writer.close()
