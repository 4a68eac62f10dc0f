"""What kinds of messages and fields there are for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.unknown_fields import UnknownFieldSet

from lbctl.rpc.schemas.schema import is_placeholder

PROTOBUF: Final = "google.protobuf."
ANY: Final = f"{PROTOBUF}Any"
WRAPPERS: Final = frozenset(
    f"{PROTOBUF}{name}Value"
    for name in ("Bool", "String", "Bytes", "Int32", "Int64", "UInt32", "UInt64", "Float", "Double")
)
# Messages whose JSON form is not an object of their fields.
SPECIAL: Final = WRAPPERS | {
    f"{PROTOBUF}{name}" for name in ("Any", "Duration", "FieldMask", "ListValue", "Struct", "Timestamp", "Value")
}
# Those of them that hold any JSON.
FREE_FORM: Final = frozenset(f"{PROTOBUF}{name}" for name in ("Struct", "ListValue", "Value"))


def is_special(kind: Descriptor) -> bool:
    """Tell whether protobuf's JSON mapping treats a message type as a value of its own."""
    return kind.full_name in SPECIAL


@lru_cache(maxsize=4096)
def is_map(field: FieldDescriptor) -> bool:
    """Tell whether a field is a map."""
    return field.message_type is not None and bool(field.message_type.GetOptions().map_entry)


@lru_cache(maxsize=256)
def field_names(kind: Descriptor) -> Mapping[str, FieldDescriptor]:
    """The fields of a message by either of their names."""
    return {field.name: field for field in kind.fields} | {field.json_name: field for field in kind.fields}


@lru_cache(maxsize=256)
def reaches(kind: Descriptor, wanted: frozenset[str], *, maps: bool = False) -> bool:
    """Tell whether a message is, or may have somewhere in it, one of these; extensions may be anything.

    With ``maps`` a map is wanted as well.
    """
    seen: set[str] = set()
    waiting = [kind]
    while waiting:
        each = waiting.pop()
        if each.full_name in wanted or each.is_extendable or (maps and each.GetOptions().map_entry):
            return True
        if each.full_name not in seen:
            seen.add(each.full_name)
            waiting.extend(field.message_type for field in each.fields if field.message_type is not None)
    return False


def entries(message: Any, field: FieldDescriptor) -> list[tuple[Any, Any]]:  # noqa: ANN401  # of any type of protobuf
    """The keys and values of a map in the order of the keys; text that is not UTF-8 is bytes."""
    found = message.Extensions[field] if field.is_extension else getattr(message, field.name)
    keys = list(found)
    if not any(isinstance(key, bytes) for key in keys):
        return [(key, found[key]) for key in sorted(keys)]
    # protobuf does not find the value of such a key, so each entry is read as the message that it is.
    bare = type(message)()
    bare.CopyFrom(message)
    for other, _ in message.ListFields():
        if other.number != field.number:
            bare.ClearExtension(other) if other.is_extension else bare.ClearField(other.name)
    bare.DiscardUnknownFields()
    octets: Any = UnknownFieldSet(Empty.FromString(bare.SerializePartialToString()))
    assert field.message_type is not None
    entry: Any = GetMessageClass(field.message_type)
    parts = {each.key: each.value for each in (entry.FromString(part.data) for part in octets)}
    return sorted(parts.items(), key=lambda item: item[0] if isinstance(item[0], bytes) else item[0].encode())


def type_name(url: str) -> str:
    """The full name of the type that the URL of an Any stands for."""
    return url.rpartition("/")[2]


def find_type(pool: DescriptorPool, name: str) -> Descriptor | None:
    """Find a message type that was described, by its full name."""
    try:
        found: Descriptor = pool.FindMessageTypeByName(name)
    except KeyError:
        return None
    return None if is_placeholder(found) else found


def contents(message: Any, pool: DescriptorPool) -> Message | None:  # noqa: ANN401  # an Any of whichever pool
    """Decode what an Any holds; None where its type is not in the pool, or the octets are none of it."""
    kind = find_type(pool, type_name(message.type_url))
    if kind is None:
        return None
    try:
        return GetMessageClass(kind).FromString(message.value)
    except DecodeError:
        return None
