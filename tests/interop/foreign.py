"""Servers on other implementations of gRPC: how each is built, out of the tree and once for a session, and started."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet

from lbctl.model import Endpoint
from lbctl.rpc.schemas.protoc import compile_protos

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[1]
ZOO: Final = HERE / "zoo.proto"
BUILD_S: Final = 300.0
INSTALL_S: Final = 150.0
RUST: Final = "LBCTL_TEST_RUST"  # asks for the server on tonic

# Makes what a server needs in a folder, and returns why that cannot be done here, or nothing.
Build = Callable[[Path], str]


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


def built(factory: pytest.TempPathFactory, name: str, build: Build) -> Path:
    """Return the folder with what was built in it; one of a session's workers builds, and the others wait for it.

    Skips the test where it cannot be built.
    """
    shared = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    folder, told = shared / f"{name}server", shared / f"{name}server.told"
    with (shared / f"{name}server.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not told.exists():
            folder.mkdir(exist_ok=True)
            told.write_text(build(folder), encoding="utf-8")
    if obstacle := told.read_text(encoding="utf-8"):
        pytest.skip(obstacle)
    return folder


def go(folder: Path) -> str:
    """Build the server on grpc-go, ``server``."""
    compiler = shutil.which("go")
    if compiler is None:
        return "no Go compiler here"
    return _run(
        "the Go server cannot be built", [compiler, "build", "-o", str(folder / "server"), "."], HERE / "goserver"
    )


def node(folder: Path) -> str:
    """Install the packages of the server on @grpc/grpc-js."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        return "no Node.js here"
    shutil.copy(HERE / "nodeserver" / "package.json", folder)
    return _run(
        "the packages of Node.js cannot be had",
        [npm, "install", "--no-audit", "--no-fund"],
        folder,
        timeout_s=INSTALL_S,
    )


def java(folder: Path) -> str:
    """Fetch what the server on grpc-java needs into ``lib``; it is run from its source."""
    maven = shutil.which("mvn")
    if maven is None or shutil.which("javac") is None:
        return "no JDK with Maven here"
    shutil.copy(HERE / "javaserver" / "pom.xml", folder)
    command = [maven, "-q", "-B", "dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory=lib"]
    return _run("the packages of Java cannot be had", command, folder, timeout_s=INSTALL_S)


def rust(folder: Path) -> str:
    """Build the server on tonic, ``server``; that takes minutes of CPU, so only where it is asked for."""
    if RUST not in os.environ:
        return f"the server on tonic takes minutes of CPU to build: {RUST}=1 asks for it"
    cargo = shutil.which("cargo")
    if cargo is None:
        return "no Rust compiler here"
    shutil.copytree(HERE / "rustserver", folder, dirs_exist_ok=True)
    described(folder / "zoo.binpb")
    variables = {**os.environ, "ZOO": str(folder / "zoo.binpb"), "CARGO_TARGET_DIR": str(folder / "target")}
    obstacle = _run("the Rust server cannot be built", [cargo, "build", "--quiet"], folder, variables)
    if not obstacle:
        shutil.move(folder / "target" / "debug" / "interop", folder / "server")
    shutil.rmtree(folder / "target", ignore_errors=True)  # pytest keeps the folders of some sessions
    return obstacle


def described(path: Path) -> str:
    """Write zoo.proto and what it imports as a descriptor set; return where it is."""
    path.write_bytes(FileDescriptorSet(file=compile_protos([ZOO], [HERE])).SerializeToString())
    return str(path)


def _run(
    failure: str,
    command: list[str],
    folder: Path,
    environment: Mapping[str, str] | None = None,
    timeout_s: float = BUILD_S,
) -> str:
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=timeout_s, check=False
        )
    except subprocess.TimeoutExpired:
        return f"{failure} here: not in {timeout_s:.0f} s"
    said = f"{done.stderr}{done.stdout}".strip()  # Maven tells its errors on standard output, and all others do not
    return f"{failure} here: {said[:300]}" if done.returncode else ""
