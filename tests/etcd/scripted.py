"""An etcd that says what a test tells it to, for what real ones do too seldom: it answers ranges and watches alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import grpc.aio

from lbctl.etcd.stubs import Message, pb, rpc

CLUSTER = 7


def header(revision: int, term: int = 2, cluster: int = CLUSTER) -> Message:
    return pb.ResponseHeader(cluster_id=cluster, revision=revision, raft_term=term)


class Scripted(rpc.KVServicer, rpc.WatchServicer):  # type: ignore[misc]  # classes made at run time
    """``reads`` are the headers of ranges, one after the other, the last one for ever; so are ``watches`` replies."""

    def __init__(self, reads: Sequence[Message], watches: Sequence[Sequence[Message]]) -> None:
        self._reads = list(reads)
        self._watches = list(watches)
        self.asked: list[Message] = []  # what the watches were asked to begin with

    async def Range(self, request: Message, context: object) -> Message:  # noqa: N802 - the method's name on the wire
        answer = self._reads.pop(0) if len(self._reads) > 1 else self._reads[0]
        return pb.RangeResponse(header=answer)

    async def Watch(self, requests: AsyncIterator[Message], context: object) -> AsyncIterator[Message]:  # noqa: N802
        self.asked.append((await anext(requests)).create_request)
        replies = self._watches.pop(0) if len(self._watches) > 1 else self._watches[0]
        for reply in replies:
            yield reply
        await asyncio.Event().wait()


@asynccontextmanager
async def scripted(
    reads: Sequence[Message], watches: Sequence[Sequence[Message]]
) -> AsyncIterator[tuple[str, Scripted]]:
    """Serve it for a block; gives the endpoint, too."""
    etcd = Scripted(reads, watches)
    server = grpc.aio.server()
    rpc.add_KVServicer_to_server(etcd, server)
    rpc.add_WatchServicer_to_server(etcd, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield f"127.0.0.1:{port}", etcd
    finally:
        await server.stop(None)
