"""Options of definitions as protobuf source writes them, those of a project's own included."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from google.protobuf import text_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.unknown_fields import UnknownFieldSet

from lbctl.rpc.schemas.schema import grow, well_known

if TYPE_CHECKING:
    from collections.abc import Iterable

    from google.protobuf.descriptor_pb2 import FileDescriptorProto

_DESCRIPTORS: Final = "google/protobuf/descriptor.proto"
_OPTIONS: Final = ".google.protobuf."
_SKIPPED: Final = frozenset({"uninterpreted_option", "map_entry"})
FEATURES: Final = "google.protobuf.FeatureSet"
_ESCAPES: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}


class Options:
    """Reads options by the files that extend them; what nobody describes is there by its number, in comments."""

    def __init__(self, files: Mapping[str, FileDescriptorProto]) -> None:
        self._pool: DescriptorPool | None = None
        extending = [file.name for file in files.values() if _extends_options(file)]
        own = files.get(_DESCRIPTORS) or well_known(_DESCRIPTORS)
        if not extending or own is None:
            return
        files = {**files, _DESCRIPTORS: own}
        pool = DescriptorPool()
        try:
            for name in (_DESCRIPTORS, *extending):
                grow(pool, files, name)
        except (KeyError, TypeError, ValueError):  # they contradict each other: only protobuf's own are shown
            return
        self._pool = pool

    def of(self, options: Message) -> list[tuple[str, str]]:
        """Return the options that are set, by name, their values as source writes them."""
        return [pair for pair in self._pairs(self._known(options), "") if pair[0] not in _SKIPPED]

    def unknown(self, options: Message) -> list[str]:
        """Return a comment for each option that is set and that nobody describes: by its number, as its octets are."""
        return [f"// option {name} = {value}; which nobody describes" for name, value in self._undescribed(options, "")]

    def _undescribed(self, options: Message, prefix: str) -> Iterator[tuple[str, str]]:
        known = self._known(options)
        for field in cast("Iterable[Any]", UnknownFieldSet(known)):
            yield f"{prefix}({field.field_number})", octets_text(field)
        for each, value in known.ListFields():
            if each.message_type is not None and each.message_type.full_name == FEATURES:
                yield from self._undescribed(value, f"{each.name}.")

    def _known(self, options: Message) -> Message:
        """The same options, with the extensions that the files describe."""
        if self._pool is None:
            return options
        try:
            described = self._pool.FindMessageTypeByName(options.DESCRIPTOR.full_name)
        except KeyError:
            return options
        found: Message = GetMessageClass(described)()
        found.MergeFromString(options.SerializePartialToString())
        return found

    def _pairs(self, message: Message, prefix: str) -> Iterator[tuple[str, str]]:
        for field, value in message.ListFields():
            name = prefix + (f"({field.full_name})" if field.is_extension else field.name)
            if field.message_type is not None and field.message_type.full_name == FEATURES:
                yield from self._pairs(value, f"{name}.")
            elif isinstance(value, (str, bytes, bool, int, float, Message)):
                yield name, literal(field, value)
            elif field.message_type is not None and field.message_type.GetOptions().map_entry:
                yield name, "{ " + text_format.MessageToString(message, as_one_line=True) + " }"
            else:
                yield from ((name, literal(field, each)) for each in value)


def octets_text(field: Any) -> str:  # noqa: ANN401  # protobuf's stubs have no name for it
    """Write the value of a field that nobody describes: numbers as they are, octets as text where they may be."""
    data: object = field.data
    if isinstance(data, UnknownFieldSet):
        inside = cast("Iterable[Any]", data)
        return "{ " + " ".join(f"{each.field_number}: {octets_text(each)}" for each in inside) + " }"
    if not isinstance(data, bytes):
        return str(data)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return _escaped(data)
    return quoted(text) if all(char.isprintable() or char in _ESCAPES for char in text) else _escaped(data)


def _escaped(octets: bytes) -> str:
    return (
        '"'
        + "".join(chr(each) if 32 <= each < 127 and each not in b'"\\' else f"\\{each:03o}" for each in octets)
        + '"'
    )


def literal(field: FieldDescriptor, value: object) -> str:
    """Write a value as protobuf source does."""
    if isinstance(value, Message):
        inside = text_format.MessageToString(value, as_one_line=True)
        return f"{{ {inside} }}" if inside else "{}"
    if field.enum_type is not None and isinstance(value, int):
        known = field.enum_type.values_by_number.get(value)
        return str(value) if known is None else str(known.name)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return _escaped(value)
    return quoted(value) if isinstance(value, str) else repr(value)


def quoted(text: str) -> str:
    """Write a text between quotes."""
    return '"' + "".join(_ESCAPES.get(char, char if char >= " " else f"\\{ord(char):03o}") for char in text) + '"'


def _extends_options(file: FileDescriptorProto) -> bool:
    waiting, fields = list(file.message_type), list(file.extension)
    while waiting:
        message = waiting.pop()
        fields.extend(message.extension)
        waiting.extend(message.nested_type)
    return any(field.extendee.startswith(_OPTIONS) for field in fields)
