"""Request messages from the command line, files and standard input."""

from __future__ import annotations

import sys
from pathlib import Path

from lbctl.cli.request_data_options import DataFlags
from lbctl.cli.request_options import RequestFlags
from lbctl.errors import UsageError
from lbctl.load.requests.reading import DataFile


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


def opened(name: str, option: str) -> DataFile:
    """A file of requests, or standard input under the name of ``-``; raises UsageError."""
    if name not in ("-", "@", "@-"):
        return DataFile(name.removeprefix("@"), option)
    if sys.stdin is None:
        raise UsageError(f"{option}: standard input is closed", "give a file")
    return DataFile("standard input", option, sys.stdin.buffer)


def refuse_two(request: RequestFlags, flags: DataFlags) -> None:
    """Raise UsageError where more than one source of requests was given, or none for what is said of them."""
    sources = {
        "-d": request.data is not None,
        "-D": flags.data_file is not None,
        "--binary-file": request.binary_file is not None,
        "--mix": flags.mix is not None,
    }
    given = [option for option, is_given in sources.items() if is_given]
    if len(given) > 1:
        raise UsageError(f"{given[0]} and {given[1]} are two requests", "give one of them")
    if flags.data_format is not None and not sources["-D"]:
        raise UsageError("--data-format is for a file: -D FILE")
    if flags.binary_series and not sources["--binary-file"]:
        raise UsageError("--binary-series is for a file: --binary-file FILE")
    if flags.data_order is not None and not given:
        raise UsageError("--data-order is for several requests", "give them: -D FILE, or -d '[{...}, {...}]'")
    if flags.metadata_from and not (sources["-D"] or sources["-d"]):
        raise UsageError("--metadata-from takes from requests, and none are given", "give them: -D FILE")


def _standard_input() -> bytes:
    if sys.stdin is None:
        raise UsageError("-d: standard input is closed", "give the message itself, or @FILE")
    return sys.stdin.buffer.read()


def read_binary(path: Path | None) -> bytes | None:
    """The bytes of ``--binary-file``, which may be none at all."""
    if path is None:
        return None
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"--binary-file: cannot read {path}: {(error.strerror or str(error)).lower()}") from None
