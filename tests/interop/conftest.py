"""The services of these tests in processes of their own, by each implementation that is here."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from lbctl.model import Endpoint
from tests.interop import foreign
from tests.interop.foreign import built, described, serving


@pytest.fixture(scope="session")
def go_binary(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Build the Go server; skips where that cannot be done."""
    return str(built(tmp_path_factory, "go", foreign.go) / "server")


@pytest.fixture(scope="session")
def zoo_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Give a file with the descriptors of zoo.proto."""
    return described(tmp_path_factory.mktemp("zoo") / "zoo.binpb")


@pytest.fixture(scope="session")
def go_command(go_binary: str, zoo_file: str) -> list[str]:
    """Tell how the server on grpc-go is started."""
    return [go_binary, zoo_file]


@pytest.fixture(scope="session")
def node_command(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Tell how the server on @grpc/grpc-js is started; skips where its packages cannot be had."""
    packages = built(tmp_path_factory, "node", foreign.node)
    return ["node", str(foreign.HERE / "nodeserver" / "server.js"), str(packages)]


@pytest.fixture(scope="session")
def java_command(tmp_path_factory: pytest.TempPathFactory, zoo_file: str) -> list[str]:
    """Tell how the server on grpc-java is started; skips where its packages cannot be had."""
    packages = built(tmp_path_factory, "java", foreign.java) / "lib" / "*"
    source = foreign.HERE / "javaserver" / "ZooServer.java"
    # It lives for a second: the better of Java's two compilers would not pay.
    return ["java", "-XX:TieredStopAtLevel=1", "-cp", str(packages), str(source), zoo_file]


@pytest.fixture(scope="session")
def rust_command(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Tell how the server on tonic is started; skips where nobody asks for it, or it cannot be built."""
    return [str(built(tmp_path_factory, "rust", foreign.rust) / "server")]


@pytest.fixture(scope="session", params=["go", "node", "java", "rust"])
def zoo(request: pytest.FixtureRequest) -> Iterator[Endpoint]:
    """Give the address of a server of zoo.proto, by each implementation in turn."""
    with serving(request.getfixturevalue(f"{request.param}_command")) as address:
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
