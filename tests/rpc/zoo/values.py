"""Random messages of any type: the odd values of every field, and what stands in for other types in Any."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, Final, cast

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from lbctl.rpc.messages.kinds import PROTOBUF, is_map

F: Final = FieldDescriptor
DEEPEST: Final = 3
TEXTS: Final = ("", "a", 'ü\u2028\n\t"\\', "\x00\x7f", "日本 😀", "NaN", "null", "0", "2026-01-02T03:04:05Z", "@type")
PATHS: Final = ("a", "user.display_name", "a_b.c_d", "id")
INTEGERS: Final = {
    **dict.fromkeys((F.TYPE_INT32, F.TYPE_SINT32, F.TYPE_SFIXED32), (-(2**31), 2**31 - 1)),
    **dict.fromkeys((F.TYPE_INT64, F.TYPE_SINT64, F.TYPE_SFIXED64), (-(2**63), 2**63 - 1)),
    **dict.fromkeys((F.TYPE_UINT32, F.TYPE_FIXED32), (0, 2**32 - 1)),
    **dict.fromkeys((F.TYPE_UINT64, F.TYPE_FIXED64), (0, 2**64 - 1)),
}
ODD_DOUBLES: Final = (
    0.0,
    -0.0,
    1.0,
    0.1,
    5e-324,
    1.7976931348623157e308,
    2.0**53 + 2,
    float("inf"),
    float("-inf"),
    float("nan"),
)
ODD_FLOATS: Final = (
    0.0,
    -0.0,
    1.0,
    0.1,
    1e-45,
    3.4028234663852886e38,
    -3.4028234663852886e38,
    16777216.0,
    float("inf"),
    float("nan"),
)


class Values:
    """Draws messages; ``contents`` are the types that an Any may hold."""

    def __init__(self, rng: Random, pool: DescriptorPool, contents: Sequence[str]) -> None:
        self.rng = rng
        self._pool = pool
        self._contents = contents

    def message(self, kind: Descriptor, depth: int = 0) -> Message:
        """A message with about half of its fields set, fewer the deeper it is."""
        message: Any = GetMessageClass(kind)()
        own = _OWN.get(kind.full_name)
        if own is not None:
            own(self, message, depth)
            return cast(Message, message)
        share = (0.35, 0.2, 0.1, 0.0)[min(depth, DEEPEST)]
        for field in (*kind.fields, *(self._pool.FindAllExtensions(kind) if kind.is_extendable else ())):
            if field.is_required or self.rng.random() < share:
                self._set(message, field, depth)
        return cast(Message, message)

    def _set(self, message: Any, field: FieldDescriptor, depth: int) -> None:  # noqa: ANN401
        if is_map(field):
            self._set_map(getattr(message, field.name), field, depth)
        elif field.message_type is not None:
            if field.is_repeated:
                for _ in range(self.rng.randint(1, 3)):
                    _of(message, field).add().CopyFrom(self.message(field.message_type, depth + 1))
            else:
                _of(message, field).SetInParent()
                _of(message, field).CopyFrom(self.message(field.message_type, depth + 1))
        elif field.is_repeated:
            _of(message, field).extend(self.scalar(field) for _ in range(self.rng.randint(1, 4)))
        elif field.is_extension:
            message.Extensions[field] = self.scalar(field)
        else:
            setattr(message, field.name, self.scalar(field))

    def _set_map(self, entries: Any, field: FieldDescriptor, depth: int) -> None:  # noqa: ANN401
        assert field.message_type is not None
        key_field, value_field = field.message_type.fields_by_name["key"], field.message_type.fields_by_name["value"]
        for _ in range(self.rng.randint(1, 3)):
            key = self.scalar(key_field)
            if value_field.message_type is not None:
                entries[key].CopyFrom(self.message(value_field.message_type, depth + 1))
            else:
                entries[key] = self.scalar(value_field)

    def scalar(self, field: FieldDescriptor) -> Any:  # noqa: ANN401
        """A value for a field that is no message."""
        rng = self.rng
        if field.type in INTEGERS:
            least, most = INTEGERS[field.type]
            odd = (least, most, 0, 1, max(least, -1), min(most, 2**53 + 1), min(most, 2**32 - 1))
            return rng.choice(odd) if rng.random() < 0.6 else rng.randint(least, most)
        if field.type == F.TYPE_DOUBLE:
            return rng.choice(ODD_DOUBLES) if rng.random() < 0.6 else rng.uniform(-1e6, 1e6)
        if field.type == F.TYPE_FLOAT:
            drawn = rng.uniform(-1e6, 1e6)
            return rng.choice(ODD_FLOATS) if rng.random() < 0.6 else struct.unpack("f", struct.pack("f", drawn))[0]
        if field.type == F.TYPE_BOOL:
            return rng.random() < 0.5
        if field.type == F.TYPE_STRING:
            return rng.choice(TEXTS)
        if field.type == F.TYPE_BYTES:
            return rng.randbytes(rng.randint(0, 5))
        return self._enum(field)

    def _enum(self, field: FieldDescriptor) -> int:
        kind = field.enum_type
        assert kind is not None
        if kind.full_name == f"{PROTOBUF}NullValue":
            return 0
        if not kind.is_closed and self.rng.random() < 0.3:
            return self.rng.choice((99, -5, 2**31 - 1, -(2**31)))
        return int(self.rng.choice(kind.values).number)

    def any_of(self, message: Any, depth: int) -> None:  # noqa: ANN401
        """Fill an Any, or leave it empty."""
        if self.rng.random() < 0.1:
            return
        name = self.rng.choice(self._contents)
        if depth >= DEEPEST and name == f"{PROTOBUF}Any":
            name = f"{PROTOBUF}Empty"
        inner = self.message(self._pool.FindMessageTypeByName(name), depth + 1)
        message.type_url = self.rng.choice(("type.googleapis.com/", "example.com/a/b/")) + name
        message.value = inner.SerializeToString(deterministic=True)

    def free(self, message: Any, depth: int) -> None:  # noqa: ANN401
        """Fill a Value."""
        kind = self.rng.choice(("null", "number", "text", "bool", "struct", "list") if depth < 6 else ("null", "bool"))
        if kind == "null":
            message.null_value = 0
        elif kind == "number":
            message.number_value = self.rng.choice((0.0, -1.5, 1e300, 2.0**53, 3.0))
        elif kind == "text":
            message.string_value = self.rng.choice(TEXTS)
        elif kind == "bool":
            message.bool_value = self.rng.random() < 0.5
        elif kind == "struct":
            message.struct_value.SetInParent()
            self.struct(message.struct_value, depth + 1)
        else:
            message.list_value.SetInParent()
            self.list(message.list_value, depth + 1)

    def struct(self, message: Any, depth: int) -> None:  # noqa: ANN401
        """Fill a Struct."""
        for _ in range(self.rng.randint(0, 3)):
            self.free(message.fields[self.rng.choice(TEXTS)], depth + 1)

    def list(self, message: Any, depth: int) -> None:  # noqa: ANN401
        """Fill a ListValue."""
        for _ in range(self.rng.randint(0, 3)):
            self.free(message.values.add(), depth + 1)

    def duration(self, message: Any, _: int) -> None:  # noqa: ANN401
        """Fill a Duration."""
        sign = self.rng.choice((1, -1))
        message.seconds = sign * self.rng.choice((0, 1, 59, 315_576_000_000 - 1))
        message.nanos = sign * self.rng.choice((0, 1, 1000, 500_000_000, 999_999_999))

    def timestamp(self, message: Any, _: int) -> None:  # noqa: ANN401
        """Fill a Timestamp."""
        message.seconds = self.rng.choice((0, -1, -62_135_596_800, 253_402_300_799, 1_767_323_045))
        message.nanos = self.rng.choice((0, 1, 1000, 500_000_000, 999_999_999))

    def mask(self, message: Any, _: int) -> None:  # noqa: ANN401
        """Fill a FieldMask."""
        message.paths.extend(self.rng.sample(PATHS, self.rng.randint(0, 3)))


def _of(message: Any, field: FieldDescriptor) -> Any:  # noqa: ANN401
    return message.Extensions[field] if field.is_extension else getattr(message, field.name)


_OWN: Final[Mapping[str, Callable[[Values, Any, int], None]]] = {
    f"{PROTOBUF}Any": Values.any_of,
    f"{PROTOBUF}Duration": Values.duration,
    f"{PROTOBUF}FieldMask": Values.mask,
    f"{PROTOBUF}ListValue": Values.list,
    f"{PROTOBUF}Struct": Values.struct,
    f"{PROTOBUF}Timestamp": Values.timestamp,
    f"{PROTOBUF}Value": Values.free,
}
