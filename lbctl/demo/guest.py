"""The command that a demo carries: it gets the terminal, the demo's etcd in its environment, and its signals."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from lbctl.demo.certificates import Tls, client_environment
from lbctl.demo.parent_death import die_with_parent
from lbctl.errors import ExitCode, LbctlError
from lbctl.rpc import OWN_VARIABLES

GRACE_S = 10.0  # longer than the grace a stopped hammer gives its last calls
# These point lbctl and etcdctl at an etcd, or carry what only fits that one.
_OTHER_ETCD = ("ENDPOINTS", "PREFIX", "CACERT", "CERT", "KEY", "USER", "PASSWORD", "PASSWORD_FILE")
# These say how other backends are reached.
_OTHER_BACKENDS = ("TLS", "TLS_CA", "TLS_CERT", "TLS_KEY", "TLS_SERVER_NAME", "TLS_SKIP_VERIFY", "AUTHORITY")


class CommandNotFound(LbctlError):
    """There is no such program; the status is the shell's own for that."""

    exit_code = ExitCode.COMMAND_NOT_FOUND


def guest_environment(environ: Mapping[str, str], endpoint: str, tls: Tls = Tls.OFF) -> dict[str, str]:
    """The environment of the command: the user's own, this etcd and no other, its backends, and lbctl on its PATH."""
    foreign = {f"LBCTL_{name}" for name in (*_OTHER_ETCD, *_OTHER_BACKENDS)} | OWN_VARIABLES
    kept = {name: value for name, value in environ.items() if name not in foreign and not name.startswith("ETCDCTL_")}
    path = os.pathsep.join((str(Path(sys.executable).parent), environ.get("PATH", os.defpath)))
    found = {"LBCTL_ENDPOINTS": endpoint, "ETCDCTL_ENDPOINTS": endpoint, "PATH": path}
    return kept | found | client_environment(tls)


def find_command(command: Sequence[str], environ: Mapping[str, str]) -> tuple[str, ...]:
    """The command with its program as a path; raises CommandNotFound before anything is started."""
    path = guest_environment(environ, "")["PATH"]
    program = shutil.which(command[0], path=path)
    if program is not None:
        return (program, *command[1:])
    if command[0] == "lbctl":  # run from a checkout that was never installed
        return (sys.executable, "-m", "lbctl", *command[1:])
    raise CommandNotFound(f"command not found: {command[0]}", "usage: lbctl demo [OPTIONS] -- COMMAND [ARGS]...")


class Guest:
    """The running command."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._missed = False

    @classmethod
    async def start(cls, command: Sequence[str], environ: Mapping[str, str]) -> Guest:
        """Run it on this terminal; raises CommandNotFound when the system refuses to."""
        try:
            process = await asyncio.create_subprocess_exec(
                *command, env=environ, preexec_fn=die_with_parent(signal.SIGTERM)
            )
        except OSError as error:
            raise CommandNotFound(f"cannot run {command[0]}: {error.strerror or error}") from error
        return cls(process)

    async def wait(self) -> int:
        """Its exit status as a shell tells it: 128 + the number of the signal that ended it."""
        status = await self._process.wait()
        return 128 - status if status < 0 else status

    def miss(self) -> None:
        """Take it that the next signal came before the command was there, so that the terminal did not give it one."""
        self._missed = True

    def forward(self, number: int) -> None:
        """Pass a signal on, except a Ctrl-C that the terminal has given to the command already."""
        missed, self._missed = self._missed, False
        if number == signal.SIGINT and not missed and _on_terminal():
            return
        self._send(signal.Signals(number))

    async def finish(self) -> None:
        """End it if it still runs: SIGTERM, and SIGKILL after the grace period."""
        if self._process.returncode is not None:
            return
        self._send(signal.SIGTERM)
        try:
            await asyncio.wait_for(self._process.wait(), GRACE_S)
        except TimeoutError:
            self._send(signal.SIGKILL)
            await self._process.wait()

    def _send(self, sig: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(sig)


def _on_terminal() -> bool:
    """Whether this process group is the one the terminal sends Ctrl-C to: the command, in the same group, had it."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
