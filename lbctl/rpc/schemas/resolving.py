"""Which definition a user means: a full name, the end of one, ``Service/Method``, or the name of a proto file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from google.protobuf.descriptor_pb2 import MethodDescriptorProto

from lbctl.errors import NotFound
from lbctl.rpc.schemas.lookup import FULL_NAME, is_infrastructure, listed
from lbctl.rpc.schemas.symbols import WHOLE, Kind, Symbol, index

if TYPE_CHECKING:
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    from lbctl.rpc.schemas.source import Source

_NEAREST: Final = 3


@dataclass(frozen=True, slots=True)
class Described:
    """What was asked for: definitions, with all files that were needed; by which version of reflection, or files."""

    symbols: tuple[Symbol, ...]
    files: Mapping[str, FileDescriptorProto]
    protocol: str


async def describe(source: Source, wanted: str | None) -> Described:
    """Find what is wanted, without it the services of the source; a method comes with its messages.

    Raises NotFound for what is not described, and what the source raises.
    """
    if wanted is None:
        found: Iterable[Symbol] = await _services(source)
    else:
        found = _with_messages(await _resolve(source, wanted), index(source.files))
    return Described(tuple(found), dict(source.files), source.protocol)


async def _services(source: Source) -> list[Symbol]:
    """The source's own services, or gRPC's where it has no others."""
    known = await _everything(source)
    listing = [known[name] for name in source.listing if name in known]
    own = [symbol for symbol in listing if not is_infrastructure(symbol.name)]
    if not listing:
        raise NotFound(f"{source.origin} describes no services")
    return own or listing


async def _resolve(source: Source, text: str) -> Symbol:
    bare = text.strip().strip("/").removeprefix(".")
    name = bare.replace("/", ".")
    if FULL_NAME.fullmatch(name) and "." in name:
        owner = bare.rpartition("/")[0]  # of a method
        await source.symbol(owner or name)
        await source.complete()
        exact = _whole(index(source.files).get(name), index(source.files))
        if exact is not None:
            return exact
    known = await _everything(source)
    file = source.files.get(bare)
    if file is not None:
        return Symbol(file.name, Kind.FILE, file, file, (), file.package)
    return _choose(text, name, known)


async def _everything(source: Source) -> dict[str, Symbol]:
    """All that the services of a source lead to."""
    for service in source.listing:
        if FULL_NAME.fullmatch(service):
            await source.methods(service)
    await source.complete()
    return index(source.files)


def _choose(text: str, name: str, known: Mapping[str, Symbol]) -> Symbol:
    """The one definition whose name ends so; one of gRPC's own only where there is no other."""
    fits = [symbol for symbol in known.values() if symbol.name == name or symbol.name.endswith(f".{name}")]
    whole = [symbol for symbol in fits if symbol.kind in WHOLE] or fits
    found = [symbol for symbol in whole if not symbol.name.startswith(("grpc.", "google."))] or whole
    if len(found) > 1:
        names = [symbol.spelt for symbol in found]
        raise NotFound(f'"{text}" is ambiguous: {listed(names)}', f"give the full name, for example {names[0]}")
    if not found:
        raise _not_found(text, name, [symbol for symbol in known.values() if symbol.kind in WHOLE])
    one = _whole(found[0], known)
    assert one is not None
    return one


def _whole(symbol: Symbol | None, known: Mapping[str, Symbol]) -> Symbol | None:
    """The definition itself, or what it is a part of: the message of a field, the enum of a value."""
    while symbol is not None and symbol.kind not in WHOLE:
        symbol = known.get(symbol.scope)
    return symbol


def _with_messages(symbol: Symbol, known: Mapping[str, Symbol]) -> Iterable[Symbol]:
    if not isinstance(symbol.node, MethodDescriptorProto):
        return [symbol]
    types = dict.fromkeys((symbol.node.input_type, symbol.node.output_type))
    messages = [known.get(name.removeprefix(".")) for name in types]
    return [symbol, *(message for message in messages if message is not None)]


def _not_found(text: str, name: str, known: Sequence[Symbol]) -> NotFound:
    spelt: dict[str, Symbol] = {}
    for symbol in known:
        for each in (symbol.name.lower(), symbol.name.rpartition(".")[2].lower()):
            spelt.setdefault(each, symbol)
    near = dict.fromkeys(spelt[each].spelt for each in get_close_matches(name.lower(), spelt, n=_NEAREST))
    if near:
        return NotFound(f'nothing is called "{text}"', f"did you mean {' or '.join(near)}?")
    services = [symbol.name for symbol in known if symbol.kind is Kind.SERVICE]
    return NotFound(f'nothing is called "{text}"', f"services: {listed(services)}" if services else "")
