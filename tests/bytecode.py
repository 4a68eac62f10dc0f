"""A place for the bytecode of the processes that tests start, where they were told to leave none beside the sources.

Without bytecode each of them compiles lbctl anew, which takes longer than most of them run. The place is in pytest's
cache, which outlives sessions that are killed, and serves the next one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest

_SHARED = "TESTS_BYTECODE"  # where it is, for the workers of a session


def pytest_configure(config: pytest.Config) -> None:
    """Make the place, before workers start."""
    cache = getattr(config, "cache", None)
    if sys.dont_write_bytecode and cache is not None:
        os.environ.setdefault(_SHARED, str(cache.mkdir("bytecode")))


@pytest.fixture(scope="session", autouse=True)
def bytecode() -> Iterator[None]:
    """Send the bytecode of processes that start from now on there; workers themselves find most of theirs elsewhere."""
    with pytest.MonkeyPatch.context() as patch:
        if _SHARED in os.environ:
            patch.setenv("PYTHONPYCACHEPREFIX", os.environ[_SHARED])
            patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        yield
