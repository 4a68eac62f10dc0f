"""Demos that stand for longer than one test: that of the session, for runs that leave it as it is."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import pytest

from tests.e2e.runs import ROOT


class Standing(NamedTuple):
    """Where a demo's parts are, the backends in the order of its lists."""

    etcd: str
    backends: tuple[str, ...]


@contextmanager
def standing(*options: str) -> Iterator[Standing]:
    """A demo with these options, for as long as the block lasts."""
    with subprocess.Popen(
        [sys.executable, "-m", "lbctl", "demo", *options],
        env={**os.environ, "GRPC_VERBOSITY": "NONE", "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        announced = ""
        for line in process.stdout:
            announced += line
            if "Ctrl-C" in line:
                break
        try:
            (etcd,) = re.findall(r"LBCTL_ENDPOINTS=(\S+)", announced)
            yield Standing(etcd, tuple(re.findall(r"^  (127\.0\.0\.1:\d+)", announced, re.MULTILINE)))
        finally:
            process.terminate()


@pytest.fixture(scope="session")
def demo() -> Iterator[Standing]:
    """One etcd and three backends of weights 5, 1, 1 that answer at once; nobody may change them."""
    with standing("--weights", "5,1,1", "--latency", "0ms") as found:
        yield found
