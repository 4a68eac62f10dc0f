"""Fields and extensions as protobuf source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto

from lbctl.rpc.schemas.symbols import FILE_MESSAGE, MESSAGE_NESTED, Path, joined
from lbctl.view.proto_lines import Commented, Lines
from lbctl.view.proto_options import Options, quoted

if TYPE_CHECKING:
    from lbctl.view.proto_names import Names

FIELD: Final = FieldDescriptorProto
_TEXTS: Final = frozenset({FIELD.TYPE_STRING, FIELD.TYPE_BYTES})

# Writes what is between the braces of a message, by the message, its place and its full name.
Body = Callable[[DescriptorProto, Path, str], list[Lines]]


class FieldText:
    """Writes the fields of one file; a group has its message inside, whose ``body`` somebody else writes."""

    def __init__(self, syntax: str, lines: Commented, names: Names, options: Options, body: Body) -> None:
        self._syntax = syntax
        self._lines = lines
        self._names = names
        self._options = options
        self._body = body

    def field(self, field: FieldDescriptorProto, path: Path, scope: str, nested: Sequence[DescriptorProto]) -> Lines:
        """A field or an extension; ``nested`` are the messages beside it, of which one may be its map or group."""
        own = next((each for each in nested if field.type_name == f".{joined(scope, each.name)}"), None)
        above = self._options.unknown(field.options)
        return above + self._statement(field, path, scope, own, list(nested).index(own) if own is not None else 0)

    def _statement(
        self, field: FieldDescriptorProto, path: Path, scope: str, own: DescriptorProto | None, at: int
    ) -> Lines:
        """A field with the message that is its own, the ``at``-th beside it."""
        behind = bracketed(self._field_options(field))
        if own is not None and own.options.map_entry:
            key, value = (self._type(each, scope) for each in own.field)
            return self._lines.line(path, f"map<{key}, {value}> {field.name} = {field.number}{behind};")
        label = self._label(field)
        if own is not None and field.type == FIELD.TYPE_GROUP:
            head = f"{label}group {own.name} = {field.number}{behind}"
            place = _beside(path, at)
            body = self._body(own, place, joined(scope, own.name))
            return self._lines.block(self._lines.first_of(path, place), head, body)  # protoc has them at the latter
        return self._lines.line(path, f"{label}{self._type(field, scope)} {field.name} = {field.number}{behind};")

    def extends(
        self, fields: Sequence[FieldDescriptorProto], path: Path, scope: str, nested: Sequence[DescriptorProto]
    ) -> Iterator[Lines]:
        """Extensions, those of the same message that stand together in one block."""
        waiting: list[tuple[FieldDescriptorProto, Path]] = []
        for at, field in enumerate(fields):
            if waiting and waiting[-1][0].extendee != field.extendee:
                yield self.extend(waiting, scope, nested)
                waiting = []
            waiting.append((field, (*path, at) if path else ()))
        if waiting:
            yield self.extend(waiting, scope, nested)

    def extend(
        self, fields: Sequence[tuple[FieldDescriptorProto, Path]], scope: str, nested: Sequence[DescriptorProto]
    ) -> Lines:
        """One block of extensions of the same message."""
        inside = [line for field, path in fields for line in self.field(field, path, scope, nested)]
        return self._lines.block((), f"extend {self._names.short(fields[0][0].extendee, scope)}", [inside])

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


def _beside(path: Path, at: int) -> Path:
    """The place of a message that stands beside a field; what is beside what has no place has none."""
    around = path[:-2]
    return (*around, MESSAGE_NESTED if around else FILE_MESSAGE, at) if path else ()


def bracketed(options: Sequence[str]) -> str:
    """Options as they stand behind a field, a value or a range; nothing where there are none."""
    return f" [{', '.join(options)}]" if options else ""


def group_types(fields: Iterable[FieldDescriptorProto], nested: Iterable[DescriptorProto], scope: str) -> set[str]:
    """The names of those nested messages that are written where their group is."""
    used = {field.type_name for field in fields if field.type == FIELD.TYPE_GROUP}
    return {each.name for each in nested if f".{joined(scope, each.name)}" in used}


def _default(field: FieldDescriptorProto) -> str:
    if field.type not in _TEXTS:
        return field.default_value
    # Bytes are escaped already.
    return f'"{field.default_value}"' if field.type == FIELD.TYPE_BYTES else quoted(field.default_value)


def _json_name(name: str) -> str:
    """What protobuf makes of a name for JSON."""
    head, *rest = name.split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)
