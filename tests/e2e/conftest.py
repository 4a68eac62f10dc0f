"""A demo that stands for the whole session, for runs that leave it as it is."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import NamedTuple

import pytest


class Standing(NamedTuple):
    """Where a demo's parts are; the first backend has weight 5, the others 1."""

    etcd: str
    backends: tuple[str, ...]


@pytest.fixture(scope="session")
def demo() -> Iterator[Standing]:
    """One etcd and three backends of weights 5, 1, 1 that answer at once; nobody may change them."""
    with subprocess.Popen(
        [sys.executable, "-m", "lbctl", "demo", "--weights", "5,1,1", "--latency", "0ms"],
        env={**os.environ, "GRPC_VERBOSITY": "NONE"},
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
