"""What files of descriptors offer to a line that is being typed; a file that cannot be used offers nothing."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lbctl import __version__
from lbctl.cli.completion_cache import Cache
from lbctl.clock import SystemClock
from lbctl.errors import LbctlError

if TYPE_CHECKING:
    from lbctl.cli.completion_values import Typed
    from lbctl.rpc.schemas.described_files import DescribedFiles


class Given(NamedTuple):
    """The files that a line names: protosets, and sources with the folders that these are looked for in."""

    protosets: tuple[str, ...]
    sources: tuple[str, ...]
    folders: tuple[str, ...]


def given(typed: Typed) -> Given | None:
    """The files that are named; None where it is not files that describe."""
    named = [
        tuple(each for each in typed.options.get(name, ()) if isinstance(each, str))
        for name in ("protoset", "proto", "import_path")
    ]
    return Given(*named) if named[0] or named[1] else None


def told_by(files: Given, what: str, timeout_s: float) -> tuple[tuple[str, str], ...]:
    """The methods that files describe, full name and which sides stream; or all ``symbols``, and what each is.

    What protoc makes of sources is kept for the next press of Tab; it is given up when it takes longer.
    """
    if not files.sources:
        return _told(files, what, timeout_s)
    cache = Cache(os.environ, SystemClock.wall())
    question = [what, __version__, os.getcwd(), *files, *map(_state, files.sources)]
    kept = cache.get(question)
    if kept is None:
        kept = _told(files, what, timeout_s)
        if kept:
            cache.put(question, kept)
    return tuple((name, kind) for name, kind in kept)


def _state(path: str) -> tuple[int, int]:
    """What changes when a file does."""
    try:
        known = _path(path).stat()
    except OSError:
        return 0, 0
    return known.st_mtime_ns, known.st_size


def _told(files: Given, what: str, timeout_s: float) -> tuple[tuple[str, str], ...]:
    from lbctl.rpc.schemas.lookup import kind
    from lbctl.rpc.schemas.offers import whole

    source = _read(files, timeout_s)
    if source is None:
        return ()
    if what == "symbols":
        return tuple(whole(source.files))
    services = [(file, each) for file in source.files.values() for each in file.service]
    return tuple(
        (f"{file.package}.{service.name}/{method.name}".removeprefix("."), kind(method))
        for file, service in services
        for method in service.method
    )


def _read(files: Given, timeout_s: float) -> DescribedFiles | None:
    from lbctl.rpc.schemas.described_files import DescribedFiles
    from lbctl.rpc.schemas.protoset import read_protoset

    with suppress(LbctlError):
        found = map(_path, files.protosets)
        # A pipe would be waited for.
        written = [(str(path), read_protoset(path)) for path in found if path.is_file()]
        if files.sources:
            from lbctl.rpc.schemas.protoc import compile_protos

            folders = [_path(each) for each in files.folders]
            made = compile_protos([_path(each) for each in files.sources], folders, timeout_s=timeout_s)
            written.append(("--proto", made))
        return DescribedFiles(written)
    return None


def _path(text: str) -> Path:
    return Path(os.path.expandvars(text)).expanduser()
