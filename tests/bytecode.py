"""A place for the bytecode of the processes that tests start, where they were told to leave none beside the sources.

Without bytecode each of them compiles lbctl anew, which takes longer than most of them run.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator

import pytest

_SHARED = "TESTS_BYTECODE"  # where it is, so that the workers of a session have one


def pytest_configure() -> None:
    """Make the place, before workers start."""
    if sys.dont_write_bytecode and _SHARED not in os.environ:
        os.environ[_SHARED] = tempfile.mkdtemp(prefix="lbctl-tests-")


def pytest_unconfigure() -> None:
    """End it, when the workers have."""
    if "PYTEST_XDIST_WORKER" not in os.environ and _SHARED in os.environ:
        shutil.rmtree(os.environ.pop(_SHARED), ignore_errors=True)


@pytest.fixture(scope="session", autouse=True)
def bytecode() -> Iterator[None]:
    """Send the bytecode of processes that start from now on there; workers themselves find most of theirs elsewhere."""
    with pytest.MonkeyPatch.context() as patch:
        if _SHARED in os.environ:
            patch.setenv("PYTHONPYCACHEPREFIX", os.environ[_SHARED])
            patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        yield
