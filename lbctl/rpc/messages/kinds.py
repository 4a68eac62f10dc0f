"""What kinds of messages and fields there are for JSON."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

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


def is_special(kind: Descriptor) -> bool:
    """Tell whether protobuf's JSON mapping treats a message type as a value of its own."""
    return kind.full_name in SPECIAL


@lru_cache(maxsize=4096)
def is_map(field: FieldDescriptor) -> bool:
    """Tell whether a field is a map."""
    return field.message_type is not None and bool(field.message_type.GetOptions().map_entry)


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
