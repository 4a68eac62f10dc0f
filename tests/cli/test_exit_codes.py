"""Every exit status has a command line, or a failure, that ends with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest

from lbctl.cli.failures import guarded
from lbctl.errors import ExitCode
from tests.cli.conftest import ECHO, Keys, Lbctl

NOWHERE: Final = "127.0.0.1:1"
LINES: Final[dict[ExitCode, str]] = {
    ExitCode.OK: "ls echo --no-check",
    ExitCode.CHECK_FAILED: f"health --backends {NOWHERE}",
    ExitCode.USAGE: "ls --no-such-option",
    ExitCode.REGISTRY: f"ls --endpoints {NOWHERE} --dial-timeout 100ms",
    ExitCode.NOT_FOUND: "ls nobody",
    ExitCode.CANNOT_CALL: f"hammer --backends {NOWHERE} -n 1 --connect-timeout 100ms",
    ExitCode.COMMAND_NOT_FOUND: "register echo 127.0.0.1:9 -y -- no-such-command-anywhere",
}


def _raising(error: BaseException) -> Callable[[], object]:
    def call() -> object:
        raise error

    return call


FAILURES: Final[dict[ExitCode, BaseException]] = {
    ExitCode.INTERNAL: ZeroDivisionError(),
    ExitCode.INTERRUPTED: KeyboardInterrupt(),
    ExitCode.BROKEN_PIPE: BrokenPipeError(),
}
# Processes are ended by them: test_endings.py, tests/e2e/test_hammer_signals.py
SIGNALLED: Final = {ExitCode.HANGUP, ExitCode.TERMINATED}


def test_every_status_is_shown_here() -> None:
    assert set(LINES) | set(FAILURES) | SIGNALLED == set(ExitCode)


@pytest.mark.usefixtures("at")
@pytest.mark.parametrize("status", LINES, ids=str)
def test_a_command_line_ends_with_its_status(status: ExitCode, keys: Keys, lbctl: Lbctl) -> None:
    keys(ECHO)
    said = lbctl(*LINES[status].split())
    assert said.status == status, said.err
    # What went wrong, and what to do; a table that shows it says it itself.
    assert (said.err.startswith("error: ") and "\nhint: " in said.err) == (status > 1)


@pytest.mark.parametrize("status", FAILURES, ids=str)
def test_a_failure_ends_with_its_status(status: ExitCode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LBCTL_DEBUG", "1")
    monkeypatch.setattr("lbctl.cli.failures._discard_stdout", lambda: None)  # it would be that of the tests
    assert guarded(_raising(FAILURES[status])) == status
