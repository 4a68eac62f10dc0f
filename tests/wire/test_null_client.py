"""A client that sends one request and then ignores everything must fail every test that meets a server."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
NOT_ABOUT_A_PEER = (
    "test_null_client.py",
    "test_mutants.py",
    "test_properties.py",
    "test_whole_reply.py",
    "test_windows.py",
    "test_leaving.py",
)


@pytest.mark.slow
def test_the_null_client_passes_nothing() -> None:
    environment = os.environ | {"LBCTL_TEST_CLIENT": "null", "LBCTL_TEST_WAIT_S": "0.05"}
    command = [sys.executable, "-m", "pytest", "-q", "-rp", "--tb=no", "-p", "no:cacheprovider"]
    files = [str(path) for path in sorted(HERE.glob("test_*.py")) if path.name not in NOT_ABOUT_A_PEER]
    run = subprocess.run(
        [*command, *files],
        cwd=HERE.parents[1],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    passed = [line for line in run.stdout.splitlines() if line.startswith("PASSED")]
    assert passed == []
    assert run.returncode == pytest.ExitCode.TESTS_FAILED, run.stdout[-2000:]
