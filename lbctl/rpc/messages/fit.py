"""Whether a value of JSON fits a message: protobuf's parser decides in the end, this says where and what is wrong.

What fits is returned as that parser takes it. It is the same value, but for the few forms that the mapping allows and
the parser does not know: text of a whole number with a fraction or exponent beyond what a float holds, null for a
NullValue in a list or map, the largest float as it is printed. Of an Any it is the octets, as ``filling`` has them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from lbctl.rpc.messages.filling import Held, octets_of
from lbctl.rpc.messages.kinds import ANY, PROTOBUF, WRAPPERS, field_names, find_type, is_map, is_special, type_name
from lbctl.rpc.messages.mistake import DESCRIBE, MAX_NAMES, Mistake, at, named, nearest, shown_value, wrong
from lbctl.rpc.messages.own_values import FITS, MAX_DEPTH, too_deep
from lbctl.rpc.messages.scalars import TEXT, fit_key, fit_scalar, is_text, octets
from lbctl.rpc.schemas.schema import is_placeholder

ANY_FORM: Final = 'an Any is written {"@type": "type.googleapis.com/pkg.Message", ...} with the fields beside the type'
EMPTY: Final = f"{PROTOBUF}Empty"
_OCTETS: Final = "@value"
_NULLS: Final = frozenset({f"{PROTOBUF}Value", f"{PROTOBUF}NullValue"})


def fit(value: Any, kind: Descriptor, path: str = "", depth: int = 0) -> Any:  # noqa: ANN401  # whatever JSON holds
    """Return a value as protobuf's parser takes it for a message type; raises Mistake where it does not fit."""
    if is_placeholder(kind):
        raise Mistake(f"{named(path)} is a {kind.full_name}, which nobody describes", DESCRIBE)
    if depth >= MAX_DEPTH:
        raise too_deep(path)
    if kind.full_name in FITS:
        return FITS[kind.full_name](value, path, depth)
    if kind.full_name in WRAPPERS:
        return fit_scalar(value, kind.fields_by_name["value"], path)
    if kind.full_name == ANY:
        return _any(value, kind, path, depth)
    if not isinstance(value, dict):
        raise wrong(path, f"an object of {kind.full_name}", value)
    return _members(value, kind, path, depth)


def _members(value: Mapping[str, Any], kind: Descriptor, path: str, depth: int) -> dict[str, Any]:
    found = {}
    taken: dict[str, str] = {}
    for name, item in value.items():
        field = field_names(kind).get(name) or _extension(name, kind, path)
        if field is None:
            raise _unknown(name, kind, path)
        if item is not None or _takes_null(field):
            _take(taken, field, name, kind, path)
        place = f"{path}.{name}" if path else name
        found[name] = None if item is None else _field(item, field, place, depth)
    missing = [field.name for field in _required(kind) if field.name not in taken]
    if missing:
        raise Mistake(f"{kind.full_name} requires {', '.join(missing)}{at(path)}")
    return found


def _take(taken: dict[str, str], field: FieldDescriptor, name: str, kind: Descriptor, path: str) -> None:
    """Note that a field is set; raises Mistake where it, or another one of its oneof, already is."""
    oneof = field.containing_oneof
    group = field.full_name if field.is_extension else f"oneof {oneof.name}" if oneof is not None else field.name
    if group in taken:
        raise Mistake(f'{kind.full_name} takes only one of "{taken[group]}" and "{name}"{at(path)}')
    taken[group] = name


def _takes_null(field: FieldDescriptor) -> bool:
    kind = field.message_type or field.enum_type
    return kind is not None and kind.full_name in _NULLS and not field.is_repeated


@lru_cache(maxsize=256)
def _required(kind: Descriptor) -> tuple[FieldDescriptor, ...]:
    return tuple(field for field in kind.fields if field.is_required)


def _extension(name: str, kind: Descriptor, path: str) -> FieldDescriptor | None:
    """The extension of that name in brackets; None for what is no such name."""
    if not (name.startswith("[") and name.endswith("]")):
        return None
    if not kind.is_extendable:
        raise Mistake(f'{kind.full_name} takes no extensions, so no "{name}"{at(path)}')
    pool = kind.file.pool
    try:
        found: FieldDescriptor = pool.FindExtensionByName(name[1:-1])
    except KeyError:
        known = [each.full_name for each in pool.FindAllExtensions(kind)]
        near = nearest(name[1:-1], known).replace('"', '"[', 1).replace('"?', ']"?')
        raise Mistake(
            f'nobody describes the extension "{name}" of {kind.full_name}{at(path)}{near}', DESCRIBE
        ) from None
    extended = found.containing_type
    if extended is None or extended.full_name != kind.full_name:
        raise Mistake(f'"{name}" extends {extended and extended.full_name}, not {kind.full_name}{at(path)}')
    return found


def _field(value: Any, field: FieldDescriptor, path: str, depth: int) -> Any:  # noqa: ANN401
    if is_map(field):
        return _map(value, field, path, depth)
    if not field.is_repeated:
        return _item(value, field, path, depth)
    if not isinstance(value, list):
        raise wrong(path, "a list", value)
    return [_item(item, field, f"{path}[{i}]", depth) for i, item in enumerate(value)]


def _map(value: Any, field: FieldDescriptor, path: str, depth: int) -> dict[str, Any]:  # noqa: ANN401
    if not isinstance(value, dict):
        raise wrong(path, "an object (a map)", value)
    entry = field.message_type
    assert entry is not None
    key_field, value_field = entry.fields_by_name["key"], entry.fields_by_name["value"]
    found = {}
    taken: dict[object, str] = {}
    for key, item in value.items():
        place = f"{path}[{shown_value(key)}]"
        meant = fit_key(key, key_field, place)
        if meant in taken:
            raise Mistake(f"the keys {shown_value(taken[meant])} and {shown_value(key)} of {path} are the same")
        taken[meant] = key
        found[key if isinstance(meant, str) else str(meant)] = _item(item, value_field, place, depth)
    return found


def _item(value: Any, field: FieldDescriptor, path: str, depth: int) -> Any:  # noqa: ANN401
    if field.message_type is not None:
        return fit(value, field.message_type, path, depth + 1)
    return fit_scalar(value, field, path)


def _any(value: Any, any_: Descriptor, path: str, depth: int) -> Any:  # noqa: ANN401
    if value == {}:
        return value
    url = value.get("@type") if isinstance(value, dict) else None
    if not isinstance(url, str):
        raise _untyped(value, path)
    if not is_text(url):
        raise wrong(f"{path}.@type" if path else "@type", TEXT, url)
    kind = find_type(any_.file.pool, type_name(url))
    if _OCTETS in value and (kind is None or _OCTETS not in field_names(kind)):
        return _as_shown(value, url, any_, path)
    if kind is None:
        raise Mistake(
            f'{named(path)} holds the type "{url}", which nobody describes',
            f"{ANY_FORM}; a type that the server does not describe is given with --proto FILE or --protoset FILE, or "
            f'its octets are: {{"@type": ..., "{_OCTETS}": "base64"}}',
        )
    return Held(url, octets_of(kind, _contents(value, kind, path, depth)))


def _contents(value: Mapping[str, Any], kind: Descriptor, path: str, depth: int) -> Any:  # noqa: ANN401
    """The JSON of what an Any holds."""
    rest = {name: item for name, item in value.items() if name != "@type"}
    if kind.full_name == EMPTY and rest == {"value": {}}:  # as other languages write it
        rest = {}
    if not is_special(kind):
        return _members(rest, kind, path, depth + 1)
    if set(rest) != {"value"}:
        raise Mistake(f'{named(path)} holds a {kind.full_name}, which is written {{"@type": ..., "value": ...}}')
    return fit(rest["value"], kind, f"{path}.value" if path else "value", depth + 1)


def _as_shown(value: Mapping[str, Any], url: str, any_: Descriptor, path: str) -> Held:
    """An Any by its octets, as one is shown that nobody describes."""
    more = [name for name in value if name not in ("@type", "@error", _OCTETS)]
    if more:
        raise Mistake(f'{named(path)} has its octets in "{_OCTETS}", and so no "{more[0]}"')
    return Held(url, octets(value[_OCTETS], any_.fields_by_name["value"], f"{path}.{_OCTETS}" if path else _OCTETS))


def _untyped(value: Any, path: str) -> Mistake:  # noqa: ANN401
    """The mistake of an Any that does not say what it holds, as JSON does."""
    url = value.get("type_url", value.get("typeUrl")) if isinstance(value, dict) else None
    if not isinstance(url, str):
        return wrong(path, 'an object with "@type"', value, ANY_FORM)
    spelt = f'{{"@type": {json.dumps(url)}'
    held = shown_value(value["value"] if isinstance(value.get("value"), str) else "base64")
    return Mistake(
        f'{named(path)} is an Any, whose type "{url}" stands in "@type", not in "type_url"',
        f'write {spelt}, ...}} with the message\'s fields, or its octets: {spelt}, "{_OCTETS}": {held}}}',
    )


def _unknown(name: str, kind: Descriptor, path: str) -> Mistake:
    fields = [field.name for field in kind.fields]
    near = nearest(name, [*fields, *(field.json_name for field in kind.fields)])
    if not near:
        near = f"; it has {', '.join(fields[:MAX_NAMES]) or 'none'}"
    return Mistake(f"{kind.full_name} has no field {shown_value(name)}{at(path)}{near}")
