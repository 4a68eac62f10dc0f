"""The conformance suite through the second engine: it fails exactly what the list says, for the reasons it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.wire.grpcio_allow_list import ALLOWED, UNSTEADY

HERE = Path(__file__).parent
_RESULT = re.compile(r"^(PASSED|FAILED|ERROR) tests/wire/(\S+::.*?\])(?: - .*)?$", re.MULTILINE)


def through_grpcio() -> dict[str, str]:
    """Every test that meets a server by way of ``door``, and its outcome."""
    environment = os.environ | {"LBCTL_TEST_CLIENT": "grpcio", "LBCTL_TEST_WAIT_S": "1", "GRPC_VERBOSITY": "NONE"}
    files = [str(path) for path in sorted(HERE.glob("test_*.py")) if 'usefixtures("door")' in path.read_text()]
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "--tb=no", "-m", "not slow", "-p", "no:cacheprovider"]
    run = subprocess.run(
        [*command, *(path for path in files if path != __file__)],
        cwd=HERE.parents[1],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert run.returncode == pytest.ExitCode.TESTS_FAILED, run.stdout[-2000:]
    return {test: outcome for outcome, test in _RESULT.findall(run.stdout) if "[grpcio" in test}


def is_unsteady(test: str) -> bool:
    return test in UNSTEADY or test.partition("[")[0] in UNSTEADY


@pytest.mark.slow
def test_grpcio_fails_what_the_list_says_and_nothing_else() -> None:
    outcomes = {test: outcome for test, outcome in through_grpcio().items() if not is_unsteady(test)}
    failed = {test for test, outcome in outcomes.items() if outcome != "PASSED"}
    assert len(outcomes) > 250
    assert sorted(failed - set(ALLOWED)) == [], "these are not on the list"
    assert sorted(set(ALLOWED) - failed) == [], "these are on the list, and pass or are no more"
