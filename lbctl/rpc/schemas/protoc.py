"""Descriptors of protobuf sources, by the protoc that comes with grpcio-tools, which only this needs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

from lbctl.errors import UsageError

TIMEOUT_S: Final = 60.0
_MOST_LINES: Final = 5
_SEPARATOR: Final = ";" if os.name == "nt" else ":"


def compile_protos(
    sources: Sequence[Path], folders: Sequence[Path], *, timeout_s: float = TIMEOUT_S
) -> list[FileDescriptorProto]:
    """Compile sources, and all that they import, comments included.

    A source that is not where it was named is looked for in the ``folders``, which imports are looked for in; without
    any those are the current folder and the sources' own. Raises UsageError with what protoc says.
    """
    if find_spec("grpc_tools") is None:
        raise UsageError(
            "--proto needs protoc, which is not installed with lbctl",
            "pip install 'lbctl[proto]', or give descriptors: --protoset FILE",
        )
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(f"--import-path: {folder} is {'no folder' if folder.exists() else 'not there'}")
    found = [_located(source, folders) for source in sources]
    roots = [_root(folder) for folder in (folders or _default_folders(found))]
    with TemporaryDirectory(prefix="lbctl-protoc-") as scratch:
        return _run(found, roots, Path(scratch) / "descriptors", timeout_s)


def _located(source: Path, folders: Sequence[Path]) -> Path:
    """Where a source is, as an absolute path."""
    candidates = [source, *(folder / source for folder in folders)]
    for path in candidates:
        if path.is_file():
            return path.absolute()
    if source.is_dir():
        raise UsageError(f"--proto: {source} is a folder", "name the files in it, and give it as --import-path")
    where = f", nor in {' or '.join(map(str, folders))}" if folders and not source.is_absolute() else ""
    raise UsageError(f"--proto: there is no file {source}{where}")


def _default_folders(sources: Sequence[Path]) -> list[Path]:
    """The current folder, which most names in a project begin at, then those of the sources."""
    here = Path.cwd()
    return list(dict.fromkeys([here, *(source.parent for source in sources)]))


def _root(folder: Path) -> str:
    text = os.path.normpath(folder.absolute())
    if _SEPARATOR in text:
        raise UsageError(f"--import-path: protoc takes no {_SEPARATOR!r} in the name of a folder: {text}")
    return text


def _run(sources: Sequence[Path], roots: Sequence[str], result: Path, timeout_s: float) -> list[FileDescriptorProto]:
    paths = [os.path.normpath(source) for source in sources]
    # A process of its own: protoc writes what it has to say straight to standard error.
    command = [sys.executable, "-m", "grpc_tools.protoc", *(f"-I{root}" for root in roots)]
    command += ["--include_imports", "--include_source_info", f"--descriptor_set_out={result}", *paths]
    try:
        done = subprocess.run(command, capture_output=True, timeout=timeout_s, check=False, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        raise UsageError(f"--proto: protoc took longer than {timeout_s:g}s") from None
    said = done.stderr.decode(errors="replace").replace(f"{Path.cwd()}{os.sep}", "")  # as they were named
    if done.returncode != 0:
        raise UsageError(_told(said, done.returncode), _advice(said))
    return list(FileDescriptorSet.FromString(result.read_bytes()).file)


def _told(said: str, status: int) -> str:
    """What protoc said, its first lines: they name file, line and column."""
    lines = [line.strip() for line in said.splitlines() if line.strip() and "warning:" not in line]
    if not lines:
        return f"--proto: protoc failed with status {status}"
    more = len(lines) - _MOST_LINES
    below = [*lines[:_MOST_LINES], *([f"and {more} more"] if more > 0 else [])]
    return f"--proto: protoc: {below[0]}" if len(below) == 1 else "\n".join(("--proto: protoc:", *below))


def _advice(said: str) -> str:
    if "File not found" in said:
        return "say where imports begin: --import-path DIR"
    if "does not reside within any path" in said:
        return "give a folder that the file is in: --import-path DIR"
    if "is already defined in file" in said:
        return "a file is imported under two names: say where imports begin, --import-path DIR"
    return ""
