"""A source of descriptors that was written down before: the files of a protoset, or those that protoc made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal

from google.protobuf.descriptor_pb2 import FileDescriptorProto

from lbctl.errors import UsageError
from lbctl.rpc.schemas.schema import extends, find_file, find_service, missing_imports, well_known

if TYPE_CHECKING:
    from google.protobuf.descriptor_pb2 import MethodDescriptorProto

# Where files came from, as the user said it, and what they are.
Written = tuple[str, Sequence[FileDescriptorProto]]


class DescribedFiles:
    """Descriptor files that are all at hand; every question is answered without asking anybody.

    ``origin`` is what errors call them. Raises UsageError where two of them contradict each other.
    """

    protocol: Final[Literal["files"]] = "files"

    def __init__(self, written: Iterable[Written]) -> None:
        parts = list(written)
        self.files: Mapping[str, FileDescriptorProto] = _with_well_known(_merged(parts))
        self.origin = " and ".join(dict.fromkeys(origin for origin, _ in parts))
        packages = [(file.package, service.name) for file in self.files.values() for service in file.service]
        self.listing: Sequence[str] = [f"{package}.{name}" if package else name for package, name in packages]

    async def methods(self, service: str) -> Mapping[str, MethodDescriptorProto]:
        """Return what a service declares; nothing where it is not described."""
        declaration = find_service(self.files, service)
        return {method.name: method for method in declaration[1].method} if declaration else {}

    async def symbol(self, name: str) -> bool:
        """Whether a message, enum, extension or service of that full name is described."""
        return find_file(self.files, name) is not None

    async def extension(self, type_name: str, number: int) -> bool:
        """Whether a file extends a message by that field."""
        return extends(self.files, type_name, number)

    async def complete(self) -> None:
        """Nothing: what is missing in the files stays missing."""


def _merged(written: Iterable[Written]) -> dict[str, FileDescriptorProto]:
    """All files by name; one that is there twice must be the same, its comments apart."""
    found: dict[str, FileDescriptorProto] = {}
    first: dict[str, str] = {}
    for origin, files in written:
        for file in files:
            known = found.setdefault(file.name, file)
            first.setdefault(file.name, origin)
            if known is not file and _bare(known) != _bare(file):
                raise UsageError(
                    f"{first[file.name]} and {origin} describe {file.name} differently", "leave one of them out"
                )
    return found


def _bare(file: FileDescriptorProto) -> FileDescriptorProto:
    copy = FileDescriptorProto()
    copy.CopyFrom(file)
    copy.ClearField("source_code_info")
    return copy


def _with_well_known(files: dict[str, FileDescriptorProto]) -> dict[str, FileDescriptorProto]:
    """The files and what they import of protobuf's own, which is often left out of a set."""
    complete = dict(files)
    while own := [each for name in missing_imports(complete) if (each := well_known(name)) is not None]:
        complete.update({file.name: file for file in own})
    return complete
