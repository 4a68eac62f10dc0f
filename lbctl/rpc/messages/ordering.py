"""Maps in the order of their keys: protobuf has them in another order in every process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from lbctl.rpc.messages.kinds import ANY, FREE_FORM, field_names, find_type, is_map, is_special, reaches, type_name


def in_order(value: Any, kind: Descriptor) -> Any:  # noqa: ANN401  # whatever JSON holds
    """Return the JSON of a message with the keys of all maps in their order; fields stay as they are."""
    if kind.full_name in FREE_FORM:
        return _sorted(value)
    if kind.full_name == ANY:
        return _any(value, kind)
    if not isinstance(value, dict) or is_special(kind) or not _has_maps(kind):
        return value
    return {name: _field(item, _described(name, kind)) for name, item in value.items()}


def _any(value: Any, kind: Descriptor) -> Any:  # noqa: ANN401
    url = value.get("@type") if isinstance(value, dict) else None
    inner = find_type(kind.file.pool, type_name(url)) if isinstance(url, str) else None
    if inner is None:
        return value
    if is_special(inner):
        return {name: in_order(item, inner) if name == "value" else item for name, item in value.items()}
    return in_order(value, inner)


def _described(name: str, kind: Descriptor) -> FieldDescriptor | None:
    """The field or extension of that name; None for what is said beside them."""
    try:
        return field_names(kind).get(name) or kind.file.pool.FindExtensionByName(name[1:-1])
    except KeyError:
        return None


def _field(value: Any, field: FieldDescriptor | None) -> Any:  # noqa: ANN401
    kind = None if field is None else field.message_type
    if field is None or kind is None:
        return value
    if is_map(field) and isinstance(value, dict):
        return _map(value, kind)
    if isinstance(value, list) and field.is_repeated and not is_map(field):
        return [in_order(item, kind) for item in value]
    return in_order(value, kind)


def _map(value: Mapping[str, Any], entry: Descriptor) -> dict[str, Any]:
    key, held = entry.fields_by_name["key"], entry.fields_by_name["value"].message_type
    numbers = key.cpp_type not in (FieldDescriptor.CPPTYPE_STRING, FieldDescriptor.CPPTYPE_BOOL)
    names = sorted(value, key=int) if numbers else sorted(value)
    return {name: value[name] if held is None else in_order(value[name], held) for name in names}


def _sorted(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def _has_maps(kind: Descriptor) -> bool:
    return reaches(kind, frozenset({ANY, *FREE_FORM}), maps=True)
