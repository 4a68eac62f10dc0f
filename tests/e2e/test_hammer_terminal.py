"""A real run on a real terminal, and whatever ends it: the terminal is as it was, and no process is left."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.cli.shells import PROMPT, furnish, shell
from tests.e2e.conftest import Standing
from tests.e2e.runs import session_of
from tests.view.ptys import OnTerminal

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def hammer(demo: Standing, *options: str) -> OnTerminal:
    command = ("lbctl", "--endpoints", demo.etcd, "hammer", "echo", "-z", "60s", "-c", "4", "--ui", "live")
    return OnTerminal("tests.e2e.controlling", *command, *options)


def after(terminal: OnTerminal) -> str:
    """What is on the terminal since it was given back."""
    return terminal.raw.rsplit(b"\x1b[?1049l", 1)[1].decode()


@pytest.mark.parametrize(("number", "status", "by"), [(signal.SIGTERM, 143, "SIGTERM"), (signal.SIGHUP, 129, "SIGHUP")])
def test_a_signal_ends_it_with_its_file(
    number: signal.Signals, status: int, by: str, demo: Standing, tmp_path: Path
) -> None:
    saved = tmp_path / "run.json"
    with hammer(demo, "--save", str(saved)) as terminal:
        terminal.shows("BACKENDS 3/3")
        terminal.kill(number)
        assert terminal.ended() == status
        terminal.until(terminal.given_back, "the terminal restored")
        assert session_of(terminal.process.pid) == []
        out, said = terminal.output(), after(terminal)
    document = json.loads(saved.read_text())
    assert (document["end_reason"], document["stopped_by"]) == ("interrupted", by)
    if number == signal.SIGHUP:  # nobody is there
        assert (out, said) == ("", "")
    else:
        assert f"Stopped by {by} after " in out
        assert said.startswith(f"saved {saved}")


def test_ctrl_c_three_times_in_a_row(demo: Standing) -> None:
    with hammer(demo) as terminal:
        terminal.shows("BACKENDS 3/3")
        for _ in range(3):
            terminal.send("\x03")
        assert terminal.ended() == 130
        terminal.until(terminal.given_back, "the terminal restored")
        assert session_of(terminal.process.pid) == []


def test_when_it_is_killed_its_watchdog_gives_the_terminal_back(demo: Standing) -> None:
    with hammer(demo) as terminal:
        terminal.shows("BACKENDS 3/3")
        terminal.kill(signal.SIGKILL)
        assert terminal.ended() == -signal.SIGKILL
        terminal.until(terminal.given_back, "the terminal restored")
        terminal.until(lambda: session_of(terminal.process.pid) == [], "the watchdog gone")


def test_it_is_stopped_and_goes_on_in_a_window_of_another_size(demo: Standing) -> None:
    with hammer(demo) as terminal:
        terminal.shows("BACKENDS 3/3")
        terminal.suspend()
        terminal.resize(140, 45)
        terminal.kill(signal.SIGCONT)
        terminal.shows("PAUSED")
        terminal.shows("THROUGHPUT rps")
        terminal.send("q")
        assert terminal.ended() == 0
        terminal.until(terminal.given_back, "the terminal restored")


def test_in_the_background_of_a_shell_it_leaves_the_terminal_alone(
    demo: Standing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    furnish(tmp_path)
    (tmp_path / "rc").write_text(f"PS1='{PROMPT}'\n")
    monkeypatch.setenv("LBCTL_ENDPOINTS", demo.etcd)
    with shell(["bash", "--noprofile", "--rcfile", str(tmp_path / "rc"), "-i"], tmp_path) as user:
        line = "lbctl hammer echo -n 100 -c 2 -o csv --save bg.json & wait $!; echo sta''tus-$?\r"
        user.types(line, "saved bg.json", "status-0")
        assert not any("BACKENDS" in line for line in user.shown())
        user.types("lbctl hammer echo -z 60s -c 2\r", "BACKENDS 3/3")
        user.send("\x1a")
        user.until("Stopped")
        user.types("fg\r", "PAUSED")
        user.send("q")
        user.until("Stopped by q", "Summary")
