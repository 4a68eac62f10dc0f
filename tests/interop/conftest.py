"""The interoperability service in a process of its own, by each implementation that is here."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lbctl.model import Endpoint

ROOT = Path(__file__).parents[2]
GO_SERVER = Path(__file__).with_name("goserver")
NODE_SERVER = Path(__file__).with_name("nodeserver")
BUILD_S = 300.0
INSTALL_S = 120.0


@contextmanager
def serving(command: list[str]) -> Iterator[Endpoint]:
    """Run a server that prints its port, and ends when its input does."""
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield Endpoint("127.0.0.1", int(process.stdout.readline()))
        finally:
            process.stdin.close()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


@pytest.fixture(scope="session")
def go_binary(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Build the Go server; skips where that cannot be done."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("no Go compiler here")
    binary = tmp_path_factory.mktemp("go") / "interop"
    built = subprocess.run(
        [go, "build", "-o", str(binary), "."],
        cwd=GO_SERVER,
        capture_output=True,
        text=True,
        timeout=BUILD_S,
        check=False,
    )
    if built.returncode:
        pytest.skip(f"the Go server cannot be built here: {built.stderr[-300:]}")
    return str(binary)


@pytest.fixture(scope="session")
def node_endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """Give the address of the server on @grpc/grpc-js; skips where it cannot be installed."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("no Node.js here")
    packages = tmp_path_factory.mktemp("node")
    shutil.copy(NODE_SERVER / "package.json", packages)
    try:
        done = subprocess.run(
            [npm, "install", "--no-audit", "--no-fund"],
            cwd=packages,
            capture_output=True,
            text=True,
            timeout=INSTALL_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        pytest.skip("the packages of Node.js cannot be had here")
    if done.returncode:
        pytest.skip(f"the packages of Node.js cannot be had here: {done.stderr[-300:]}")
    with serving([node, str(NODE_SERVER / "server.js"), str(packages)]) as address:
        yield address


@pytest.fixture(scope="session")
def go_endpoint(go_binary: str) -> Iterator[Endpoint]:
    """Give the address of the server on grpc-go."""
    with serving([go_binary]) as address:
        yield address


@pytest.fixture(scope="session", params=["python", "go"])
def endpoint(request: pytest.FixtureRequest) -> Iterator[Endpoint]:
    """Give the address of a running server."""
    if request.param == "go":
        command = [request.getfixturevalue("go_binary")]
    else:
        command = [sys.executable, "-m", "tests.interop.python_server"]
    with serving(command) as address:
        yield address
