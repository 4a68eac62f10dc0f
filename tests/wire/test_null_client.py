"""A client that sends one request and then ignores everything must fail every test that meets a server."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

HERE = Path(__file__).parent

# What such a client has no part in, and so would pass.
OTHERS = {
    "test_null_client.py": "runs the others",
    "test_named.py": "reads the catalogue of tests",
    "test_mutants.py": "chooses its clients itself: broken ones",
    "test_differential.py": "chooses its clients itself: two and compares them",
    "test_grpcio.py": "runs the others",
    "test_model.py": "a session, without a network",
    "test_fuzz.py": "a session, without a network",
    "test_posting.py": "a session, without a network",
    "test_properties.py": "a session, without a network",
    "test_whole_reply.py": "a session, without a network",
    "test_windows.py": "a session, without a network",
    "test_end_of_a_call.py": "a session, without a network",
    "test_streaming.py": "a session, without a network",
    "test_limits.py": "a session, without a network",
    "test_hpack_corpus.py": "header blocks alone",
    "test_header_block.py": "header blocks alone",
    "test_soak.py": "chooses its client itself",
    "test_leaving.py": "how a subchannel is left by its user",
}

# And what it passes among those that meet a server.
PASSES = {
    "test_uvloop_reaches_the_same_places": "makes its client itself, on another event loop",
    "test_failed_attempts_leave_no_descriptor_open": "dials without a client",
}


def meets_a_server(path: Path) -> bool:
    """Whether the tests of a file run through the doors, one of which the null client stands in for."""
    marks = getattr(import_module(f"tests.wire.{path.stem}"), "pytestmark", [])
    marks = marks if isinstance(marks, list) else [marks]
    return any(mark.name == "usefixtures" and "door" in mark.args for mark in marks)


def test_every_other_file_is_listed_with_the_reason() -> None:
    assert {path.name for path in HERE.glob("test_*.py") if not meets_a_server(path)} == set(OTHERS)


@pytest.mark.slow
def test_the_null_client_passes_nothing_else() -> None:
    environment = os.environ | {"LBCTL_TEST_CLIENT": "null", "LBCTL_TEST_WAIT_S": "0.05"}
    command = [sys.executable, "-m", "pytest", "-q", "-rp", "--tb=no", "-p", "no:cacheprovider"]
    files = [str(path) for path in sorted(HERE.glob("test_*.py")) if meets_a_server(path)]
    run = subprocess.run(
        [*command, *files],
        cwd=HERE.parents[1],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    lines = [line for line in run.stdout.splitlines() if line.startswith("PASSED")]
    assert {line.partition("::")[2].partition("[")[0] for line in lines} == set(PASSES)
    assert run.returncode == pytest.ExitCode.TESTS_FAILED, run.stdout[-2000:]
