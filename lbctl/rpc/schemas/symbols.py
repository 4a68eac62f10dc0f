"""What descriptor files define, by full name: services, methods, messages, enums, extensions and their parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    EnumValueDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    MethodDescriptorProto,
    OneofDescriptorProto,
    ServiceDescriptorProto,
)

Node: TypeAlias = (
    FileDescriptorProto
    | ServiceDescriptorProto
    | MethodDescriptorProto
    | DescriptorProto
    | EnumDescriptorProto
    | FieldDescriptorProto
    | EnumValueDescriptorProto
    | OneofDescriptorProto
)
Path = tuple[int, ...]

# The numbers of fields in descriptor.proto: by them source information says what it is about.
FILE_PACKAGE: Final = 2
FILE_MESSAGE: Final = 4
FILE_ENUM: Final = 5
FILE_SERVICE: Final = 6
FILE_EXTENSION: Final = 7
FILE_SYNTAX: Final = 12
MESSAGE_FIELD: Final = 2
MESSAGE_NESTED: Final = 3
MESSAGE_ENUM: Final = 4
MESSAGE_EXTENSION: Final = 6
MESSAGE_ONEOF: Final = 8
ENUM_VALUE: Final = 2
SERVICE_METHOD: Final = 2


class Kind(StrEnum):
    """What a symbol is."""

    FILE = "file"
    SERVICE = "service"
    METHOD = "method"
    MESSAGE = "message"
    ENUM = "enum"
    EXTENSION = "extension"
    FIELD = "field"
    ONEOF = "oneof"
    VALUE = "enum value"


# What has a name that people look for; the others are parts of these.
WHOLE: Final = frozenset({Kind.SERVICE, Kind.METHOD, Kind.MESSAGE, Kind.ENUM, Kind.EXTENSION})


@dataclass(frozen=True, slots=True, eq=False)
class Symbol:
    """One definition: its full name, the file it is in, the descriptor, and its path there; ``scope`` encloses it."""

    name: str
    kind: Kind
    file: FileDescriptorProto
    node: Node
    path: Path
    scope: str

    @property
    def spelt(self) -> str:
        """The name as people write it: methods have a slash."""
        return "/".join(self.name.rsplit(".", 1)) if self.kind is Kind.METHOD else self.name


def symbols(file: FileDescriptorProto) -> Iterator[Symbol]:
    """List all that a file defines, what is in a definition behind it; entries of maps are not definitions."""
    package = file.package
    for number, service in enumerate(file.service):
        yield from _service(file, service, (FILE_SERVICE, number))
    for number, message in enumerate(file.message_type):
        yield from _message(file, message, (FILE_MESSAGE, number), package)
    for number, enum in enumerate(file.enum_type):
        yield from _enum(file, enum, (FILE_ENUM, number), package)
    yield from _fields(file, file.extension, Kind.EXTENSION, (FILE_EXTENSION,), package)


def index(files: Mapping[str, FileDescriptorProto]) -> dict[str, Symbol]:
    """Return all that the files define, by full name; the first of two that have the same."""
    found: dict[str, Symbol] = {}
    for file in files.values():
        for symbol in symbols(file):
            found.setdefault(symbol.name, symbol)
    return found


def joined(scope: str, name: str) -> str:
    """Return the full name of what is in a scope, which may be empty."""
    return f"{scope}.{name}" if scope else name


def _service(file: FileDescriptorProto, service: ServiceDescriptorProto, path: Path) -> Iterator[Symbol]:
    name = joined(file.package, service.name)
    yield Symbol(name, Kind.SERVICE, file, service, path, file.package)
    for number, method in enumerate(service.method):
        inside = (*path, SERVICE_METHOD, number)
        yield Symbol(joined(name, method.name), Kind.METHOD, file, method, inside, name)


def _message(file: FileDescriptorProto, message: DescriptorProto, path: Path, scope: str) -> Iterator[Symbol]:
    if message.options.map_entry:
        return
    name = joined(scope, message.name)
    yield Symbol(name, Kind.MESSAGE, file, message, path, scope)
    yield from _fields(file, message.field, Kind.FIELD, (*path, MESSAGE_FIELD), name)
    for number, oneof in enumerate(message.oneof_decl):
        yield Symbol(joined(name, oneof.name), Kind.ONEOF, file, oneof, (*path, MESSAGE_ONEOF, number), name)
    for number, inner in enumerate(message.nested_type):
        yield from _message(file, inner, (*path, MESSAGE_NESTED, number), name)
    for number, enum in enumerate(message.enum_type):
        yield from _enum(file, enum, (*path, MESSAGE_ENUM, number), name)
    yield from _fields(file, message.extension, Kind.EXTENSION, (*path, MESSAGE_EXTENSION), name)


def _enum(file: FileDescriptorProto, enum: EnumDescriptorProto, path: Path, scope: str) -> Iterator[Symbol]:
    name = joined(scope, enum.name)
    yield Symbol(name, Kind.ENUM, file, enum, path, scope)
    for number, value in enumerate(enum.value):
        # Values are in the scope of their enum's neighbours; people look for them in the enum.
        yield Symbol(joined(name, value.name), Kind.VALUE, file, value, (*path, ENUM_VALUE, number), name)


def _fields(
    file: FileDescriptorProto, fields: Sequence[FieldDescriptorProto], kind: Kind, path: Path, scope: str
) -> Iterator[Symbol]:
    for number, field in enumerate(fields):
        yield Symbol(joined(scope, field.name), kind, file, field, (*path, number), scope)
