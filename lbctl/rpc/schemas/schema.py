"""A method and its message types, built from descriptor files in a pool of their own.

Files that a server cannot deliver do not matter until a message needs them: a missing import is an empty file, a
missing type is an empty placeholder. The pool is always private, so that no backend can collide with lbctl's own
etcd and health messages.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Final

from google.protobuf.descriptor import Descriptor
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    ServiceDescriptorProto,
)
from google.protobuf.descriptor_pool import DescriptorPool

from lbctl.errors import CannotCall

PLACEHOLDER: Final = "lbctl-placeholder/"
WELL_KNOWN: Final = "google/protobuf/"
LAST_EXTENSION: Final = 536_870_912
FIELD: Final = FieldDescriptorProto

Files = Mapping[str, FileDescriptorProto]


@dataclass(frozen=True, slots=True, eq=False)
class Method:
    """One RPC method: its name as people write it, its HTTP/2 path, its message types."""

    full_name: str
    path: str
    input_type: Descriptor
    output_type: Descriptor
    client_streaming: bool = False
    server_streaming: bool = False


def build_method(files: Files, service: str, name: str, origin: str = "server reflection") -> Method:
    """Build one method out of the files that describe it; raises CannotCall if they contradict each other.

    ``origin`` is what errors call them.
    """
    full_name = f"{service}/{name}"
    declaration = find_service(files, service)
    if declaration is None:
        raise CannotCall(f"{origin} does not describe {service}")
    try:
        pool = build_pool(files, declaration[0].name)
        found = pool.FindServiceByName(service).FindMethodByName(name)
    except (KeyError, TypeError, ValueError, CycleError) as error:
        raise _contradiction(full_name, error, origin) from error
    for type_ in (found.input_type, found.output_type):
        if is_placeholder(type_):
            raise CannotCall(f"{full_name} needs {type_.full_name}, which {origin} does not describe")
    return Method(
        full_name, "/" + full_name, found.input_type, found.output_type, found.client_streaming, found.server_streaming
    )


def _contradiction(full_name: str, error: Exception, origin: str) -> CannotCall:
    reason = " ".join(ascii(str(error))[1:-1].split())[:200]
    told = f"{origin} {'has' if origin.startswith('--') else 'sent'}"
    return CannotCall(f"the schema of {full_name} that {told} cannot be used: {reason}")


def is_placeholder(type_: Descriptor) -> bool:
    """Tell whether a type only stands in for one that nobody described."""
    return str(type_.file.name).startswith(PLACEHOLDER)


def find_service(files: Files, full_name: str) -> tuple[FileDescriptorProto, ServiceDescriptorProto] | None:
    """Find the file that declares a service, and the declaration."""
    for file in files.values():
        for service in file.service:
            if join(file.package, service.name) == full_name:
                return file, service
    return None


def well_known(name: str) -> FileDescriptorProto | None:
    """Return one of protobuf's own files, which some servers do not bother to send."""
    stem = name.removeprefix(WELL_KNOWN).removesuffix(".proto")
    if not name.startswith(WELL_KNOWN) or not stem.isidentifier():
        return None
    try:
        module = importlib.import_module(f"google.protobuf.{stem}_pb2")
    except ImportError:
        return None
    file = FileDescriptorProto()
    module.DESCRIPTOR.CopyToProto(file)
    return file


def missing_imports(files: Files) -> list[str]:
    """List the imports that no file provides, in a stable order."""
    return sorted({name for file in files.values() for name in file.dependency} - set(files))


def missing_types(files: Files) -> list[str]:
    """List the full names of the types that no file defines, in a stable order."""
    defined = {name for file in files.values() for name in definitions(file)}
    return sorted({name for file in files.values() for name in references(file)} - defined)


def build_pool(files: Files, root: str) -> DescriptorPool:
    """Put a file and all it needs into a new pool."""
    pool = DescriptorPool()
    grow(pool, files, root)
    return pool


def grow(pool: DescriptorPool, files: Files, root: str) -> None:
    """Put a file and all it needs beside what a pool has; raises TypeError or ValueError for what contradicts that."""
    complete = {**files, **_stand_ins(files)}
    provider = {name: file.name for file in complete.values() for name in definitions(file)}
    imports = {name: _imports(file, provider) for name, file in complete.items()}
    for name in TopologicalSorter(_closure(imports, root)).static_order():
        if _has(pool, name):
            continue
        file = FileDescriptorProto()
        file.CopyFrom(complete[name])
        file.dependency.extend(sorted(imports[name] - set(file.dependency)))
        _drop_lost_defaults(file, provider)
        pool.Add(file)


def _has(pool: DescriptorPool, name: str) -> bool:
    try:
        pool.FindFileByName(name)
    except KeyError:
        return False
    return True


def find_file(files: Files, symbol: str) -> str | None:
    """Return the name of the file that defines a message, enum, extension or service, by its full name."""
    for file in files.values():
        services = (join(file.package, service.name) for service in file.service)
        if symbol in {*definitions(file), *services, *extensions(file)}:
            return file.name
    return None


def extensions(file: FileDescriptorProto) -> Iterator[str]:
    """List the full names of the extensions a file declares."""
    yield from (join(file.package, field.name) for field in file.extension)
    for prefix, message in messages(file):
        yield from (join(prefix, message.name, field.name) for field in message.extension)


def extends(files: Files, type_name: str, number: int) -> bool:
    """Tell whether any of the files declares the extension of a message, by its full name, that has that number."""
    wanted = {type_name, f".{type_name}"}
    return any(
        field.number == number and field.extendee in wanted for file in files.values() for field in _extensions(file)
    )


def _extensions(file: FileDescriptorProto) -> Iterator[FieldDescriptorProto]:
    yield from file.extension
    for _, message in messages(file):
        yield from message.extension


def _drop_lost_defaults(file: FileDescriptorProto, provider: Mapping[str, str]) -> None:
    # A placeholder enum has no values, so that a default by name would not resolve.
    for field in _fields(file):
        if field.type == FIELD.TYPE_ENUM and provider.get(field.type_name[1:], "").startswith(PLACEHOLDER):
            field.ClearField("default_value")


def _closure(imports: Mapping[str, set[str]], root: str) -> dict[str, set[str]]:
    reached: dict[str, set[str]] = {}
    waiting = [root]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached[name] = imports[name]
            waiting.extend(imports[name])
    return reached


def _imports(file: FileDescriptorProto, provider: Mapping[str, str]) -> set[str]:
    """All a file needs: what it imports, and whoever defines its types, whether under the imported name or not."""
    return {*file.dependency, *(provider[name] for name in references(file))} - {file.name}


def _stand_ins(files: Files) -> dict[str, FileDescriptorProto]:
    empty = [FileDescriptorProto(name=name) for name in missing_imports(files)]
    missing = missing_types(files)
    kinds = {name: kind for file in files.values() for name, kind in references(file).items()}
    outer = [name for name in missing if not any(name.startswith(f"{other}.") for other in missing)]
    placeholders = [_placeholder(name, [n for n in missing if n.startswith(f"{name}.")], kinds) for name in outer]
    return {file.name: file for file in (*empty, *placeholders)}


def _placeholder(name: str, nested: Iterable[str], kinds: Mapping[str, int]) -> FileDescriptorProto:
    package, _, short = name.rpartition(".")
    file = FileDescriptorProto(name=f"{PLACEHOLDER}{name}.proto", package=package, syntax="proto3")
    if kinds[name] == FIELD.TYPE_ENUM:
        file.enum_type.add(name=short).value.add(name=f"{short}_UNKNOWN", number=0)
        return file
    message = file.message_type.add(name=short)
    if kinds[name] == FIELD.TYPE_GROUP:  # extended by someone, which proto3 does not allow
        file.syntax = "proto2"
        message.extension_range.add(start=1, end=LAST_EXTENSION)
    for inner in nested:
        _nest(message, inner.removeprefix(f"{name}."), kinds[inner])
    return file


def _nest(message: DescriptorProto, path: str, kind: int) -> None:
    short, _, rest = path.partition(".")
    if kind == FIELD.TYPE_ENUM and not rest:
        message.enum_type.add(name=short).value.add(name=f"{short}_UNKNOWN", number=0)
        return
    inner = next((m for m in message.nested_type if m.name == short), None) or message.nested_type.add(name=short)
    if rest:
        _nest(inner, rest, kind)


def definitions(file: FileDescriptorProto) -> Iterator[str]:
    """List the full names of the messages and enums a file defines."""
    for prefix, message in messages(file):
        yield join(prefix, message.name)
        yield from (join(prefix, message.name, enum.name) for enum in message.enum_type)
    yield from (join(file.package, enum.name) for enum in file.enum_type)


def references(file: FileDescriptorProto) -> dict[str, int]:
    """Map every type a file uses by its full name to its field type; what is only extended counts as a group."""
    used: dict[str, int] = {}
    for service in file.service:
        for method in service.method:
            used[method.input_type] = used[method.output_type] = FIELD.TYPE_MESSAGE
    for field in _fields(file):
        used.setdefault(field.type_name, field.type)
    for field in _fields(file):
        used[field.extendee] = FIELD.TYPE_GROUP
    return {name[1:]: kind for name, kind in used.items() if name.startswith(".")}


def _fields(file: FileDescriptorProto) -> Iterator[FieldDescriptorProto]:
    yield from file.extension
    for _, message in messages(file):
        yield from message.field
        yield from message.extension


def messages(file: FileDescriptorProto) -> Iterator[tuple[str, DescriptorProto]]:
    """List all messages of a file, nested ones too, each with the full name of what it is in."""
    waiting = [(file.package, message) for message in file.message_type]
    while waiting:
        prefix, message = waiting.pop()
        yield prefix, message
        waiting.extend((join(prefix, message.name), inner) for inner in message.nested_type)


def join(*names: str) -> str:
    """Make a full name of its parts, of which some may be empty."""
    return ".".join(name for name in names if name)
