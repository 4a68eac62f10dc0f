"""Processes of lbctl that need not start Python and import everything first, which takes longer than most runs.

``start`` asks a process that has imported all of lbctl (``python -m tests.warm FD FD``) to fork one that becomes the
run: in a session of its own, with its own streams, folder and environment, ended by its own exit status or signal.
Nothing has been run in it before. ``shim`` does so for the shells of tests. What must show how Python itself starts is
started in the ordinary way.
"""

from __future__ import annotations

import asyncio
import atexit
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, Protocol

ROOT = Path(__file__).parents[1]
LARGEST = 1 << 17  # bytes of a request: arguments and environment
LINE = 1 << 22  # bytes of the longest line that is read


class Process(Protocol):
    """What tests use of a process, as asyncio has it."""

    @property
    def pid(self) -> int: ...
    @property
    def returncode(self) -> int | None: ...
    @property
    def stdin(self) -> asyncio.StreamWriter | None: ...
    @property
    def stdout(self) -> asyncio.StreamReader | None: ...
    @property
    def stderr(self) -> asyncio.StreamReader | None: ...
    def send_signal(self, signal: int, /) -> None: ...
    def terminate(self) -> None: ...
    def kill(self) -> None: ...
    async def wait(self) -> int: ...
    async def communicate(self) -> tuple[bytes, bytes]: ...


class Forked:
    """A process that was forked for us; its parent tells its process number, and how it ended."""

    stdin: asyncio.StreamWriter | None = None
    stdout: asyncio.StreamReader | None = None
    stderr: asyncio.StreamReader | None = None
    returncode: int | None = None
    pid = 0

    def __init__(self) -> None:
        self._transports: dict[int, asyncio.BaseTransport] = {}

    async def reads(self, number: int, descriptor: int) -> asyncio.StreamReader:
        """Our end of what the process writes to one of its descriptors."""
        reader = asyncio.StreamReader(LINE)
        self._transports[number], _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb", 0)
        )
        return reader

    async def writes(self, descriptor: int) -> asyncio.StreamWriter:
        loop = asyncio.get_running_loop()
        transport, protocol = await loop.connect_write_pipe(
            lambda: asyncio.streams.FlowControlMixin(loop=loop), os.fdopen(descriptor, "wb", 0)
        )
        self._transports[0] = transport
        return asyncio.StreamWriter(transport, protocol, None, loop)

    async def begin(self, news: socket.socket) -> None:
        """Learn the number of the process."""
        reader, self._news = await asyncio.open_unix_connection(sock=news)
        self.pid = int(await reader.readline())
        self._ending = asyncio.create_task(self._end(reader), name="end of a forked process")

    async def _end(self, reader: asyncio.StreamReader) -> None:
        self.returncode = os.waitstatus_to_exitcode(int(await reader.readline()))

    def send_signal(self, number: int, /) -> None:
        if self.returncode is None:
            with suppress(ProcessLookupError):  # it has ended, and that was not heard of yet
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def close_pipe(self, number: int) -> None:
        """Close our end of one of its streams."""
        self._transports.pop(number).close()

    async def wait(self) -> int:
        await asyncio.shield(self._ending)
        assert self.returncode is not None
        return self.returncode

    async def communicate(self) -> tuple[bytes, bytes]:
        """Read both streams to their ends, and wait for that of the process; what we hold of it is closed."""
        streams = [stream.read() for stream in (self.stdout, self.stderr) if stream is not None]
        said = await asyncio.gather(*streams)
        await self.wait()
        for number in list(self._transports):
            self.close_pipe(number)
        self._news.close()
        await self._news.wait_closed()
        return (said[0] if self.stdout else b"", said[-1])


async def start(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    *,
    cwd: Path | None = None,
    stdin: bool = False,
    stdout: int = subprocess.PIPE,
) -> Forked:
    """Start ``lbctl`` with these arguments; standard input is a pipe if asked for, and else empty."""
    made = Forked()
    ours, news = socket.socketpair()
    theirs: list[int] = []
    try:
        if stdin:
            read, write = os.pipe()
            theirs.append(read)
            made.stdin = await made.writes(write)
        else:
            theirs.append(os.open(os.devnull, os.O_RDONLY))
        if stdout == subprocess.PIPE:
            read, write = os.pipe()
            theirs.append(write)
            made.stdout = await made.reads(1, read)
        else:
            theirs.append(os.dup(stdout))
        read, write = os.pipe()
        theirs.append(write)
        made.stderr = await made.reads(2, read)
        request = {"arguments": list(arguments), "cwd": str(cwd or Path.cwd()), "environment": dict(environment)}
        socket.send_fds(_door().asks, [json.dumps(request).encode()], [news.fileno(), *theirs])
    finally:
        news.close()
        for descriptor in theirs:
            os.close(descriptor)
    await made.begin(ours)
    return made


async def started(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    *,
    cwd: Path | None = None,
    stdin: bool = False,
    stdout: int = subprocess.PIPE,
) -> Process:
    """Start ``lbctl``: forked where that can be done, and else as users start it, alone in its session too."""
    if sys.platform == "linux":
        return await start(arguments, environment, cwd=cwd, stdin=stdin, stdout=stdout)
    return await cold(arguments, environment, cwd=cwd, stdin=stdin, stdout=stdout)


async def cold(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    *,
    cwd: Path | None = None,
    stdin: bool = False,
    stdout: int = subprocess.PIPE,
) -> Process:
    """Start ``lbctl`` with a Python of its own."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "lbctl",
        *arguments,
        stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        cwd=cwd,
        env=environment,
        start_new_session=True,
        limit=LINE,
    )


class Door(NamedTuple):
    """Where processes are asked for."""

    owner: int  # the process that has opened it
    asks: socket.socket
    named: str  # where those who are no Python ask


_doors: list[Door] = []


def _door() -> Door:
    """The door of this process; what is behind it lives for as long as we do."""
    if not _doors or _doors[-1].owner != os.getpid():
        folder = tempfile.TemporaryDirectory(prefix="lbctl-warm-")
        named = f"{folder.name}/door"
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(named)
        listener.listen(64)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("LBCTL_", "ETCDCTL_"))}
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.warm", str(theirs.fileno()), str(listener.fileno())],
            cwd=ROOT,
            env={**kept, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno(), listener.fileno()],
            start_new_session=True,
        )
        theirs.close()
        listener.close()
        _doors.append(Door(os.getpid(), ours, named))

        def close() -> None:
            ours.close()
            process.wait(10)
            folder.cleanup()

        atexit.register(close)
    return _doors[-1]


# What stands for lbctl on the PATH of a shell: it hands on what it has, passes signals on, and ends as the run does.
SHIM = """#!{python} -IS
import _socket, array, json, os, signal, sys
asks = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
asks.connect({named!r})
ours, theirs = _socket.socketpair()
wish = {{"arguments": sys.argv[1:], "cwd": os.getcwd(), "environment": dict(os.environ)}}
streams = array.array("i", [theirs.fileno(), 0, 1, 2])
number = None
held = []
def hand_on(sent, _):
    if number: os.kill(number, sent)
    else: held.append(sent)
for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
    if signal.getsignal(each) != signal.SIG_IGN: signal.signal(each, hand_on)
asks.sendmsg([json.dumps(wish).encode()], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
theirs.close()
for descriptor in (0, 1, 2): os.close(descriptor)
told = b""
while told.count(b"\\n") < 2:
    more = ours.recv(100)
    if not more: os._exit(70)
    told += more
    if number is None and b"\\n" in told:
        number = int(told.split()[0])
        for each in held: os.kill(number, each)
status = os.waitstatus_to_exitcode(int(told.split()[1]))
if status < 0:
    signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
os._exit(status)
"""


def shim(folder: Path) -> Path:
    """Make a folder with a program ``lbctl`` in it, to be put before the others of a shell's PATH."""
    made = folder / "bin"
    made.mkdir()
    program = made / "lbctl"
    program.write_text(SHIM.format(python=sys.executable, named=_door().named))
    program.chmod(0o755)
    return made


def _import_all() -> dict[str, str]:
    """Import what runs may need; returns the variables that this has set."""
    before = dict(os.environ)
    import lbctl

    for module in pkgutil.walk_packages(lbctl.__path__, "lbctl."):
        if module.name != "lbctl.__main__":
            importlib.import_module(module.name)
    for name in ("grpc.aio", "uvloop"):
        importlib.import_module(name)
    return {name: value for name, value in os.environ.items() if before.get(name) != value}


def _become(request: Mapping[str, Any], streams: Sequence[int], own: Mapping[str, str]) -> None:
    """Be the process that was asked for, from here to the end."""
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
        os.close(descriptor)
    encoding = sys.stdout.encoding  # what Python made for the streams that were there before knows them too well
    sys.stdin, sys.stdout = (
        os.fdopen(0, encoding=encoding, closefd=False),
        os.fdopen(1, "w", encoding=encoding, closefd=False),
    )
    sys.stderr = os.fdopen(2, "w", 1, encoding, "backslashreplace", closefd=False)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update({**own, **request["environment"]})
    sys.argv = [str(ROOT / "lbctl" / "__main__.py"), *request["arguments"]]


def _serve(door: socket.socket, listener: socket.socket, own: Mapping[str, str]) -> bool:
    """Fork for each request until nobody can make any more; returns True in a process that is to become a run."""
    while True:
        ready, _, _ = select.select([door, listener], [], [])
        asks = door if door in ready else listener.accept()[0]
        text, descriptors, *_ = socket.recv_fds(asks, LARGEST, 4)
        if not text and asks is door:
            return False
        if text and not os.fork():
            for each in {door, listener, asks}:
                each.close()
            return _watch(json.loads(text), descriptors, own)
        for descriptor in descriptors:
            os.close(descriptor)
        if asks is not door:
            asks.close()


def _watch(request: Mapping[str, Any], descriptors: Sequence[int], own: Mapping[str, str]) -> bool:
    """Fork the run, and tell whoever asked for it its number and its end."""
    news, *streams = descriptors
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    pid = os.fork()
    if not pid:
        os.close(news)
        _become(request, streams, own)
        return True
    for descriptor in streams:
        os.close(descriptor)
    os.write(news, b"%d\n" % pid)
    _, status = os.waitpid(pid, 0)
    with suppress(BrokenPipeError):  # nobody may want to know
        os.write(news, b"%d\n" % status)
    os._exit(0)


def _leave(run: Callable[[], NoReturn]) -> NoReturn:
    """Run, and end as Python does, but for taking apart what has been imported."""
    status: object = None
    try:
        run()
    except SystemExit as ended:
        status = ended.code
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
    except OSError:
        status = 120
    os._exit(status if isinstance(status, int) else 0)


def main() -> None:
    """Import, and serve at the sockets whose descriptors are the arguments."""
    own = _import_all()
    assert len(os.listdir("/proc/self/task")) == 1, "a process with threads must not fork"
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    door, listener = (socket.socket(fileno=int(number)) for number in sys.argv[1:])
    if _serve(door, listener, own):
        from lbctl.__main__ import main as run

        _leave(run)


if __name__ == "__main__":
    main()
