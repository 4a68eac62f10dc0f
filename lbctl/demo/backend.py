"""The process of one demo backend: ``python -m lbctl.demo.backend [TLS]``, spoken to over its pipes (see ``spec``).

It keeps its own lease, so that its key outlives it by no more than the lease, however it ends.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from typing import Any

from lbctl.clock import SystemClock
from lbctl.demo.certificates import Tls
from lbctl.demo.latency import Behaviour
from lbctl.demo.load_meter import LoadMeter
from lbctl.demo.server import BackendServer
from lbctl.demo.spec import BackendSpec, spec_from_line
from lbctl.discovery.codecs.registration import Registration, Wanted
from lbctl.discovery.registering import has_weights, keeper_of, registration
from lbctl.errors import LbctlError
from lbctl.etcd.client import Etcd
from lbctl.etcd.config import EtcdConfig
from lbctl.etcd.keepalive import LeaseKeeper
from lbctl.model import Endpoint

GRACE_S = 0.5
CAPACITY = 100.0  # calls a second for each unit of weight, as its load reports say
DRAIN_S = 0.2  # between the key's end and the server's: clients hear of it, and what they have just sent arrives


def main() -> None:
    """Serve until SIGTERM, or until standard input ends because whoever started this process is gone."""
    asyncio.run(_main())


async def _main() -> None:
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    commands = await _standard_input()
    server = BackendServer(Tls(sys.argv[1]) if len(sys.argv) > 1 else Tls.OFF)
    _tell(port=server.endpoint.port)
    line = await _unless(stopping, commands.readline())
    if line:
        await _serve(server, spec_from_line(line), commands, stopping)


async def _serve(
    server: BackendServer, spec: BackendSpec, commands: asyncio.StreamReader, stopping: asyncio.Event
) -> None:
    meter = LoadMeter(CAPACITY * max(1, spec.weight), SystemClock().now_ns) if spec.orca else None
    await server.start(Behaviour(spec.latency, spec.error_rate, spec.seed), meter)
    async with AsyncExitStack() as owned:
        owned.push_async_callback(server.stop, GRACE_S)
        owned.push_async_callback(asyncio.sleep, DRAIN_S)
        etcd = await owned.enter_async_context(Etcd(EtcdConfig((spec.etcd,))))
        try:
            keys = [await owned.enter_async_context(keeper) for keeper in _keepers(spec, server.endpoint, etcd)]
        except LbctlError as error:
            _tell(error=str(error))
            return
        _tell(registered=[keeper.key.decode() for keeper in keys])
        await _unless(stopping, commands.read())


def _keepers(spec: BackendSpec, endpoint: Endpoint, etcd: Etcd) -> list[LeaseKeeper]:
    """One lease per key: a service can be taken away without the others."""
    weight = spec.weight if has_weights(spec.layout) else None

    def keeper(service: str) -> LeaseKeeper:
        def spell(lease: int) -> Registration:
            return registration(spec.layout, Wanted(service, endpoint, weight, lease=lease))

        return LeaseKeeper(etcd, spell, spec.ttl_s, _log, restores=bool(keeper_of(spec.layout).restores))

    return [keeper(service) for service in spec.services]


async def _unless(stopping: asyncio.Event, reading: Coroutine[Any, Any, bytes]) -> bytes:
    """What was read, or nothing when told to stop first."""
    read, stop = asyncio.create_task(reading), asyncio.create_task(stopping.wait())
    await asyncio.wait({read, stop}, return_when=asyncio.FIRST_COMPLETED)
    stop.cancel()
    if not read.done():
        read.cancel()
        return b""
    return read.result()


async def _standard_input() -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    return reader


def _tell(**message: object) -> None:
    """One line to the demo; if it is gone, standard input says so too."""
    try:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        pass


def _log(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


if __name__ == "__main__":
    main()
