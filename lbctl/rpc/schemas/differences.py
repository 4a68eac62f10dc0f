"""Where backends describe the same thing differently: methods, the fields of messages, the values of enums.

What is compared are the methods and all types that these need. A part is a field by its number, a value by its number:

    test.Text, field 3    string note   on a, b
                          nothing       on c          (so c is older)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
)

from lbctl.rpc.schemas.catalogue import Catalogue, MethodFacts
from lbctl.rpc.schemas.symbols import Kind, Symbol, index

FIELD: Final = FieldDescriptorProto

# What is said of each part of one symbol.
Parts = Mapping[str, str]


class Variant(NamedTuple):
    """What a part is, None for not there, and on which backends."""

    text: str | None
    backends: tuple[str, ...]


class Difference(NamedTuple):
    """One part of one symbol that is not the same everywhere; ``part`` is "" for the symbol as such."""

    symbol: str
    part: str
    variants: tuple[Variant, ...]


def differences(catalogues: Mapping[str, Catalogue], shown: Iterable[str]) -> tuple[Difference, ...]:
    """Compare what backends, by address, say of the methods with these full names and of all their types.

    Of a type only those backends count that have it: it is a method, or a field, that is missing elsewhere.
    """
    wanted = set(shown)
    described = {address: _described(each, wanted) for address, each in catalogues.items()}
    names = dict.fromkeys(name for each in described.values() for name in each)
    return tuple(found for name in names for found in _of_symbol(name, described))


def _of_symbol(name: str, described: Mapping[str, Mapping[str, Parts]]) -> Iterator[Difference]:
    is_method = "/" in name
    having = {address: each.get(name, {}) for address, each in described.items() if is_method or name in each}
    for part in sorted(dict.fromkeys(part for each in having.values() for part in each), key=_in_order):
        alike: dict[str | None, list[str]] = {}
        for address, each in having.items():
            alike.setdefault(each.get(part), []).append(address)
        if len(alike) > 1:
            yield Difference(name, part, tuple(Variant(text, tuple(who)) for text, who in _most_first(alike)))


def _most_first(alike: Mapping[str | None, Sequence[str]]) -> list[tuple[str | None, Sequence[str]]]:
    """What is there before what is not, then what most have."""
    return sorted(alike.items(), key=lambda item: (item[0] is None, -len(item[1])))


def _in_order(part: str) -> tuple[str, int]:
    word, _, number = part.rpartition(" ")
    return word, int(number) if number.lstrip("-").isdigit() else 0


def _described(catalogue: Catalogue, wanted: set[str]) -> dict[str, Parts]:
    """What one backend says of everything that is compared, by name."""
    methods = [method for method in catalogue.methods if method.full_name in wanted]
    found: dict[str, Parts] = {method.full_name: {"": _of_method(method)} for method in methods}
    known = index(catalogue.files)
    waiting = [name for method in methods for name in (method.request, method.response)]
    while waiting:
        name = waiting.pop(0)
        symbol = known.get(name)
        if symbol is None or name in found:
            continue
        found[name] = _parts(symbol)
        waiting.extend(_types(symbol))
    return found


def _of_method(method: MethodFacts) -> str:
    sides = ("stream " if method.client_streaming else "", "stream " if method.server_streaming else "")
    old = ", deprecated" if method.deprecated else ""
    return f"{sides[0]}{method.request} -> {sides[1]}{method.response}{old}"


def _types(symbol: Symbol) -> list[str]:
    if not isinstance(symbol.node, DescriptorProto):
        return []
    entries = [inner for inner in symbol.node.nested_type if inner.options.map_entry]
    fields = [*symbol.node.field, *(field for entry in entries for field in entry.field)]
    return [field.type_name.removeprefix(".") for field in fields if field.type_name]


def _parts(symbol: Symbol) -> Parts:
    if symbol.kind is Kind.ENUM and isinstance(symbol.node, EnumDescriptorProto):
        names: dict[str, list[str]] = {}
        for value in symbol.node.value:
            names.setdefault(f"value {value.number}", []).append(value.name)
        return {part: " and ".join(each) for part, each in names.items()}
    if not isinstance(symbol.node, DescriptorProto):
        return {}
    message = symbol.node
    fields = {f"field {field.number}": _of_field(field, message, symbol) for field in message.field}
    return {"syntax": symbol.file.syntax or "proto2", **fields}


def _of_field(field: FieldDescriptorProto, message: DescriptorProto, symbol: Symbol) -> str:
    kind = _type(field, message, symbol.name)
    words = ["" if kind.startswith("map<") else _label(field), kind, field.name]
    extras = []
    if field.HasField("oneof_index") and not field.proto3_optional:
        extras.append(f"oneof {message.oneof_decl[field.oneof_index].name}")
    if field.HasField("default_value"):
        extras.append(f"default {field.default_value}")
    if field.options.deprecated:
        extras.append("deprecated")
    return " ".join(word for word in words if word) + (f" ({', '.join(extras)})" if extras else "")


def _label(field: FieldDescriptorProto) -> str:
    if field.label == FIELD.LABEL_REPEATED:
        return "repeated"
    if field.label == FIELD.LABEL_REQUIRED:
        return "required"
    return "optional" if field.proto3_optional else ""


def _type(field: FieldDescriptorProto, message: DescriptorProto, full_name: str) -> str:
    entry = next((inner for inner in message.nested_type if f".{full_name}.{inner.name}" == field.type_name), None)
    if entry is not None and entry.options.map_entry:
        key, value = (_type(each, entry, f"{full_name}.{entry.name}") for each in entry.field)
        return f"map<{key}, {value}>"
    return field.type_name.removeprefix(".") or FIELD.Type.Name(field.type).removeprefix("TYPE_").lower()
