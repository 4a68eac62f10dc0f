"""Types that messages hold and their method's files do not define: fetched when a message needs them, each once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from graphlib import CycleError
from typing import TYPE_CHECKING, Any, Final

from google.protobuf.descriptor import Descriptor
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

from lbctl.errors import CannotCall
from lbctl.rpc.messages.kinds import ANY, contents, entries, find_type, is_map, type_name
from lbctl.rpc.messages.message import decoded
from lbctl.rpc.messages.own_types import own_files, own_types
from lbctl.rpc.messages.showing import shown
from lbctl.rpc.schemas.conversation import ReflectionFailed
from lbctl.rpc.schemas.schema import extends, find_file, grow

if TYPE_CHECKING:
    from lbctl.rpc.schemas.schema import Files, Method
    from lbctl.rpc.schemas.source import Source

MAX_QUESTIONS: Final = 256  # of one resolver: what a reply names is not ours to trust
FULL_NAME: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)

_URL: Final = re.compile(r'"+@type"+\s*:\s*"+([^"]+)"')  # quotes are doubled in the cells of CSV
_EXTENSION: Final = re.compile(r'"+\[([\w.]+)\]"+\s*:', re.ASCII)
_BRACKETED: Final = re.compile(r"""["']\[([\w./-]+)\]["']""", re.ASCII)
_OVERLAP: Final = 1024  # characters that may stand on both sides of the end of a chunk

# A type by its full name, or an extension by the message that it extends and its number.
Wanted = str | tuple[str, int]


class Resolver:
    """Fetches types from a source, and puts them into the pool of a method's messages.

    What nobody knows is asked for once. Without a source only protobuf's own types, and gRPC's, are known. A resolver
    is for one pool, and may be used for any number of messages.
    """

    def __init__(self, source: Source | None, pool: DescriptorPool) -> None:
        self._source = source
        self._pool = pool
        self._asked: set[Wanted] = set()

    async def fill(self, *values: object) -> None:
        """Fetch what values of JSON name: the ``"@type"`` of every Any, every ``"[extension]"``.

        Raises CannotCall where the source stops answering.
        """
        await self.learn(names_in(values))

    async def learn(self, names: Iterable[str]) -> None:
        """Fetch types and extensions by their full names; raises CannotCall as ``fill`` does."""
        for name in names:
            try:
                await self._fetch(name)
            except ReflectionFailed as error:
                origin = "server reflection" if self._source is None else self._source.origin
                raise CannotCall(f"{origin} was asked for {name}: {error}") from error

    async def reveal(self, kind: Descriptor, message: bytes, *, defaults: bool = False) -> Any:  # noqa: ANN401
        """Decode a reply for JSON, as ``message.decode`` does, with all fetched that it holds and that can be had.

        Raises CannotCall where the octets are no message of that kind.
        """
        while await self._found_one_of(lacking(decoded(kind, message), self._pool)):
            pass
        return shown(decoded(kind, message), defaults=defaults)

    async def _found_one_of(self, wanted: Iterable[Wanted]) -> bool:
        found = False
        for each in sorted(wanted, key=str):
            try:
                found = await self._fetch(each) or found
            except ReflectionFailed:
                self._source = None  # what is left is shown as it is
        return found

    async def _fetch(self, wanted: Wanted) -> bool:
        """Whether the pool has got what is wanted now, and had not before."""
        if wanted in self._asked or self._has(wanted):
            return False
        self._asked.add(wanted)
        own = own_types().get(wanted) if isinstance(wanted, str) else None
        if own is not None:
            return self._grow(own_files(), own)
        if self._source is None or len(self._asked) > MAX_QUESTIONS or not await _ask(self._source, wanted):
            return False
        await self._source.complete()
        root = _file_of(self._source.files, wanted)
        return root is not None and self._grow(self._source.files, root)

    def _has(self, wanted: Wanted) -> bool:
        try:
            if isinstance(wanted, str):
                return find_type(self._pool, wanted) is not None or bool(self._pool.FindExtensionByName(wanted))
            return bool(self._pool.FindExtensionByNumber(self._pool.FindMessageTypeByName(wanted[0]), wanted[1]))
        except KeyError:
            return False

    def _grow(self, files: Files, root: str) -> bool:
        try:
            grow(self._pool, files, root)
        except (TypeError, ValueError, KeyError, CycleError):  # it contradicts what is there: as good as unknown
            return False
        return True


async def _ask(source: Source, wanted: Wanted) -> bool:
    return await source.symbol(wanted) if isinstance(wanted, str) else await source.extension(*wanted)


def _file_of(files: Files, wanted: Wanted) -> str | None:
    if isinstance(wanted, str):
        return find_file(files, wanted)
    return next((name for name, file in files.items() if extends({name: file}, *wanted)), None)


def resolver_of(source: Source | None, method: Method) -> Resolver:
    """A resolver for the requests and replies of a method, which have a pool in common."""
    return Resolver(source, method.input_type.file.pool)


def names_in(value: object) -> set[str]:
    """List the types and extensions that a value of JSON names, by full name."""
    found: set[str] = set()
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, list | tuple):
            waiting.extend(each)
        elif isinstance(each, dict):
            waiting.extend(each.values())
            found |= {name[1:-1] for name in each if name.startswith("[") and name.endswith("]")}
            url = each.get("@type")
            if isinstance(url, str):
                found.add(type_name(url))
    return {name for name in found if FULL_NAME.fullmatch(name)}


def names_in_text(chunks: Iterable[str]) -> set[str]:
    """List the types and extensions that JSON names, as text in as many pieces as one likes; some may be none."""
    found: set[str] = set()
    rest = ""
    for chunk in chunks:
        text = rest + chunk
        if "@type" in text:
            found |= {type_name(url.replace("\\/", "/")) for url in _URL.findall(text)}
        if '"[' in text:
            found |= set(_EXTENSION.findall(text))
        rest = text[-_OVERLAP:]
    return {name for name in found if FULL_NAME.fullmatch(name)}


def names_in_check(text: str) -> set[str]:
    """List the types and extensions that a check of replies names."""
    return {name for name in map(type_name, _BRACKETED.findall(text)) if FULL_NAME.fullmatch(name)}


def lacking(message: Message, pool: DescriptorPool) -> set[Wanted]:
    """List what a message holds that its pool does not know: types of Any, and extensions."""
    found: set[Wanted] = set()
    waiting: list[Any] = [message]
    while waiting:
        each = waiting.pop()
        kind = each.DESCRIPTOR
        if kind.full_name == ANY:
            inner = contents(each, pool)
            if inner is not None:
                waiting.append(inner)
            elif each.type_url and find_type(pool, type_name(each.type_url)) is None:
                found.add(type_name(each.type_url))
            continue
        if kind.is_extendable:
            found |= {(kind.full_name, number) for number in _unknown_extensions(each, kind)}
        waiting.extend(_messages_in(each))
    return {name for name in found if isinstance(name, tuple) or FULL_NAME.fullmatch(name)}


def _messages_in(message: Any) -> Iterator[Message]:  # noqa: ANN401  # of any type of protobuf
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        if is_map(field):
            if field.message_type.fields_by_name["value"].message_type is not None:
                yield from (held for _, held in entries(message, field))
        elif field.is_repeated:
            yield from value
        else:
            yield value


def _unknown_extensions(message: Message, kind: Any) -> set[int]:  # noqa: ANN401  # a Descriptor; its stubs know no ranges
    unknown: Any = UnknownFieldSet(message)
    numbers = {field.field_number for field in unknown}
    return {number for number in numbers if any(start <= number < end for start, end in kind.extension_ranges)}
