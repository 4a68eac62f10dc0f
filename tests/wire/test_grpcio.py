"""The conformance suite through the second engine: it fails exactly what the list says, for the reasons it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.wire.grpcio_allow_list import ALLOWED, UNSTEADY

HERE = Path(__file__).parent
LOOKS = 3
_RESULT = re.compile(r"^(PASSED|FAILED|ERROR) tests/wire/(\S+::.*?\])(?: - .*)?$", re.MULTILINE)


def through_grpcio(*tests: str) -> dict[str, str]:
    """The outcomes of these tests, by their ids; of none named: every test that meets a server by way of ``door``."""
    environment = os.environ | {"LBCTL_TEST_CLIENT": "grpcio", "LBCTL_TEST_WAIT_S": "1", "GRPC_VERBOSITY": "NONE"}
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "--tb=no", "-m", "not slow", "-p", "no:cacheprovider"]
    run = subprocess.run(
        [*command, *([f"{HERE}/{test}" for test in tests] or _files_behind_the_door())],
        cwd=HERE.parents[1],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert run.returncode in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED), run.stdout[-2000:]
    return {test: outcome for outcome, test in _RESULT.findall(run.stdout) if "[grpcio" in test}


def _files_behind_the_door() -> list[str]:
    files = (path for path in sorted(HERE.glob("test_*.py")) if str(path) != __file__)
    return [str(path) for path in files if 'usefixtures("door")' in path.read_text()]


def differing(outcomes: Mapping[str, str]) -> set[str]:
    """Tests that end otherwise than the list says."""
    return {test for test, outcome in outcomes.items() if (outcome != "PASSED") != (test in ALLOWED)}


def is_unsteady(test: str) -> bool:
    return test in UNSTEADY or test.partition("[")[0] in UNSTEADY


@pytest.mark.slow
def test_grpcio_fails_what_the_list_says_and_nothing_else() -> None:
    """What differs is looked at again, alone: C-core's threads race the scripts, lbctl has no say in who wins."""
    outcomes = {test: outcome for test, outcome in through_grpcio().items() if not is_unsteady(test)}
    assert len(outcomes) > 250
    assert sorted(set(ALLOWED) - set(outcomes)) == [], "these are on the list and are no more"
    different = differing(outcomes)
    for _ in range(LOOKS):
        different = different and differing(through_grpcio(*sorted(different)))
    assert sorted(different) == [], f"these ended otherwise than the list says, {LOOKS + 1} times of {LOOKS + 1}"
