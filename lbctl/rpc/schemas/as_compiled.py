"""Descriptor files as protobuf's compiler writes them, whatever a server makes of them.

Those on protobufjs have one file for each package, name types as in the source, do not mark proto3's optional fields,
and describe protobuf's own messages in words of their own: a Struct whose fields are no map.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    OneofDescriptorProto,
)

from lbctl.rpc.schemas.schema import WELL_KNOWN, definitions, join, messages, well_known

Files = Mapping[str, FileDescriptorProto]

_PACKAGE: Final = "google.protobuf"
_STEMS: Final = ("any", "api", "descriptor", "duration", "empty", "field_mask", "source_context", "struct")
# Protobuf's own files that describe messages.
OWN_FILES: Final = tuple(f"{WELL_KNOWN}{stem}.proto" for stem in (*_STEMS, "timestamp", "type", "wrappers"))


def as_compiled(files: Files) -> dict[str, FileDescriptorProto]:
    """Return the files with types by their full names, optional fields marked, and protobuf's own types as they are.

    Those where that is so already are the same objects.
    """
    return with_optionals(in_full(_with_own_types(files)))


def _with_own_types(files: Files) -> Files:
    """Take protobuf's own types out of files that are not protobuf's by their names, and put its own files there."""
    strange = [file for file in files.values() if file.package == _PACKAGE and not file.name.startswith(WELL_KNOWN)]
    if not strange:
        return files
    found = dict(files)
    for file in strange:
        for own in filter(None, map(well_known, OWN_FILES)):
            known = set(definitions(own))
            if known.isdisjoint(definitions(file)):
                continue
            found.setdefault(own.name, own)
            found[file.name] = _without(found[file.name], known)
    return found


def _without(file: FileDescriptorProto, known: Collection[str]) -> FileDescriptorProto:
    copy = FileDescriptorProto()
    copy.CopyFrom(file)
    copy.ClearField("message_type")
    copy.ClearField("enum_type")
    copy.message_type.extend(each for each in file.message_type if join(file.package, each.name) not in known)
    copy.enum_type.extend(each for each in file.enum_type if join(file.package, each.name) not in known)
    return copy


def in_full(files: Files) -> dict[str, FileDescriptorProto]:
    """Return the files with every type by its full name; those where that is so already are the same objects.

    A name is looked for from the inside out, by protobuf's rules of scopes; one that no file defines is a full name.
    """
    if not any(_has_short_names(file) for file in files.values()):
        return dict(files)
    defined = {name for file in files.values() for name in definitions(file)}
    return {name: _rewritten(file, defined) if _has_short_names(file) else file for name, file in files.items()}


def _has_short_names(file: FileDescriptorProto) -> bool:
    fields = (name for _, field in _fields(file) for name in (field.type_name, field.extendee))
    methods = (
        name for service in file.service for each in service.method for name in (each.input_type, each.output_type)
    )
    return any(name and not name.startswith(".") for name in (*fields, *methods))


def _rewritten(file: FileDescriptorProto, defined: Collection[str]) -> FileDescriptorProto:
    copy = FileDescriptorProto()
    copy.CopyFrom(file)
    for scope, field in _fields(copy):
        if field.type_name:
            field.type_name = _full(field.type_name, scope, defined)
        if field.extendee:
            field.extendee = _full(field.extendee, scope, defined)
    for service in copy.service:
        scope = join(copy.package, service.name)
        for method in service.method:
            method.input_type = _full(method.input_type, scope, defined)
            method.output_type = _full(method.output_type, scope, defined)
    return copy


def _full(name: str, scope: str, defined: Collection[str]) -> str:
    if name.startswith("."):
        return name
    while scope:
        if join(scope, name) in defined:
            return f".{scope}.{name}"
        scope = scope.rpartition(".")[0]
    return f".{name}"


def _fields(file: FileDescriptorProto) -> Iterator[tuple[str, FieldDescriptorProto]]:
    """All fields and extensions, each with the scope that its names are looked for in."""
    yield from ((file.package, field) for field in file.extension)
    for prefix, message in messages(file):
        scope = join(prefix, message.name)
        yield from ((scope, field) for field in (*message.field, *message.extension))


def with_optionals(files: Files) -> dict[str, FileDescriptorProto]:
    """Return the files with proto3's optional fields marked; those where that is so already are the same objects.

    The compiler puts such a field into a oneof of its own, behind all others, called as the field with a ``_`` before.
    """
    unmarked = {name for name, file in files.items() if any(_unmarked(message) for message in _of_proto3(file))}
    return {name: _marked(file) if name in unmarked else file for name, file in files.items()}


def _of_proto3(file: FileDescriptorProto) -> Iterator[DescriptorProto]:
    return (message for _, message in messages(file) if file.syntax == "proto3" and message.oneof_decl)


def _unmarked(message: DescriptorProto) -> list[FieldDescriptorProto]:
    """The fields that are alone in a oneof which is called as the compiler would call it."""
    members: dict[int, list[FieldDescriptorProto]] = {}
    for field in message.field:
        if field.HasField("oneof_index") and 0 <= field.oneof_index < len(message.oneof_decl):
            members.setdefault(field.oneof_index, []).append(field)
    alone = [(message.oneof_decl[index].name, inside[0]) for index, inside in members.items() if len(inside) == 1]
    return [field for name, field in alone if name == f"_{field.name}" and not field.proto3_optional]


def _marked(file: FileDescriptorProto) -> FileDescriptorProto:
    copy = FileDescriptorProto()
    copy.CopyFrom(file)
    for message in _of_proto3(copy):
        for field in _unmarked(message):
            field.proto3_optional = True
        _put_made_up_oneofs_last(message)
    return copy


def _put_made_up_oneofs_last(message: DescriptorProto) -> None:
    made_up = {field.oneof_index for field in message.field if field.proto3_optional}
    order = sorted(range(len(message.oneof_decl)), key=made_up.__contains__)
    declared = [OneofDescriptorProto.FromString(message.oneof_decl[index].SerializeToString()) for index in order]
    message.ClearField("oneof_decl")
    message.oneof_decl.extend(declared)
    places = {index: place for place, index in enumerate(order)}
    for field in message.field:
        if field.oneof_index in places and field.HasField("oneof_index"):
            field.oneof_index = places[field.oneof_index]
