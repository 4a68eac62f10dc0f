"""A real etcd process on 127.0.0.1 that lives as long as lbctl wants it to, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from lbctl.demo.etcd_binary import find_binary
from lbctl.demo.parent_death import die_with_parent
from lbctl.demo.scratch import ScratchDir
from lbctl.errors import CannotCall

READY_WITHIN_S = 15.0
STOP_WITHIN_S = 3.0
_PORT_ATTEMPTS = 5
_PORT_PAUSE_S = 0.3
_READY = "serving client traffic"
_TAKEN = "address already in use"
_KEPT_LINES = 40


class EtcdServer:
    """One single-member etcd; start it with :meth:`start`, end it with :meth:`stop`, or use it as a context."""

    def __init__(self, binary: Path, port: int, data_dir: Path, scratch: ScratchDir | None) -> None:
        """Take where and what to run; nothing is started yet."""
        self.binary = binary
        self.port = port
        self.data_dir = data_dir
        self._scratch = scratch
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._ready = asyncio.Event()
        self._lines: deque[str] = deque(maxlen=_KEPT_LINES)

    @classmethod
    async def start(
        cls,
        *,
        binary: str | None = None,
        data_dir: str | None = None,
        port: int | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> Self:
        """Start etcd and return when it serves; a free port is found unless one is given.

        Raises NotFound without a binary, CannotCall when etcd does not come up.
        """
        path = find_binary(binary, environ)
        for attempt in range(1, _PORT_ATTEMPTS + 1):
            scratch = None if data_dir else ScratchDir()
            server = cls(path, port or free_port(), scratch.path if scratch else Path(str(data_dir)), scratch)
            try:
                await server._run()
            except BaseException:
                taken = server._port_was_taken() and port is None
                await server.stop()
                if taken and attempt < _PORT_ATTEMPTS:
                    continue
                raise
            return server
        raise AssertionError("unreachable")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    @property
    def endpoint(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """The process id of the etcd that runs now (or ran last)."""
        return self._started().pid

    @property
    def last_words(self) -> str:
        """What etcd logged last as a warning or an error, for the report of its death; empty when nothing."""
        return next((text for line in reversed(self._lines) if (text := _complaint(line))), "")

    async def wait(self) -> int:
        """Return the exit status once etcd has ended, for whatever reason."""
        return await self._started().wait()

    async def kill(self) -> None:
        """End etcd at once (SIGKILL) and keep its data for :meth:`restart`."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
        await self._end_reader()

    async def restart(self) -> None:
        """Start again on the same port and data; a running etcd is stopped first.

        The port was free for a while: a passing connection may sit on it, so a few attempts are made.
        """
        await self._terminate()
        for attempt in range(1, _PORT_ATTEMPTS + 1):
            try:
                return await self._run()
            except CannotCall:
                if not self._port_was_taken() or attempt == _PORT_ATTEMPTS:
                    raise
            await asyncio.sleep(_PORT_PAUSE_S)
        raise AssertionError("unreachable")

    async def stop(self) -> None:
        """Stop etcd (SIGTERM, then SIGKILL) and remove the data directory lbctl made; safe to repeat."""
        try:
            await self._terminate()
        finally:
            if self._scratch is not None:
                self._scratch.cleanup()

    async def _run(self) -> None:
        self._ready.clear()
        self._lines.clear()
        try:
            self._process = await asyncio.create_subprocess_exec(
                str(self.binary),
                *_arguments(self.port, self.data_dir),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
                preexec_fn=die_with_parent(),
                pass_fds=self._scratch.lock_fds if self._scratch else (),
                limit=1 << 20,
                env=_clean(os.environ),
            )
        except OSError as error:
            raise CannotCall(
                f"cannot run {self.binary}: {error.strerror or error}", "give another with --etcd-bin"
            ) from (error)
        self._reader = asyncio.create_task(self._read_log(self._process), name="etcd log")
        await self._until_ready(self._reader)

    async def _until_ready(self, reader: asyncio.Task[None]) -> None:
        ready = asyncio.create_task(self._ready.wait())
        try:
            await asyncio.wait({ready, reader}, timeout=READY_WITHIN_S, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ready.cancel()
        if self._ready.is_set():
            return
        what = await self._how_it_ended() if reader.done() else f"was not ready within {READY_WITHIN_S:g}s"
        raise CannotCall(f"etcd on {self.endpoint} {what}: {self.last_words or 'it gave no reason'}")

    async def _how_it_ended(self) -> str:
        """Name the exit status, which follows the end of the log at once."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1.0):
                status = await self.wait()
                return f"ended at once with {f'signal {-status}' if status < 0 else f'status {status}'}"
        return "closed its log at once"

    async def _read_log(self, process: asyncio.subprocess.Process) -> None:
        """Empty the pipe for ever, so that etcd never blocks on it; keep the last lines, notice the ready one."""
        assert process.stderr is not None
        while True:
            try:
                line = await process.stderr.readline()
            except ValueError:  # one line above the limit: already dropped from the buffer
                continue
            if not line:
                return
            text = line.decode("utf-8", "replace")
            self._lines.append(text)
            if _READY in text:
                self._ready.set()

    async def _terminate(self) -> None:
        process = self._process
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            try:
                await asyncio.wait_for(process.wait(), STOP_WITHIN_S)
            except TimeoutError:
                await self.kill()
        await self._end_reader()

    async def _end_reader(self) -> None:
        """Let the log reader see the end of the pipe; the process is gone, so it comes at once."""
        if self._reader is None:
            return
        _, late = await asyncio.wait({self._reader}, timeout=1.0)
        for task in late:
            task.cancel()
        self._reader = None

    def _port_was_taken(self) -> bool:
        return any(_TAKEN in line for line in self._lines)

    def _started(self) -> asyncio.subprocess.Process:
        if self._process is None:
            raise RuntimeError("etcd was never started")
        return self._process


def free_port() -> int:
    """Return a TCP port that was free on 127.0.0.1 a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _arguments(port: int, data_dir: Path) -> tuple[str, ...]:
    """Spell the one argument list that etcd 3.4 to 3.6 understands; short timeouts make it ready in ~100 ms."""
    client, peer = f"http://127.0.0.1:{port}", "http://127.0.0.1:0"
    flags = {
        "name": "lbctl-demo",
        "data-dir": str(data_dir / "etcd"),
        "listen-client-urls": client,
        "advertise-client-urls": client,
        "listen-peer-urls": peer,
        "initial-advertise-peer-urls": peer,
        "initial-cluster": f"lbctl-demo={peer}",
        "initial-cluster-state": "new",
        "heartbeat-interval": "20",
        "election-timeout": "200",
        "logger": "zap",
        "log-outputs": "stderr",
        "log-level": "info",
    }
    return (*(word for name, value in flags.items() for word in (f"--{name}", value)), "--unsafe-no-fsync")


def _clean(environ: Mapping[str, str]) -> dict[str, str]:
    """Leave ETCD_* out: etcd refuses to start when a variable contradicts a flag."""
    return {name: value for name, value in environ.items() if not name.startswith("ETCD_")}


def _complaint(line: str) -> str:
    try:
        record = json.loads(line)
    except ValueError:
        return line.strip()
    if not isinstance(record, dict) or record.get("level") in {"info", "debug"}:
        return ""
    return ": ".join(str(record[part]) for part in ("msg", "error") if record.get(part))
