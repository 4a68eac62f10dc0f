"""What files of descriptors offer to a line that is being typed; a file that cannot be used offers nothing."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lbctl.rpc.schemas.described_files import DescribedFiles


def methods_in(paths: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """The methods that protosets describe: full name, and which sides stream."""
    from lbctl.rpc.schemas.lookup import kind

    source = _read(paths)
    services = [] if source is None else [(file, each) for file in source.files.values() for each in file.service]
    return tuple(
        (f"{file.package}.{service.name}/{method.name}".removeprefix("."), kind(method))
        for file, service in services
        for method in service.method
    )


def symbols_in(paths: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """All that protosets define, and what each is."""
    from lbctl.rpc.schemas.offers import whole

    source = _read(paths)
    return () if source is None else tuple(whole(source.files))


def _read(paths: Iterable[str]) -> DescribedFiles | None:
    from lbctl.errors import LbctlError
    from lbctl.rpc.schemas.described_files import DescribedFiles
    from lbctl.rpc.schemas.protoset import read_protoset

    with suppress(LbctlError):
        found = [Path(os.path.expandvars(path)).expanduser() for path in paths]
        # A pipe would be waited for.
        return DescribedFiles([(str(path), read_protoset(path)) for path in found if path.is_file()])
    return None
