"""What was given for the calls of a method, as records: one pass after the other, the same each time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from lbctl.errors import UsageError
from lbctl.load.requests.forms import quoted, understood
from lbctl.load.requests.given import Given, Written
from lbctl.load.requests.reading import KEPT, DataFile
from lbctl.load.requests.records import Record, form_of, ndjson, rows, series, values
from lbctl.load.requests.templates import Names, Template, has_action, parse_template
from lbctl.rpc.messages.message import parse_all
from lbctl.rpc.schemas.schema import Method
from lbctl.wire.header_value import header_values

LISTS: Final = ("google.protobuf.ListValue", "google.protobuf.Value")


class Source:
    """Where the requests of one method come from; without ``method`` nobody has described it yet, or will."""

    def __init__(self, given: Given, method: Method | None) -> None:
        """Raises UsageError for a file whose beginning cannot be read."""
        self._given = given
        self._method = method
        self.written = self._form()
        self.is_long = given.file is not None and given.file.size > KEPT  # too long to be kept

    def records(self) -> Iterator[Record]:
        """One pass over what was given; raises UsageError where it is not what it has to be."""
        given = self._given
        if given.raw is not None:
            return iter((Record(0, given.raw),))
        if given.file is None:
            return self._of_text(given.text or "{}")
        if not self.is_long and self.written is Written.JSON:
            return self._of_text(_text(given.file))  # as a whole, so that bare actions are seen
        name, chunks = given.source, given.file.chunks()
        if self.written is Written.NDJSON:
            return ndjson(chunks, name, _quoted if given.templates else str)
        readers = {Written.CSV: rows, Written.SERIES: series, Written.JSON: values}
        return readers[self.written](chunks, name)

    def place(self, record: Record) -> str:
        """What errors call a record."""
        given = self._given
        if given.file is not None and (self.written is not Written.JSON or self.is_long):
            return f"{given.source}: line {record.place}"
        source = given.source if given.line is None else f"{given.source}: line {given.line}"
        if not record.place:
            return source
        return f"message {record.place}" if given.source == "request" else f"{source}: message {record.place}"

    def empty(self) -> UsageError:
        """There is nothing in it."""
        what = {Written.CSV: "row under its header", Written.SERIES: "message"}.get(self.written, "request")
        return UsageError(f"{self._given.source} is empty: there is no {what} in it")

    def _form(self) -> Written:
        given = self._given
        if given.raw is not None:
            return Written.SERIES
        if given.file is None:
            return Written.JSON
        if given.written is not None:
            return given.written
        chunks = given.file.chunks()
        try:
            return form_of(given.file.name, next(chunks, b""))
        finally:
            chunks.close()  # type: ignore[attr-defined]  # a generator

    def _of_text(self, text: str) -> Iterator[Record]:
        given = self._given
        found = parse_all(_quoted(text) if given.templates else text, given.source, line=given.line)
        if len(found) == 1 and isinstance(found[0], list) and not self._is_list():
            streams = self._method is not None and self._method.client_streaming and self._given.file is None
            found = found if streams else found[0]
        elif self._method is not None and self._method.client_streaming and self._given.file is None:
            found = [found]  # one after the other: the messages of one stream
        many = len(found) > 1
        drawn = has_action(text)
        return (Record(number if many else 0, value, drawn) for number, value in enumerate(found, 1))

    def _is_list(self) -> bool:
        """Whether the JSON of a message may be an array."""
        return self._method is not None and self._method.input_type.full_name in LISTS


def check_headers(given: Given) -> None:
    """Raise UsageError for actions in header values that there are not, or whose values cannot be sent."""
    for name, text in given.drawn:
        header_template(name, text, Names())


def check_requests(given: Given) -> None:
    """Raise UsageError for what is wrong whatever the method is: JSON that is none, actions that there are not.

    Of a file that is too long to be kept only the first request is looked at.
    """
    if given.text is None and given.file is None:
        return
    source = Source(given, None)
    records = list(islice(source.records(), 1 if source.is_long else None))
    if given.file is not None and not records:
        raise source.empty()
    for record in records:
        if given.templates and record.drawn and source.written is not Written.SERIES:
            understood(record.value, Names(), source.place(record))


def header_template(name: bytes, text: str, names: Names) -> Template:
    """A header value with actions in it, every extreme of which can be sent. Raises UsageError."""
    try:
        template = parse_template(text, names)
    except ValueError as error:
        raise UsageError(f"metadata {name.decode()}: {error}", "--no-template sends {{...}} as it stands") from None
    for number in range(template.trials):
        header_values(name.decode(), template.trial(number))
    return template


def _text(file: DataFile) -> str:
    try:
        return file.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{file.name} is not UTF-8 text (byte {error.start})") from None


def _quoted(text: str) -> str:
    return quoted(text) if has_action(text) else text
