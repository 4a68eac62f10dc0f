"""Other ways to write the same JSON of a message: names as in the source, numbers as text, nulls, another order."""

from __future__ import annotations

from random import Random
from typing import Any, Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from lbctl.rpc.messages.kinds import ANY, PROTOBUF, WRAPPERS, is_map, is_special, type_name

F: Final = FieldDescriptor
INTEGERS: Final = frozenset({F.CPPTYPE_INT32, F.CPPTYPE_INT64, F.CPPTYPE_UINT32, F.CPPTYPE_UINT64})
NULLS: Final = frozenset({f"{PROTOBUF}Value", f"{PROTOBUF}NullValue"})


def respelt(value: Any, kind: Descriptor, rng: Random) -> Any:  # noqa: ANN401  # whatever JSON holds
    """The JSON of a message, written otherwise here and there."""
    if kind.full_name in WRAPPERS:
        return _scalar(value, kind.fields_by_name["value"], rng)
    if kind.full_name == ANY:
        return _any(value, kind, rng)
    if is_special(kind):
        return value
    fields = {field.json_name: field for field in kind.fields}
    found = []
    for name, item in value.items():
        field = fields[name] if name in fields else kind.file.pool.FindExtensionByName(name[1:-1])
        found.append((rng.choice((name, field.name)) if name in fields else name, _field(item, field, rng)))
    found += [(name, None) for name, field in fields.items() if name not in value and _may_be_null(field, rng)]
    rng.shuffle(found)
    return dict(found)


def _may_be_null(field: FieldDescriptor, rng: Random) -> bool:
    kind = field.message_type or field.enum_type
    return not field.is_required and rng.random() < 0.1 and (kind is None or kind.full_name not in NULLS)


def _any(value: Any, kind: Descriptor, rng: Random) -> Any:  # noqa: ANN401
    if not value:
        return value
    inner = kind.file.pool.FindMessageTypeByName(type_name(value["@type"]))
    if is_special(inner):
        return {"value": respelt(value["value"], inner, rng), "@type": value["@type"]}
    rest = respelt({name: item for name, item in value.items() if name != "@type"}, inner, rng)
    if inner.full_name == f"{PROTOBUF}Empty" and rng.random() < 0.5:
        rest = {"value": {}}
    return {**rest, "@type": value["@type"]} if rng.random() < 0.5 else {"@type": value["@type"], **rest}


def _field(value: Any, field: FieldDescriptor, rng: Random) -> Any:  # noqa: ANN401
    if is_map(field):
        assert field.message_type is not None
        inner = field.message_type.fields_by_name["value"]
        return {key: _item(item, inner, rng) for key, item in value.items()}
    return [_item(item, field, rng) for item in value] if field.is_repeated else _item(value, field, rng)


def _item(value: Any, field: FieldDescriptor, rng: Random) -> Any:  # noqa: ANN401
    return _scalar(value, field, rng) if field.message_type is None else respelt(value, field.message_type, rng)


def _scalar(value: Any, field: FieldDescriptor, rng: Random) -> Any:  # noqa: ANN401
    if value is None or rng.random() < 0.4:
        return value
    if field.cpp_type in INTEGERS:
        number = int(value)
        return rng.choice((number, str(number), f"{number}.0", f"{number}e0"))
    if field.cpp_type in (F.CPPTYPE_FLOAT, F.CPPTYPE_DOUBLE):
        return str(value)
    if field.enum_type is not None:
        number = value if isinstance(value, int) else field.enum_type.values_by_name[value].number
        return rng.choice((number, str(number)))
    if field.type == F.TYPE_BYTES:
        return rng.choice((value.rstrip("="), value.replace("+", "-").replace("/", "_")))
    return value
