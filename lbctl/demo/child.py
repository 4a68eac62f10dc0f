"""A backend process as the demo sees it: started at once, told what to be when etcd is there, ended without fail."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections import deque
from typing import Any, Self

from lbctl.demo.certificates import Tls
from lbctl.demo.parent_death import die_with_parent
from lbctl.demo.spec import BackendSpec
from lbctl.errors import LbctlError

READY_WITHIN_S = 20.0
STOP_WITHIN_S = 3.0
_KEPT_LINES = 20


class BackendFailed(LbctlError):
    """A backend process did not come up."""


class BackendProcess:
    """One ``python -m lbctl.demo.backend``; whoever launches it must stop it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._stderr: deque[str] = deque(maxlen=_KEPT_LINES)
        self._drain = asyncio.create_task(self._read_stderr(), name="backend stderr")

    @classmethod
    async def launch(cls, tls: Tls = Tls.OFF) -> Self:
        """Start the process; it binds its port and waits for :meth:`register`.

        Raises BackendFailed when the system has no room for another process.
        """
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",  # a folder named grpc where the user stands must not be imported
                "-m",
                "lbctl.demo.backend",
                tls.value,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,  # Ctrl-C is for the demo, which then ends its children in order
                preexec_fn=die_with_parent(),
                env={"GRPC_VERBOSITY": "NONE", **os.environ},
            )
        except OSError as error:
            raise BackendFailed(f"cannot start a backend process: {error.strerror or error}") from error
        return cls(process)

    @property
    def pid(self) -> int:
        return self._process.pid

    async def port(self) -> int:
        """The port it has bound; raises BackendFailed when it ends or stays silent instead."""
        return int((await self._message())["port"])

    async def register(self, spec: BackendSpec) -> tuple[str, ...]:
        """Make it serve and register; returns its keys, raises BackendFailed with its own words."""
        assert self._process.stdin is not None
        with contextlib.suppress(ConnectionError):  # the missing answer tells more
            self._process.stdin.write(spec.to_line())
            await self._process.stdin.drain()
        return tuple((await self._message())["registered"])

    async def wait(self) -> int:
        """The exit status, once it has ended for whatever reason (negative: the signal)."""
        return await self._process.wait()

    def end(self) -> str:
        """How it ended, for people: ``signal 9``, or its exit status and last words."""
        status = self._process.returncode or 0
        if status < 0:
            return f"signal {-status}"
        words = self._stderr[-1] if self._stderr else ""
        return f"exit status {status}{': ' if words else ''}{words}"

    async def stop(self) -> None:
        """SIGTERM, then SIGKILL after a grace period; returns when the process and its pipes are gone."""
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()
        try:
            await asyncio.wait_for(self._process.wait(), STOP_WITHIN_S)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
        await self._drain
        await self._close_pipes()

    async def _message(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        try:
            line = await asyncio.wait_for(self._process.stdout.readline(), READY_WITHIN_S)
        except TimeoutError:
            raise BackendFailed(f"a demo backend was not ready within {READY_WITHIN_S:g}s") from None
        if not line:
            await self._process.wait()
            await self._drain
            raise BackendFailed(f"a demo backend did not start ({self.end()})")
        message: dict[str, Any] = json.loads(line)
        if "error" in message:
            raise BackendFailed(f"a demo backend could not register: {message['error']}")
        return message

    async def _read_stderr(self) -> None:
        """Empty the pipe for ever, so that the backend never blocks on it; keep the last lines."""
        assert self._process.stderr is not None
        while chunk := await self._process.stderr.read(1 << 16):
            self._stderr.extend(line for line in chunk.decode("utf-8", "replace").splitlines() if line.strip())

    async def _close_pipes(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        with contextlib.suppress(ConnectionError):
            await self._process.stdin.wait_closed()
