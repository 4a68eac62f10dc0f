"""Request messages from the command line, files and standard input."""

from __future__ import annotations

import sys
from pathlib import Path

from lbctl.errors import UsageError


def read_data(spec: str | None) -> tuple[str | None, str]:
    """The JSON text of ``-d`` and what to call it in errors: as given, from ``@FILE``, or from standard input."""
    if spec is None or not spec.startswith("@"):
        return spec, "request"
    name = "standard input" if spec in ("@", "@-") else spec[1:]
    try:
        # Bytes: how Python decodes its own streams depends on the locale, and JSON is UTF-8.
        raw = Path(name).read_bytes() if name == spec[1:] else _standard_input()
        return raw.decode("utf-8-sig"), name
    except OSError as error:
        raise UsageError(f"-d: cannot read {name}: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"-d: {name} is not UTF-8 text (byte {error.start})") from None


def _standard_input() -> bytes:
    if sys.stdin is None:
        raise UsageError("-d: standard input is closed", "give the message itself, or @FILE")
    return sys.stdin.buffer.read()


def read_binary(path: Path | None, *, with_data: bool) -> bytes | None:
    """The bytes of ``--binary-file``, which may be none at all."""
    if path is None:
        return None
    if with_data:
        raise UsageError("-d and --binary-file are two requests", "give one of them")
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"--binary-file: cannot read {path}: {(error.strerror or str(error)).lower()}") from None
