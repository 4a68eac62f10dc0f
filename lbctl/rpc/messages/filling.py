"""Messages of JSON that fits them: protobuf's parser makes them, and what every Any holds is put in by us.

That parser cannot write the octets of an Any in one order only, nor those of a type that nobody describes.
"""

from __future__ import annotations

from typing import Any, Final

from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from lbctl.rpc.messages.kinds import ANY, field_names, is_map, is_special, reaches

_ANY: Final = frozenset({ANY})


class Held(dict[str, Any]):
    """What an Any holds, in the place of its JSON: for protobuf's parser an Any with nothing in it."""

    def __init__(self, url: str, octets: bytes) -> None:
        super().__init__()
        self.url: Final = url
        self.octets: Final = octets


def built(kind: Descriptor, fitting: Any) -> Message:  # noqa: ANN401  # whatever JSON holds
    """Make a message of JSON as ``fit`` returns it; raises what protobuf's parser does."""
    message: Message = GetMessageClass(kind)()
    json_format.ParseDict(fitting, message, descriptor_pool=kind.file.pool)
    if may_hold(kind):
        _fill(message, fitting)
    return message


def octets_of(kind: Descriptor, fitting: Any) -> bytes:  # noqa: ANN401  # whatever JSON holds
    """The octets of a message of JSON, the same ones each time; raises what protobuf's parser does."""
    octets: bytes = built(kind, fitting).SerializeToString(deterministic=True)
    return octets


def may_hold(kind: Descriptor) -> bool:
    """Tell whether an Any may be in a message, or be it."""
    return reaches(kind, _ANY)


def _fill(message: Any, value: Any) -> None:  # noqa: ANN401  # a message of any type, and its JSON
    if isinstance(value, Held):
        message.type_url, message.value = value.url, value.octets
        return
    kind = message.DESCRIPTOR
    if is_special(kind):
        return
    for name, item in value.items():
        field = field_names(kind).get(name) or kind.file.pool.FindExtensionByName(name[1:-1])
        if item is not None and field.message_type is not None and may_hold(field.message_type):
            part = message.Extensions[field] if field.is_extension else getattr(message, field.name)
            _fill_field(part, item, field)


def _fill_field(part: Any, value: Any, field: FieldDescriptor) -> None:  # noqa: ANN401
    if is_map(field):
        assert field.message_type is not None
        key = field.message_type.fields_by_name["key"]
        for name, item in value.items():
            _fill(part[_key(name, key)], item)
    elif field.is_repeated:
        for one, item in zip(part, value, strict=True):
            _fill(one, item)
    else:
        _fill(part, value)


def _key(name: str, field: FieldDescriptor) -> object:
    if field.type == FieldDescriptor.TYPE_STRING:
        return name
    return name == "true" if field.type == FieldDescriptor.TYPE_BOOL else int(name)
