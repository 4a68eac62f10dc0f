"""Definitions as protobuf source, with the comments they had there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    Edition,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    MethodDescriptorProto,
    ServiceDescriptorProto,
)

from lbctl.rpc.schemas.symbols import (
    ENUM_VALUE,
    FILE_ENUM,
    FILE_EXTENSION,
    FILE_MESSAGE,
    FILE_PACKAGE,
    FILE_SERVICE,
    FILE_SYNTAX,
    MESSAGE_ENUM,
    MESSAGE_EXTENSION,
    MESSAGE_FIELD,
    MESSAGE_NESTED,
    MESSAGE_ONEOF,
    SERVICE_METHOD,
    Path,
    Symbol,
    joined,
)
from lbctl.view.proto_fields import FieldText, bracketed, group_types
from lbctl.view.proto_lines import Commented, Lines, apart
from lbctl.view.proto_names import Names
from lbctl.view.proto_options import Options, quoted

if TYPE_CHECKING:
    from google.protobuf.message import Message

_LAST_FIELD: Final = 536_870_911
_LAST_VALUE: Final = 2_147_483_647


class ProtoText:
    """Writes what some files define; short names and options are by all of these files."""

    def __init__(self, files: Mapping[str, FileDescriptorProto]) -> None:
        self._names = Names(files)
        self._options = Options(files)

    def of(self, symbol: Symbol) -> str:
        """Write one definition, without what is around it."""
        return "\n".join(_FileText(symbol.file, self._names, self._options).definition(symbol))


class _FileText:
    """Writes definitions of one file, by their places in it."""

    def __init__(self, file: FileDescriptorProto, names: Names, options: Options) -> None:
        self._file = file
        self._names = names
        self._options = options
        self._lines = Commented(file)
        self._fields = FieldText(_syntax(file), self._lines, names, options, self._body)

    def definition(self, symbol: Symbol) -> Lines:
        """Write whatever it is; of fields only extensions are definitions."""
        match symbol.node:
            case FileDescriptorProto():
                return self._whole()
            case ServiceDescriptorProto() as service:
                return self._service(service, symbol.path)
            case MethodDescriptorProto() as method:
                return self._method(method, symbol.path, symbol.scope)
            case DescriptorProto() as message:
                return self._message(message, symbol.path, symbol.scope)
            case EnumDescriptorProto() as enum:
                return self._enum(enum, symbol.path)
            case FieldDescriptorProto() as field:
                beside = _messages_beside(self._file, symbol.path)
                return self._fields.extend([(field, symbol.path)], symbol.scope, beside)
        raise TypeError(f"{symbol.kind} {symbol.name} is no definition")

    def _whole(self) -> Lines:
        file = self._file
        package = self._lines.line((FILE_PACKAGE,), f"package {file.package};") if file.package else []
        groups = group_types(file.extension, file.message_type, file.package)
        return apart(
            [
                self._lines.line((FILE_SYNTAX,), _first_line(file)),
                package,
                _imports(file),
                self._option_lines(file.options),
                *(self._enum(each, (FILE_ENUM, at)) for at, each in enumerate(file.enum_type)),
                *(
                    self._message(each, (FILE_MESSAGE, at), file.package)
                    for at, each in enumerate(file.message_type)
                    if each.name not in groups
                ),
                *self._fields.extends(file.extension, (FILE_EXTENSION,), file.package, file.message_type),
                *(self._service(each, (FILE_SERVICE, at)) for at, each in enumerate(file.service)),
            ]
        )

    def _service(self, service: ServiceDescriptorProto, path: Path) -> Lines:
        scope = joined(self._file.package, service.name)
        methods = [self._method(each, (*path, SERVICE_METHOD, at), scope) for at, each in enumerate(service.method)]
        return self._lines.block(path, f"service {service.name}", [self._option_lines(service.options), *methods])

    def _method(self, method: MethodDescriptorProto, path: Path, scope: str) -> Lines:
        sides = ("stream " if method.client_streaming else "", "stream " if method.server_streaming else "")
        types = (self._names.short(method.input_type, scope), self._names.short(method.output_type, scope))
        head = f"rpc {method.name}({sides[0]}{types[0]}) returns ({sides[1]}{types[1]})"
        options = self._option_lines(method.options)
        return self._lines.block(path, head, [options]) if options else self._lines.line(path, f"{head};")

    def _message(self, message: DescriptorProto, path: Path, scope: str) -> Lines:
        name = joined(scope, message.name)
        return self._lines.block(path, f"{_seen(message)}message {message.name}", self._body(message, path, name))

    def _body(self, message: DescriptorProto, path: Path, name: str) -> list[Lines]:
        """What is between a message's braces."""
        groups = group_types((*message.field, *message.extension), message.nested_type, name)
        return [
            self._option_lines(message.options),
            self._all_fields(message, path, name),
            *(self._enum(each, _inside(path, MESSAGE_ENUM, at)) for at, each in enumerate(message.enum_type)),
            *(
                self._message(each, _inside(path, MESSAGE_NESTED, at), name)
                for at, each in enumerate(message.nested_type)
                if not each.options.map_entry and each.name not in groups
            ),
            *self._fields.extends(
                message.extension, (*path, MESSAGE_EXTENSION) if path else (), name, message.nested_type
            ),
            [*self._extension_ranges(message), *_reserved(message, _syntax(self._file))],
        ]

    def _all_fields(self, message: DescriptorProto, path: Path, name: str) -> Lines:
        lines: Lines = []
        written: set[int] = set()
        for at, field in enumerate(message.field):
            if not field.HasField("oneof_index") or field.proto3_optional:
                lines += self._fields.field(field, _inside(path, MESSAGE_FIELD, at), name, message.nested_type)
            elif field.oneof_index not in written:
                written.add(field.oneof_index)
                lines += self._oneof(message, field.oneof_index, path, name)
        return lines

    def _oneof(self, message: DescriptorProto, number: int, path: Path, name: str) -> Lines:
        oneof = message.oneof_decl[number]
        fields = [
            line
            for at, field in enumerate(message.field)
            if field.HasField("oneof_index") and field.oneof_index == number
            for line in self._fields.field(field, _inside(path, MESSAGE_FIELD, at), name, message.nested_type)
        ]
        inside = [self._option_lines(oneof.options), fields]
        return self._lines.block(_inside(path, MESSAGE_ONEOF, number), f"oneof {oneof.name}", inside)

    def _extension_ranges(self, message: DescriptorProto) -> Lines:
        return [
            line
            for each in message.extension_range
            for line in (
                *self._options.unknown(each.options),
                f"extensions {_range(each.start, each.end - 1, _LAST_FIELD)}{bracketed(self._pairs(each.options))};",
            )
        ]

    def _enum(self, enum: EnumDescriptorProto, path: Path) -> Lines:
        values = [
            line
            for at, value in enumerate(enum.value)
            for line in self._options.unknown(value.options)
            + self._lines.line(
                _inside(path, ENUM_VALUE, at),
                f"{value.name} = {value.number}{bracketed(self._pairs(value.options))};",
            )
        ]
        inside = [self._option_lines(enum.options), values, _reserved(enum, _syntax(self._file))]
        return self._lines.block(path, f"{_seen(enum)}enum {enum.name}", inside)

    def _option_lines(self, options: Message) -> Lines:
        return [f"option {each};" for each in self._pairs(options)] + self._options.unknown(options)

    def _pairs(self, options: Message) -> list[str]:
        return [f"{name} = {value}" for name, value in self._options.of(options)]


def _inside(path: Path, field: int, at: int) -> Path:
    """The place of what is in a place; what is in none has none."""
    return (*path, field, at) if path else ()


def _syntax(file: FileDescriptorProto) -> str:
    return file.syntax or "proto2"


def _first_line(file: FileDescriptorProto) -> str:
    if file.syntax == "editions":
        return f'edition = "{Edition.Name(file.edition).removeprefix("EDITION_")}";'
    return f'syntax = "{_syntax(file)}";'


def _imports(file: FileDescriptorProto) -> Lines:
    how = dict.fromkeys(file.public_dependency, "public ") | dict.fromkeys(file.weak_dependency, "weak ")
    for_options: Sequence[str] = getattr(file, "option_dependency", ())  # of edition 2024
    return [
        *(f"import {how.get(at, '')}{quoted(name)};" for at, name in enumerate(file.dependency)),
        *(f"import option {quoted(name)};" for name in for_options),
    ]


def _seen(holder: DescriptorProto | EnumDescriptorProto) -> str:
    """From where it may be used, where edition 2024 says that."""
    return {1: "local ", 2: "export "}.get(getattr(holder, "visibility", 0), "")


def _messages_beside(file: FileDescriptorProto, path: Path) -> Sequence[DescriptorProto]:
    """The messages in the same scope as what has that place."""
    found: DescriptorProto | None = None
    for field, number in zip(path[::2], path[1::2], strict=False):
        if found is None and field == FILE_MESSAGE:
            found = file.message_type[number]
        elif found is not None and field == MESSAGE_NESTED:
            found = found.nested_type[number]
    return file.message_type if found is None else found.nested_type


def _reserved(holder: DescriptorProto | EnumDescriptorProto, syntax: str) -> Lines:
    if isinstance(holder, EnumDescriptorProto):
        ranges = [_range(each.start, each.end, _LAST_VALUE) for each in holder.reserved_range]
    else:
        ranges = [_range(each.start, each.end - 1, _LAST_FIELD) for each in holder.reserved_range]
    names = [name if syntax == "editions" else quoted(name) for name in holder.reserved_name]
    return [f"reserved {', '.join(each)};" for each in (ranges, names) if each]


def _range(first: int, last: int, most: int) -> str:
    if first == last:
        return str(first)
    return f"{first} to {'max' if last >= most else last}"
