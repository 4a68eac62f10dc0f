"""Definitions as protobuf source, with the comments they had there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    Edition,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    MethodDescriptorProto,
    ServiceDescriptorProto,
    SourceCodeInfo,
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
    Kind,
    Path,
    Symbol,
    joined,
)
from lbctl.view.proto_names import Names
from lbctl.view.proto_options import Options, quoted

if TYPE_CHECKING:
    from google.protobuf.message import Message

FIELD: Final = FieldDescriptorProto
_LAST_FIELD: Final = 536_870_912  # one behind the last there may be
_LAST_VALUE: Final = 2_147_483_647
_INDENT: Final = "  "
_TEXTS: Final = frozenset({FIELD.TYPE_STRING, FIELD.TYPE_BYTES})

Lines = list[str]
D = TypeVar("D")


class ProtoText:
    """Writes what some files define; short names and options are by all of these files."""

    def __init__(self, files: Mapping[str, FileDescriptorProto]) -> None:
        self._names = Names(files)
        self._options = Options(files)

    def of(self, symbol: Symbol) -> str:
        """Write one definition, without what is around it."""
        writer = _FileText(symbol.file, self._names, self._options)
        return "\n".join(writer.definition(symbol))


class _FileText:
    """Writes definitions of one file, by their places in it."""

    def __init__(self, file: FileDescriptorProto, names: Names, options: Options) -> None:
        self._file = file
        self._names = names
        self._options = options
        self._syntax = file.syntax or "proto2"
        self._comments: dict[Path, SourceCodeInfo.Location] = {
            tuple(each.path): each for each in file.source_code_info.location
        }

    def definition(self, symbol: Symbol) -> Lines:
        """Write whatever it is."""
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
            case FieldDescriptorProto() as field if symbol.kind is Kind.EXTENSION:
                scoped = self._message_at(symbol.path)
                nested = scoped.nested_type if scoped is not None else self._file.message_type
                return self._extend([(field, symbol.path)], symbol.scope, nested)
        raise TypeError(f"{symbol.kind} {symbol.name} is no definition")

    def _message_at(self, path: Path) -> DescriptorProto | None:
        """The innermost message that a path goes through."""
        found: DescriptorProto | None = None
        for field, number in zip(path[::2], path[1::2], strict=False):
            if found is None and field == FILE_MESSAGE:
                found = self._file.message_type[number]
            elif found is not None and field == MESSAGE_NESTED:
                found = found.nested_type[number]
        return found

    def _whole(self) -> Lines:
        file = self._file
        parts: list[Lines] = [self._line((FILE_SYNTAX,), self._first_line())]
        if file.package:
            parts.append(self._line((FILE_PACKAGE,), f"package {file.package};"))
        parts += [self._imports(), self._option_lines(file.options)]
        parts += [self._enum(each, (FILE_ENUM, at)) for at, each in enumerate(file.enum_type)]
        groups = _group_types(file.extension, file.message_type, file.package)
        parts += [
            self._message(each, (FILE_MESSAGE, at), file.package)
            for at, each in enumerate(file.message_type)
            if each.name not in groups
        ]
        parts += self._extends(file.extension, (FILE_EXTENSION,), file.package, file.message_type)
        parts += [self._service(each, (FILE_SERVICE, at)) for at, each in enumerate(file.service)]
        return _apart(parts)

    def _first_line(self) -> str:
        if self._syntax == "editions":
            return f'edition = "{Edition.Name(self._file.edition).removeprefix("EDITION_")}";'
        return f'syntax = "{self._syntax}";'

    def _imports(self) -> Lines:
        public, weak = set(self._file.public_dependency), set(self._file.weak_dependency)
        how = dict.fromkeys(public, "public ") | dict.fromkeys(weak, "weak ")
        return [f"import {how.get(at, '')}{quoted(name)};" for at, name in enumerate(self._file.dependency)]

    def _service(self, service: ServiceDescriptorProto, path: Path) -> Lines:
        scope = joined(self._file.package, service.name)
        methods = [self._method(each, (*path, SERVICE_METHOD, at), scope) for at, each in enumerate(service.method)]
        return self._block(path, f"service {service.name}", [self._option_lines(service.options), *methods])

    def _method(self, method: MethodDescriptorProto, path: Path, scope: str) -> Lines:
        sides = ("stream " if method.client_streaming else "", "stream " if method.server_streaming else "")
        types = (self._names.short(method.input_type, scope), self._names.short(method.output_type, scope))
        head = f"rpc {method.name}({sides[0]}{types[0]}) returns ({sides[1]}{types[1]})"
        options = self._option_lines(method.options)
        return self._block(path, head, [options]) if options else self._line(path, f"{head};")

    def _message(self, message: DescriptorProto, path: Path, scope: str) -> Lines:
        name = joined(scope, message.name)
        return self._block(path, f"message {message.name}", self._body(message, path, name))

    def _body(self, message: DescriptorProto, path: Path, name: str) -> list[Lines]:
        """What is between a message's braces."""
        groups = _group_types((*message.field, *message.extension), message.nested_type, name)
        return [
            self._option_lines(message.options),
            self._fields(message, path, name),
            *(self._enum(each, (*path, MESSAGE_ENUM, at)) for at, each in enumerate(message.enum_type)),
            *(
                self._message(each, (*path, MESSAGE_NESTED, at), name)
                for at, each in enumerate(message.nested_type)
                if not each.options.map_entry and each.name not in groups
            ),
            *self._extends(message.extension, (*path, MESSAGE_EXTENSION), name, message.nested_type),
            [*self._extension_ranges(message), *self._reserved(message)],
        ]

    def _fields(self, message: DescriptorProto, path: Path, name: str) -> Lines:
        lines: Lines = []
        written: set[int] = set()
        for at, field in enumerate(message.field):
            if not field.HasField("oneof_index") or field.proto3_optional:
                lines += self._field(field, (*path, MESSAGE_FIELD, at), name, message.nested_type)
            elif field.oneof_index not in written:
                written.add(field.oneof_index)
                lines += self._oneof(message, field.oneof_index, path, name)
        return lines

    def _oneof(self, message: DescriptorProto, number: int, path: Path, name: str) -> Lines:
        oneof = message.oneof_decl[number]
        inside = [self._option_lines(oneof.options), []]
        for at, field in enumerate(message.field):
            if field.HasField("oneof_index") and field.oneof_index == number:
                inside[1] += self._field(field, (*path, MESSAGE_FIELD, at), name, message.nested_type)
        return self._block((*path, MESSAGE_ONEOF, number), f"oneof {oneof.name}", inside)

    def _field(self, field: FieldDescriptorProto, path: Path, scope: str, nested: Sequence[DescriptorProto]) -> Lines:
        """A field or an extension; ``nested`` are the messages beside it, of which one may be its map or group."""
        own = next((each for each in nested if field.type_name == f".{joined(scope, each.name)}"), None)
        options = self._field_options(field)
        behind = f" [{', '.join(options)}]" if options else ""
        if own is not None and own.options.map_entry:
            key, value = (self._type(each, scope) for each in own.field)
            return self._line(path, f"map<{key}, {value}> {field.name} = {field.number}{behind};")
        label = self._label(field)
        if own is not None and field.type == FIELD.TYPE_GROUP:
            head = f"{label}group {own.name} = {field.number}{behind}"
            return self._block(path, head, self._body(own, (), joined(scope, own.name)))
        return self._line(path, f"{label}{self._type(field, scope)} {field.name} = {field.number}{behind};")

    def _label(self, field: FieldDescriptorProto) -> str:
        if field.label == FIELD.LABEL_REPEATED:
            return "repeated "
        if self._syntax == "proto2" and not field.HasField("oneof_index"):
            return "required " if field.label == FIELD.LABEL_REQUIRED else "optional "
        return "optional " if field.proto3_optional else ""

    def _type(self, field: FieldDescriptorProto, scope: str) -> str:
        if field.type_name:
            return self._names.short(field.type_name, scope)
        return FIELD.Type.Name(field.type).removeprefix("TYPE_").lower()

    def _field_options(self, field: FieldDescriptorProto) -> Lines:
        found = []
        if field.HasField("default_value"):
            found.append(f"default = {_default(field)}")
        if field.json_name not in ("", _json_name(field.name)) and not field.extendee:
            found.append(f"json_name = {quoted(field.json_name)}")
        return found + [f"{name} = {value}" for name, value in self._options.of(field.options)]

    def _extends(
        self, fields: Sequence[FieldDescriptorProto], path: Path, scope: str, nested: Sequence[DescriptorProto]
    ) -> Iterator[Lines]:
        """Extensions, those of the same message that stand together in one block."""
        waiting: list[tuple[FieldDescriptorProto, Path]] = []
        for at, field in enumerate(fields):
            if waiting and waiting[-1][0].extendee != field.extendee:
                yield self._extend(waiting, scope, nested)
                waiting = []
            waiting.append((field, (*path, at)))
        if waiting:
            yield self._extend(waiting, scope, nested)

    def _extend(
        self, fields: Sequence[tuple[FieldDescriptorProto, Path]], scope: str, nested: Sequence[DescriptorProto]
    ) -> Lines:
        inside = [line for field, path in fields for line in self._field(field, path, scope, nested)]
        return self._block((), f"extend {self._names.short(fields[0][0].extendee, scope)}", [inside])

    def _extension_ranges(self, message: DescriptorProto) -> Lines:
        lines = []
        for each in message.extension_range:
            options = [f"{name} = {value}" for name, value in self._options.of(each.options)]
            behind = f" [{', '.join(options)}]" if options else ""
            lines.append(f"extensions {_range(each.start, each.end - 1, _LAST_FIELD - 1)}{behind};")
        return lines

    def _reserved(self, holder: DescriptorProto | EnumDescriptorProto) -> Lines:
        is_enum = isinstance(holder, EnumDescriptorProto)
        last = _LAST_VALUE if is_enum else _LAST_FIELD - 1
        ranges = [_range(each.start, each.end if is_enum else each.end - 1, last) for each in holder.reserved_range]
        names = [name if self._syntax == "editions" else quoted(name) for name in holder.reserved_name]
        return [f"reserved {', '.join(each)};" for each in (ranges, names) if each]

    def _enum(self, enum: EnumDescriptorProto, path: Path) -> Lines:
        values: Lines = []
        for at, value in enumerate(enum.value):
            options = [f"{name} = {text}" for name, text in self._options.of(value.options)]
            behind = f" [{', '.join(options)}]" if options else ""
            values += self._line((*path, ENUM_VALUE, at), f"{value.name} = {value.number}{behind};")
        return self._block(path, f"enum {enum.name}", [self._option_lines(enum.options), values, self._reserved(enum)])

    def _option_lines(self, options: Message) -> Lines:
        return [f"option {name} = {value};" for name, value in self._options.of(options)]

    def _line(self, path: Path, statement: str) -> Lines:
        """A statement with its comments, a short one behind it."""
        above, behind = self._comment(path)
        if len(behind) == 1:
            return [*above, f"{statement}  {behind[0]}"]
        return [*above, statement, *behind]

    def _block(self, path: Path, head: str, parts: Iterable[Lines]) -> Lines:
        above, behind = self._comment(path)
        inside = _apart([behind, *parts] if len(behind) > 1 else parts)
        first = f"{head} {{" + (f"  {behind[0]}" if len(behind) == 1 else "")
        if not inside and not behind:
            return [*above, f"{head} {{}}"]
        return [*above, first, *(f"{_INDENT}{line}" if line else "" for line in inside), "}"]

    def _comment(self, path: Path) -> tuple[Lines, Lines]:
        """What stands above, and what behind."""
        found = self._comments.get(path)
        if found is None or not path:
            return [], []
        above: Lines = []
        for each in found.leading_detached_comments:
            above += [*_commented(each), ""]
        return [*above, *_commented(found.leading_comments)], _commented(found.trailing_comments)


def _commented(text: str) -> Lines:
    return [f"//{line}".rstrip() for line in text.removesuffix("\n").split("\n")] if text else []


def _apart(parts: Iterable[Lines]) -> Lines:
    """The parts one below the other, an empty line between those that are more than a line."""
    found: Lines = []
    before: Lines = []
    for part in parts:
        if not part:
            continue
        if before and (len(part) > 1 or len(before) > 1 or before[0].split(" ")[0] != part[0].split(" ")[0]):
            found.append("")
        found += part
        before = part
    return found


def _group_types(fields: Iterable[FieldDescriptorProto], nested: Iterable[DescriptorProto], scope: str) -> set[str]:
    """The names of those nested messages that are written where their group is."""
    used = {field.type_name for field in fields if field.type == FIELD.TYPE_GROUP}
    return {each.name for each in nested if f".{joined(scope, each.name)}" in used}


def _range(first: int, last: int, most: int) -> str:
    if first == last:
        return str(first)
    return f"{first} to {'max' if last >= most else last}"


def _default(field: FieldDescriptorProto) -> str:
    if field.type not in _TEXTS:
        return field.default_value
    # Bytes are escaped already.
    return f'"{field.default_value}"' if field.type == FIELD.TYPE_BYTES else quoted(field.default_value)


def _json_name(name: str) -> str:
    """What protobuf makes of a name for JSON."""
    head, *rest = name.split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)
