"""``lbctl demo`` as a user starts it: its streams, its exit status, and what it leaves behind."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.demo.watching import alive, eventually, listens

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux ties a process to its parent")

LBCTL = (sys.executable, "-m", "lbctl")
PATIENCE_S = 30.0


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """An environment whose directory for temporary files is the test's own."""
    return {**os.environ, "TMPDIR": str(tmp_path)}


def carry(environ: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a demo to its end."""
    return subprocess.run(
        [*LBCTL, "demo", *arguments],
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


class Waiting:
    """A demo that stands and waits."""

    def __init__(self, process: subprocess.Popen[str], announced: str) -> None:
        self.process = process
        self.announced = announced
        self.etcd = re.findall(r"LBCTL_ENDPOINTS=(\S+)", announced)[0]
        self.backends = re.findall(r"^  (127\.0\.0\.1:\d+)", announced, re.MULTILINE)
        self.pids = [int(pid) for pid in re.findall(r"pid (\d+)", announced)]

    def end(self) -> tuple[int, str]:
        """Wait for its end; returns the exit status and what it said on standard error."""
        _, complaints = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, complaints

    def ports(self) -> list[bool]:
        return [listens(endpoint) for endpoint in (self.etcd, *self.backends)]


@contextmanager
def waiting(environ: dict[str, str], *arguments: str) -> Iterator[Waiting]:
    """A demo in the foreground, ready."""
    with subprocess.Popen(
        [*LBCTL, "demo", *arguments],
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield Waiting(process, announcement(process))
        finally:
            process.kill()


def announcement(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if "Ctrl-C" in line:
            return "".join(lines)
    raise AssertionError(f"ended before it stood: {process.communicate()[1]}")


def left_in(directory: Path) -> list[str]:
    return [path.name for path in directory.iterdir()]


def test_the_exit_status_of_the_command_is_passed_on(environ: dict[str, str], tmp_path: Path) -> None:
    done = carry(environ, "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (done.returncode, done.stdout) == (7, "out\n")
    assert re.fullmatch(r"demo: etcd 127\.0\.0\.1:\d+, 3 backends, weights 5,1,1\nerr\n", done.stderr)
    assert left_in(tmp_path) == []


def test_a_command_that_a_signal_ends_counts_as_in_a_shell(environ: dict[str, str]) -> None:
    assert carry(environ, "-b", "1", "--", "sh", "-c", "kill -9 $$").returncode == 128 + 9


def test_options_after_the_dashes_belong_to_the_command(environ: dict[str, str]) -> None:
    show = "import sys; print(sys.argv[1:])"
    done = carry(environ, "-q", "-b", "1", "--", sys.executable, "-c", show, "-b", "3", "--", "--help", "-o", "json")
    assert (done.returncode, done.stdout, done.stderr) == (0, "['-b', '3', '--', '--help', '-o', 'json']\n", "")


def test_the_command_finds_the_demo_and_lbctl(environ: dict[str, str]) -> None:
    find = "import os, shutil; print(os.environ['LBCTL_ENDPOINTS'], shutil.which('lbctl') is not None)"
    done = carry(environ | {"PATH": "/nonexistent"}, "-b", "1", "--", sys.executable, "-c", find)
    assert re.fullmatch(r"127\.0\.0\.1:\d+ True\n", done.stdout)


def test_calls_on_the_demo_go_where_its_weights_send_them(environ: dict[str, str]) -> None:
    done = carry(environ, "--", "lbctl", "hammer", "echo", "Echo/Say", "-n", "2100", "-o", "json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert sorted((row["picks"] for row in report["backends"]), reverse=True) == [1500, 300, 300]
    assert (report["errors"], report["codes"]) == (0, {"OK": 2100})


def test_injected_errors_are_a_share_of_the_calls(environ: dict[str, str]) -> None:
    options = ("--latency", "0", "--errors", "0,10%,100%", "--weights", "1")
    done = carry(environ, *options, "--", "lbctl", "hammer", "echo", "Echo/Say", "-n", "3000", "-o", "json")
    report = json.loads(done.stdout)
    errors = {row["address"]: row["errors"] for row in report["backends"]}
    # 100 of 1000 expected; five standard deviations are 47.
    none, some, every = (errors[address] for address in sorted(errors))
    assert (none, every) == (0, 1000)
    assert abs(some - 100) <= 47


def test_a_command_that_does_not_exist_is_refused_before_anything_starts(
    environ: dict[str, str], tmp_path: Path
) -> None:
    done = carry(environ, "--", "no-such-program", "-x")
    assert (done.returncode, done.stdout) == (127, "")
    assert done.stderr == (
        "error: command not found: no-such-program\nhint: usage: lbctl demo [OPTIONS] -- COMMAND [ARGS]...\n"
    )
    assert left_in(tmp_path) == []


def test_a_program_that_the_system_refuses_is_told_and_cleaned_up_after(
    environ: dict[str, str], tmp_path: Path
) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"\x7fELF but not really")
    program.chmod(0o755)
    done = carry(environ, "-q", "-b", "1", "--", str(program))
    assert (done.returncode, done.stderr) == (127, f"error: cannot run {program}: Exec format error\n")
    assert left_in(tmp_path) == ["program"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-b", "3", "--weights", "5,1"), "--weights has 2 values, --backends asks for 3 backends"),
        (("--layout", "nosuch"), "--layout: there is no layout 'nosuch'"),
        (("--etcd-bin", "/nowhere/etcd"), "no etcd binary at /nowhere/etcd"),
    ],
)
def test_bad_options_are_told_in_two_lines(
    environ: dict[str, str], tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = carry(environ, *arguments)
    assert done.returncode in (2, 4)
    assert done.stdout == ""
    assert re.fullmatch(rf"error: {re.escape(message)}\nhint: .+\n", done.stderr)
    assert left_in(tmp_path) == []


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 0), (signal.SIGTERM, 0), (signal.SIGHUP, 129)],
)
def test_a_signal_takes_everything_down(
    environ: dict[str, str], tmp_path: Path, number: signal.Signals, status: int
) -> None:
    with waiting(environ) as demo:
        assert demo.ports() == [True] * 4
        demo.process.send_signal(number)
        assert demo.end() == (status, "")
        assert not any(alive(pid) for pid in demo.pids)
        assert demo.ports() == [False] * 4
        assert left_in(tmp_path) == []


def test_an_impatient_ctrl_c_does_not_break_the_taking_down(environ: dict[str, str], tmp_path: Path) -> None:
    with waiting(environ) as demo:
        for _ in range(10):
            demo.process.send_signal(signal.SIGINT)
        assert demo.end() == (0, "")
        assert not any(alive(pid) for pid in demo.pids)
        assert left_in(tmp_path) == []


def test_a_signal_during_the_start_takes_everything_down(environ: dict[str, str], tmp_path: Path) -> None:
    with subprocess.Popen([*LBCTL, "demo"], env=environ, stdout=subprocess.PIPE, start_new_session=True) as process:
        eventually(lambda: any(tmp_path.glob("lbctl-etcd-*")), "the demo begins to start")
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0
        assert left_in(tmp_path) == []


@ON_LINUX
def test_a_demo_that_is_killed_leaves_no_process_and_the_next_one_removes_its_directory(
    environ: dict[str, str], tmp_path: Path
) -> None:
    with waiting(environ) as demo:
        demo.process.kill()
        demo.process.wait(PATIENCE_S)
        eventually(lambda: not any(alive(pid) for pid in demo.pids), "the backends end with the demo")
        eventually(lambda: not any(demo.ports()), "etcd ends with the demo")
    assert len(left_in(tmp_path)) == 1
    carry(environ, "-b", "1", "--", "true")
    assert left_in(tmp_path) == []


@ON_LINUX
def test_a_demo_that_is_killed_takes_its_command_along(environ: dict[str, str]) -> None:
    with subprocess.Popen(
        [*LBCTL, "demo", "-q", "-b", "1", "--", "sh", "-c", "echo $$; exec sleep 60"],
        env=environ,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        command = int(process.stdout.readline())
        process.kill()
        eventually(lambda: not alive(command), "the command ends with the demo")


def test_a_backend_that_dies_is_told_and_the_demo_goes_on(environ: dict[str, str]) -> None:
    with waiting(environ) as demo:
        os.kill(demo.pids[0], signal.SIGKILL)
        assert demo.process.stderr is not None
        assert demo.process.stderr.readline() == (
            f"backend {demo.backends[0]} died (signal 9); etcd drops its key within 10s\n"
        )
        assert demo.ports() == [True, False, True, True]
        demo.process.send_signal(signal.SIGINT)
        assert demo.end() == (0, "")


KILL_ETCD = "kill -9 $(pgrep -P $PPID etcd); exec sleep 60"


def test_a_dead_etcd_ends_the_demo_and_its_command(environ: dict[str, str], tmp_path: Path) -> None:
    done = carry(environ, "-q", "-b", "1", "--", "sh", "-c", KILL_ETCD)
    assert done.returncode == 70
    assert re.fullmatch(r"error: the demo's etcd 127\.0\.0\.1:\d+ died \(signal 9\)\n", done.stderr)
    assert left_in(tmp_path) == []


def test_a_signal_to_the_demo_goes_to_its_command(environ: dict[str, str], tmp_path: Path) -> None:
    command = "trap 'exit 9' TERM; echo ready; while :; do sleep 0.1; done"
    with subprocess.Popen(
        [*LBCTL, "demo", "-b", "1", "--", "sh", "-c", command],
        env=environ,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 9
        assert left_in(tmp_path) == []


COUNT_INTERRUPTS = """
import signal, sys, time
seen = []
signal.signal(signal.SIGINT, lambda *_: seen.append(1))
print("ready", flush=True)
while not seen:
    time.sleep(0.01)
time.sleep(0.3)  # a second one, passed on by the demo, would come now
print("interrupts", len(seen), flush=True)
sys.exit(3)
"""


def test_ctrl_c_on_a_terminal_reaches_the_command_once_and_the_demo_waits_for_it(
    environ: dict[str, str], tmp_path: Path
) -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(LBCTL[0], [*LBCTL, "demo", "-b", "1", "--", sys.executable, "-c", COUNT_INTERRUPTS], environ)
    with os.fdopen(terminal, "r+b", buffering=0) as screen:
        read_to(screen.fileno(), b"ready\r\n")
        screen.write(b"\x03")
        assert b"interrupts 1" in read_to(screen.fileno(), b"interrupts 1")
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3
    assert left_in(tmp_path) == []


def read_to(descriptor: int, mark: bytes) -> bytes:
    """What the terminal shows, up to the mark."""
    shown = b""
    while mark not in shown:
        assert select.select([descriptor], [], [], PATIENCE_S)[0], shown
        shown += os.read(descriptor, 4096)
    return shown
