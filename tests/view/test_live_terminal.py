from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

from tests.view.ptys import OnTerminal

pytestmark = pytest.mark.e2e


def stage(scene: str, stdin: int | None = None) -> OnTerminal:
    return OnTerminal("tests.view.stage", scene, stdin=stdin)


def test_q_stops_the_run_and_the_terminal_is_as_it_was() -> None:
    with stage("run") as terminal:
        terminal.shows("BACKENDS 4/5")
        terminal.send("q")
        assert terminal.ended() == 0
        assert terminal.given_back()
        assert json.loads(terminal.output()) == ["stop"]


def test_a_terminal_whose_glyphs_take_two_cells_gets_ascii_and_what_was_typed_meanwhile_counts() -> None:
    with stage("run") as terminal:
        terminal.cells = 2
        terminal.send("sr")
        terminal.until(lambda: b"\x1b[6n" in terminal.raw, "the question")
        terminal.shows("sort:share reversed")
        assert terminal.text().isascii()
        terminal.send("Q")
        assert terminal.ended() == 0
        assert "=====" in terminal.raw.rsplit(b"\x1b[?1049l", 1)[1].decode("ascii")


def test_capital_q_leaves_the_last_frame_in_the_scrollback() -> None:
    with stage("run") as terminal:
        terminal.shows("BACKENDS 4/5")
        terminal.send("Q")
        assert terminal.ended() == 0
        assert terminal.given_back()
        after = terminal.raw.rsplit(b"\x1b[?1049l", 1)[1].decode()
        assert "BACKENDS" in after
        assert "quit" not in after


@pytest.mark.parametrize(("scene", "status"), [("raise", 1), ("exit", 3)])
def test_the_terminal_is_given_back_when_the_block_ends_early(scene: str, status: int) -> None:
    with stage(scene) as terminal:
        terminal.shows("BACKENDS 4/5")
        terminal.send("q")
        assert terminal.ended() == status
        assert terminal.given_back()
        if scene == "raise":  # the traceback comes after the screen was left
            assert "the run failed" in terminal.raw.rsplit(b"\x1b[?1049l", 1)[1].decode()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_the_terminal_is_given_back_after_a_signal(number: signal.Signals) -> None:
    with stage("run") as terminal:
        terminal.shows("BACKENDS 4/5")
        terminal.kill(number)
        assert terminal.ended() == 128 + number
        assert terminal.given_back()


def test_the_third_signal_gives_the_terminal_back_and_ends_a_run_that_nothing_else_ends() -> None:
    with stage("stuck") as terminal:
        terminal.shows("BACKENDS 4/5")
        terminal.kill(signal.SIGINT)
        terminal.shows("the first")
        terminal.kill(signal.SIGINT)
        terminal.shows("the second")
        terminal.kill(signal.SIGINT)
        assert terminal.ended() == 130
        assert terminal.given_back()
        assert "killed" not in terminal.raw.decode()  # lbctl did it, not its watchdog


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_the_watchdog_gives_the_terminal_back_when_the_process_cannot(number: signal.Signals) -> None:
    with stage("run") as terminal:
        terminal.shows("BACKENDS 4/5")
        terminal.kill(number)
        assert terminal.ended() == -number
        terminal.until(terminal.given_back, "the terminal restored")
        terminal.until(lambda: b"lbctl was killed; terminal restored" in terminal.raw, "what happened")


def test_ctrl_z_pauses_and_gives_the_terminal_back_and_fg_returns_to_it() -> None:
    with stage("run") as terminal:
        terminal.shows("BACKENDS 4/5")
        terminal.suspend()
        taken = terminal.raw.count(b"\x1b[?1049h")
        terminal.kill(signal.SIGCONT)
        terminal.until(lambda: terminal.raw.count(b"\x1b[?1049h") == taken + 1, "the screen taken again")
        terminal.shows("PAUSED")
        terminal.send("q")
        assert terminal.ended() == 0
        assert terminal.given_back()
        assert json.loads(terminal.output()) == ["pause", "stop"]


def test_keys_act_on_the_run() -> None:
    with stage("run") as terminal:
        terminal.shows("BACKENDS 4/5")
        terminal.send("++-><pPjjd")
        terminal.send(" ")
        terminal.shows("PAUSED")
        terminal.send(" q")
        assert terminal.ended() == 0
        assert json.loads(terminal.output()) == [
            *("scale 1.25", "scale 1.25", "scale 0.8", "scale 2", "scale 0.5"),
            *("policy +1", "policy -1", "drain 10.0.0.13:50051", "pause", "resume", "stop"),
        ]


def test_pages_open_and_close_by_key() -> None:
    with stage("run") as terminal:
        terminal.shows("BACKENDS 4/5")
        terminal.send("?")
        terminal.shows("double or halve the load")
        terminal.send("e")
        terminal.shows("EVENTS 6")
        terminal.send("\x1b")
        terminal.shows("LATENCY all")
        terminal.send("h")
        terminal.until(lambda: "LATENCY" not in terminal.text(), "no histogram")
        terminal.send("\r")
        terminal.shows("LATENCY 10.0.0.11:50051")
        terminal.send("s")
        terminal.shows("sort:share")


def test_a_new_window_size_is_drawn_at_once() -> None:
    with stage("run") as terminal:
        terminal.shows("BACKENDS 4/5")
        terminal.resize(140, 45)
        terminal.kill(signal.SIGWINCH)
        terminal.shows("THROUGHPUT rps")
        terminal.resize(30, 5)
        terminal.kill(signal.SIGWINCH)
        terminal.until(lambda: terminal.screen.display[0].startswith("6,244/10k 62%"), "one line")


def test_standard_error_lands_among_the_events_and_is_repeated_afterwards() -> None:
    with stage("log") as terminal:
        terminal.shows("· E0000 from a C library")
        terminal.send("q")
        assert terminal.ended() == 0
        assert "E0000 from a C library" in terminal.raw.rsplit(b"\x1b[?1049l", 1)[1].decode()


def test_a_bug_in_drawing_ends_the_view_and_not_the_run() -> None:
    with stage("broken") as terminal:
        terminal.until(terminal.given_back, "the terminal given back")
        assert terminal.process.poll() is None
        terminal.kill(signal.SIGTERM)
        assert terminal.ended() == 143
        assert "a bug in drawing" in terminal.raw.decode()


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="asks Linux for the children of a process")
def test_the_watchdog_leaves_with_the_view() -> None:
    with stage("run") as terminal:
        terminal.shows("BACKENDS 4/5")
        pid = terminal.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        assert len(children) == 1
        terminal.send("q")
        assert terminal.ended() == 0
        assert not Path(f"/proc/{children[0]}").exists()


def test_keys_come_from_the_terminal_when_standard_input_is_something_else() -> None:
    with stage("run", stdin=subprocess.DEVNULL) as terminal:
        terminal.shows("BACKENDS 4/5")
        terminal.send(" ")
        terminal.shows("PAUSED")
        terminal.send("q")
        assert terminal.ended() == 0
        assert terminal.given_back()
        assert json.loads(terminal.output()) == ["pause", "stop"]


def test_the_watch_has_its_own_keys() -> None:
    with stage("watch") as terminal:
        terminal.shows("REGISTRY EVENTS")
        terminal.send("jj")
        terminal.until(lambda: "▸ ◐ 10.0.0.13" in terminal.text(), "the third instance selected")
        terminal.send("c?")
        terminal.shows("check health now")
        terminal.send("?q")
        assert terminal.ended() == 0
        assert terminal.given_back()
        assert json.loads(terminal.output()) == ["check", "stop"]
