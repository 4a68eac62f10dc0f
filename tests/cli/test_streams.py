"""What goes to standard output and what to standard error, whatever the environment says about terminals."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from lbctl.view.caps import Streams, Wishes, decide
from lbctl.view.theme import PLAIN
from tests.cli.conftest import ECHO, Keys, Lbctl

VARIABLES = {
    "FORCE_COLOR": ("", "1"),
    "NO_COLOR": ("", "1"),
    "CI": ("", "true"),
    "TERM": ("xterm-256color", "dumb"),
    "GITHUB_ACTIONS": ("", "true"),
}
ENVIRONMENTS = [dict(zip(VARIABLES, values, strict=True)) for values in product(*VARIABLES.values())]
PIPED = Streams(True, False, True, True, "utf-8", "utf-8", None, True)


def test_nothing_forces_colour_on_results_in_a_pipe_but_the_option() -> None:
    for environment in ENVIRONMENTS:
        assert decide(environment, PIPED).out_style == PLAIN, environment
        assert decide(environment, PIPED, Wishes(colour="always")).out_style != PLAIN


@pytest.mark.parametrize("line", ["--help", "ls -h", "policies", "report none.json"])
def test_what_is_piped_has_no_escape_sequences(line: str, lbctl: Lbctl, monkeypatch: pytest.MonkeyPatch) -> None:
    said = set()
    for environment in ENVIRONMENTS:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        said.add(lbctl(*line.split())[:2])
    assert all("\x1b" not in out for _, out in said)
    # The environment changes nothing about a result: ASCII instead of other characters is all that TERM=dumb may do.
    assert len(said) <= 2


@pytest.mark.usefixtures("at")
def test_a_listing_in_a_pipe_is_the_same_everywhere(keys: Keys, lbctl: Lbctl, monkeypatch: pytest.MonkeyPatch) -> None:
    keys(ECHO)
    said = set()
    for environment in ENVIRONMENTS[::7]:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        said.add(lbctl("ls", "echo", "-o", "csv", "--no-check"))
        assert "\x1b" not in lbctl("ls", "echo", "--no-check").out
    assert len(said) == 1


@pytest.mark.e2e
def test_streams_that_are_closed_are_no_bug() -> None:
    """As with ``>&-`` in a shell: nothing that lbctl opens may take their place."""
    root = Path(__file__).parents[2]
    code = (
        "import os, sys; os.close(0); os.close(1); "
        "os.execv(sys.executable, [sys.executable, '-m', 'lbctl', 'policies', 'p2'])"
    )
    environ = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run([sys.executable, "-c", code], stderr=subprocess.PIPE, env=environ, check=False)
    assert (done.returncode, done.stderr) == (4, b"error: there is no policy 'p2'\nhint: did you mean p2c?\n")
