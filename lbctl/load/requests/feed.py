"""The contents of one method's calls, from what was given for them: in turn, by chance, or each once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any, Final, NamedTuple

from lbctl.errors import UsageError
from lbctl.load.requests.columns import Columns
from lbctl.load.requests.content import Content
from lbctl.load.requests.forms import Form, Fresh, templates_in, understood
from lbctl.load.requests.given import Given, Order, Written
from lbctl.load.requests.records import Record
from lbctl.load.requests.sources import LISTS, Source, header_template
from lbctl.load.requests.templates import Drawing, Names, has_action
from lbctl.rpc.messages.message import DuplicateKey, encode_value, next_value
from lbctl.rpc.quick import encode_plain
from lbctl.rpc.schemas.schema import Method
from lbctl.wire.header_value import header_values
from lbctl.wire.request import Headers

SHUFFLED: Final = 4096  # records of a long file that the next is drawn from

Keyed = Callable[[Content], bytes]


class Prepared(NamedTuple):
    """One request, as far as it can be made before its turn comes: what draws each message, or the message."""

    parts: tuple[Any, ...]  # bytes, or what has ``draw``
    metadata: Headers
    fixed: Content | None  # where nothing is drawn


class Feed:
    """Makes the contents of one method's calls; without ``method`` nobody describes it, and messages are octets."""

    def __init__(self, given: Given, name: str, method: Method | None) -> None:
        """Raises UsageError for what is wrong with the whole, or with the first request."""
        service, _, rpc = name.rpartition("/")
        self._given = given
        self._method = method
        self._names = Names(service, rpc)
        self._keyed: Keyed | None = None
        self._kept: list[Prepared] | None = None
        fields = method.input_type.fields if method is not None else ()
        known = {name for field in fields for name in (field.name, field.json_name)}
        self._beside = given.columns.keys() - known  # columns that are metadata and nothing else
        self._columns: Columns | None = None  # of a file of CSV, once it was begun
        self._source = Source(given, method)
        self._written = self._source.written
        self._headers = [(name, header_template(name, text, self._names)) for name, text in given.drawn]
        if not self._source.is_long:
            self._kept = list(map(self._prepared, self._source.records()))
            if not self._kept:
                raise self._source.empty()

    @property
    def method(self) -> Method | None:
        """The method, where somebody described it."""
        return self._method

    def follow(self, keyed: Keyed) -> None:
        """Give every content the key that is found in it; raises UsageError where one that is known has none."""
        self._keyed = keyed
        if self._kept is not None:
            fixed = [None if each.fixed is None else self._with_key(each.fixed) for each in self._kept]
            self._kept = [each._replace(fixed=fix) for each, fix in zip(self._kept, fixed, strict=True)]

    @property
    def varied(self) -> frozenset[str]:
        """Names of metadata that may differ from call to call."""
        return frozenset([*self._given.columns.values(), *(name.decode() for name, _ in self._given.drawn)])

    @property
    def only(self) -> Content | None:
        """What every call sends, where it is always the same."""
        return self._kept[0].fixed if self._kept is not None and len(self._kept) == 1 else None

    @property
    def all(self) -> list[Content] | None:
        """Every content there is, each as likely as the others; None where that cannot be said."""
        fixed = [each.fixed for each in self._kept or ()]
        return [each for each in fixed if each is not None] if fixed and None not in fixed else None

    @property
    def is_drawn(self) -> bool:
        """Whether it is chance that says what comes next."""
        return self._given.order is Order.RANDOM or any(each.fixed is None for each in self._kept or ())

    def contents(self, drawing: Drawing) -> Iterator[Content]:
        """One content after the other, without end unless each is to be sent once; raises UsageError for a bad one."""
        once = self._given.order is Order.ONCE
        while True:
            count = 0
            for prepared in self._pass(drawing):
                count += 1
                yield prepared.fixed or self._content(prepared, drawing)
                drawing.number += 1
            if not count:
                raise self._source.empty()
            if once:
                return

    def _pass(self, drawing: Drawing) -> Iterable[Prepared]:
        kept, by_chance = self._kept, self._given.order is Order.RANDOM
        if kept is None:
            records = self._source.records()
            return map(self._prepared, _shuffled(records, drawing) if by_chance else records)
        if not by_chance:
            return kept
        return (kept[int(drawing.rng.random() * len(kept))] for _ in range(len(kept)))

    def _content(self, prepared: Prepared, drawing: Drawing) -> Content:
        messages = tuple([part if isinstance(part, bytes) else part.draw(drawing) for part in prepared.parts])
        metadata = prepared.metadata
        if self._headers:
            drawn = [
                (name, octets)
                for name, each in self._headers
                for octets in header_values(name.decode(), each.text(drawing))
            ]
            metadata = (*metadata, *drawn)
        return self._with_key(Content(messages, metadata))

    def _with_key(self, content: Content) -> Content:
        return content if self._keyed is None else content._replace(key=self._keyed(content))

    def _prepared(self, record: Record) -> Prepared:
        if self._written is Written.SERIES:
            return self._finished((record.value,), ())
        place = self._source.place(record)
        value, metadata = self._split(record, place)
        method = self._method
        assert method is not None
        if method.client_streaming and isinstance(value, list):
            name = place + ": message {}" if place != "request" else "message {}"
            many = len(value) > 1
            parts = [
                self._part(each, name.format(at) if many else place, drawn=record.drawn)
                for at, each in enumerate(value, 1)
            ]
            return self._finished(tuple(parts), metadata)
        return self._finished((self._part(value, place, drawn=record.drawn),), metadata)

    def _finished(self, parts: tuple[Any, ...], metadata: Headers) -> Prepared:
        fixed = not self._headers and all(isinstance(part, bytes) for part in parts)
        return Prepared(parts, metadata, self._with_key(Content(parts, metadata)) if fixed else None)

    def _part(self, value: Any, place: str, *, drawn: bool) -> Any:  # noqa: ANN401  # octets, or what draws them
        method = self._method
        assert method is not None
        if drawn and self._given.templates:
            value = understood(value, self._names, place)
            if next(templates_in(value), None) is not None:
                return (Fresh if self._source.is_long else Form)(method, value, place)
        octets = encode_plain(method.input_type, value)
        return encode_value(method, value, source=place) if octets is None else octets

    def _split(self, record: Record, place: str) -> tuple[Any, Headers]:
        """The message as JSON, and the metadata that is beside it."""
        value = record.value
        if self._written is Written.CSV:
            value = self._row(record)
        if not self._given.columns:
            return value, ()
        metadata: list[tuple[bytes, bytes]] = []
        for column, name in self._given.columns.items():
            found = record.value.get(column) if self._written is Written.CSV else _taken(value, column, place)
            text = _as_text(found, f'{place}: "{column}" for metadata {name}')
            if text:
                metadata.extend((name.encode(), octets) for octets in header_values(name, text))
        if self._written is not Written.CSV:
            value = self._without(value)
        return value, tuple(metadata)

    def _row(self, record: Record) -> dict[str, Any]:
        if self._columns is None:
            assert self._method is not None
            self._columns = Columns(
                list(record.value),
                self._method.input_type,
                self._given.source,
                free=self._given.columns,
                templates=self._given.templates,
            )
            missing = next((name for name in self._given.columns if name not in record.value), None)
            if missing is not None:
                raise UsageError(f"--metadata-from {missing}: {self._given.source} has no such column")
        return self._columns.value(record.value, record.place)

    def _without(self, value: Any) -> Any:  # noqa: ANN401  # whatever JSON holds
        """The JSON without what is metadata and no field of the message."""
        return {name: item for name, item in value.items() if name not in self._beside}


def varies(given: Given, text: str | None, method: Method) -> bool:
    """Whether the calls of a method may differ; what they have in common then is only known when each is made."""
    if given.file is not None or given.drawn or given.columns:
        return True
    if not text or (given.templates and has_action(text)):
        return bool(text)
    return not method.client_streaming and _several(text, method)


def _several(text: str, method: Method) -> bool:
    """Whether a text is several messages: an array of them, or one after the other."""
    bare = text.lstrip()
    if bare.startswith("["):
        return method.input_type.full_name not in LISTS
    try:
        _, end = next_value(bare, 0)
    except (ValueError, RecursionError, DuplicateKey):
        return False
    return bare[end:].lstrip()[:1] in ("{", "[")


def _shuffled(records: Iterator[Record], drawing: Drawing) -> Iterator[Record]:
    """Each record once, in an order that a window of them is drawn from."""
    window: list[Record] = []
    for record in records:
        if len(window) < SHUFFLED:
            window.append(record)
            continue
        at = int(drawing.rng.random() * SHUFFLED)
        window[at], record = record, window[at]
        yield record
    drawing.rng.shuffle(window)
    yield from window


def _taken(value: Any, path: str, place: str) -> Any:  # noqa: ANN401  # whatever JSON holds
    """What is at that path of a JSON object; None for nothing."""
    if not isinstance(value, dict):
        raise UsageError(f"{place}: --metadata-from is for objects, and this is not one")
    if path in value:
        return value[path]
    for step in path.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    return value


def _as_text(value: object, place: str) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise UsageError(f"{place} must be a string or a number")


def mixed(feeds: Sequence[Iterator[Content]], weights: Sequence[float], drawing: Drawing) -> Iterator[Content]:
    """Contents of several methods, each picked by chance in proportion to its weight; ends with the first that ends."""
    pick = chain.from_iterable(iter(partial(drawing.rng.choices, range(len(feeds)), weights, k=64), None))
    for number in pick:
        content = next(feeds[number], None)
        if content is None:
            return
        yield content if number == 0 else content._replace(method=number)
