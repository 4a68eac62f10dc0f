"""Names of types as short as protobuf's rules of scopes allow where they stand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lbctl.rpc.schemas.symbols import Kind, index

if TYPE_CHECKING:
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

# What a name can begin with: the others are in something and are nothing to begin with.
_BEGINNINGS = frozenset({Kind.MESSAGE, Kind.ENUM, Kind.SERVICE})


class Names:
    """What is defined in some files, so that it is known which short name would mean something else."""

    def __init__(self, files: Mapping[str, FileDescriptorProto]) -> None:
        known = index(files)
        self._defined = {name for name, symbol in known.items() if symbol.kind in _BEGINNINGS}
        for file in files.values():
            parts = file.package.split(".")
            self._defined.update(".".join(parts[:end]) for end in range(1, len(parts) + 1))

    def short(self, full: str, scope: str) -> str:
        """Return the shortest name that means ``full`` (a leading dot may be there) inside a scope."""
        name = full.removeprefix(".")
        parts = name.split(".")
        for begin in range(len(parts) - 1, -1, -1):
            candidate = ".".join(parts[begin:])
            if self._means(candidate, scope) == name:
                return candidate
        return f".{name}"

    def _means(self, candidate: str, scope: str) -> str:
        """What a name means inside a scope: it is looked for from the inside out, by its first part."""
        first = candidate.partition(".")[0]
        while scope:
            if f"{scope}.{first}" in self._defined:
                return f"{scope}.{candidate}"
            scope = scope.rpartition(".")[0]
        return candidate
