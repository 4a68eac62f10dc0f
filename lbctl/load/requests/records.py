"""From the octets of a file to records: lines of JSON, values of an array, rows of CSV, or messages after their length.

One pass at a time, with no more of the file in memory than the record that is being read.
"""

from __future__ import annotations

import codecs
import csv
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

from lbctl.errors import UsageError
from lbctl.load.requests.given import Written
from lbctl.load.requests.templates import has_action
from lbctl.rpc.messages.message import explained, next_value, parse

MOST: Final = 64 << 20  # octets or characters of one record
_NEAR: Final = 32  # characters from the end of a text where a value that is cut off is noticed
BLANK: Final = " \t\r\n"


class Record(NamedTuple):
    """One of them, and where it is: the line it begins in, or its number for binary messages.

    ``value`` is parsed JSON, the cells of a row by column, or octets.
    """

    place: int
    value: Any
    drawn: bool = True  # there may be actions in it


def form_of(name: str, head: bytes) -> Written:
    """How a file is written, by its name or how it begins."""
    suffix = name.lower().rpartition(".")[2]
    if suffix == "csv":
        return Written.CSV
    if suffix in ("ndjson", "jsonl"):
        return Written.NDJSON
    text = head.lstrip(b"\xef\xbb\xbf").lstrip()
    if text[:1] != b"{":
        return Written.JSON
    line, newline, _ = text.partition(b"\n")
    if not newline:
        return Written.JSON
    try:
        json.loads(line)
    except ValueError:
        return Written.JSON  # one value over several lines
    return Written.NDJSON


def decoded(chunks: Iterable[bytes], name: str) -> Iterator[str]:
    """The text, without a byte order mark; raises UsageError where it is not UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    lines, first = 1, True
    for chunk in chunks:
        try:
            text = decoder.decode(chunk)
        except UnicodeDecodeError as error:
            line = lines + error.object[: error.start].count(b"\n")
            raise UsageError(f"{name}: line {line} is not UTF-8 text") from None
        if first and text:
            text, first = text.removeprefix("\ufeff"), False
        lines += chunk.count(b"\n")
        yield text
    try:
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        raise UsageError(f"{name}: line {lines} is not UTF-8 text") from None


def lines_of(texts: Iterable[str], name: str) -> Iterator[tuple[int, str]]:
    """Every line with its number, from 1, and its line end."""
    number, rest = 0, ""
    for text in texts:
        *whole, rest = (rest + text).split("\n")
        for line in whole:
            number += 1
            yield number, line + "\n"
        if len(rest) > MOST:
            raise UsageError(f"{name}: line {number + 1} is longer than {MOST >> 20} MiB")
    if rest:
        yield number + 1, rest


def ndjson(chunks: Iterable[bytes], name: str, prepare: Callable[[str], str] = str) -> Iterator[Record]:
    """The values, a line each, prepared for the parser; lines with nothing on them are left out."""
    for number, line in lines_of(decoded(chunks, name), name):
        if not line.isspace():
            yield Record(number, parse(prepare(line.strip(BLANK)), name, line=number), has_action(line))


def rows(chunks: Iterable[bytes], name: str) -> Iterator[Record]:
    """Rows of CSV as cells by column, after the names of the columns in the first."""
    where = [0]

    def lines() -> Iterator[str]:
        for where[0], line in lines_of(decoded(chunks, name), name):
            yield line

    reader = csv.reader(lines(), strict=True)
    columns: list[str] | None = None
    begins = 1
    try:
        for cells in reader:
            if columns is None:
                columns = _columns(cells, name)
            elif cells:
                if len(cells) != len(columns):
                    there, wanted = _counted(len(cells), "cell"), _counted(len(columns), "column")
                    raise UsageError(f"{name}: line {begins} has {there} for {wanted}")
                yield Record(begins, dict(zip(columns, cells, strict=True)), any(map(has_action, cells)))
            begins = reader.line_num + 1
    except csv.Error as error:
        raise UsageError(f"{name}: line {begins} is not CSV: {error}") from None


def _columns(cells: list[str], name: str) -> list[str]:
    columns = [cell.strip() for cell in cells]
    for column in columns:
        if not column:
            raise UsageError(f"{name}: line 1: the name of a column is missing")
        if columns.count(column) > 1:
            raise UsageError(f"{name}: line 1: the column {column!r} appears twice")
    return columns


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"


def values(chunks: Iterable[bytes], name: str) -> Iterator[Record]:
    """The values of an array, or values one after the other."""
    return _Values(decoded(chunks, name), name).records()


class _Values:
    """Parses from a window of the text, which grows until the next value is in it."""

    def __init__(self, texts: Iterator[str], name: str) -> None:
        self._texts = texts
        self._name = name
        self._text = ""
        self._at = 0
        self._first = 1  # the line that the window begins in
        self._line = 1  # in which ``_counted`` is
        self._counted = 0  # a place in the window
        self._over = False  # the window reaches to the end of the text

    def records(self) -> Iterator[Record]:
        in_array = self._begins("[")
        if in_array:
            self._at += 1
        while not self._ended(in_array=in_array):
            line = self._at_line()
            value = self._value()
            if in_array and not self._begins(",]"):
                self._complain("expecting ',' delimiter")
            if in_array and self._text[self._at] == ",":
                self._at += 1
                if self._begins("]"):
                    self._complain("a value is missing")
            self._forget()
            yield Record(line, value)
        if in_array:
            self._at += 1
            if self._begins(""):
                self._complain("there is more behind the array")

    def _at_line(self) -> int:
        """In which line of the file we are."""
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def _begins(self, characters: str) -> bool:
        """Whether one of these comes next, after blanks; of none, whether anything does."""
        while True:
            at, text = self._at, self._text
            while at < len(text) and text[at] in BLANK:
                at += 1
            self._at = at
            if at < len(text):
                return text[at] in characters if characters else True
            if not self._more():
                return False

    def _ended(self, *, in_array: bool) -> bool:
        if not self._begins(""):
            if in_array:
                self._complain("the array is not closed")
            return True
        return in_array and self._text[self._at] == "]"

    def _value(self) -> Any:  # noqa: ANN401  # whatever JSON holds
        want = 1
        while True:
            try:
                with explained(self._name, self._at_line(), first_line=self._first):
                    value, end = next_value(self._text, self._at)
            except UsageError as error:
                if not self._is_cut(error.__cause__) or not self._grow(want):
                    raise
                want *= 2
                continue
            if end == len(self._text) and not self._over and self._more():
                continue  # a number may go on
            self._at = end
            return value

    def _is_cut(self, cause: BaseException | None) -> bool:
        """Whether the end of the window may be what is wrong."""
        if not isinstance(cause, json.JSONDecodeError):
            return False
        return cause.pos >= len(self._text) - _NEAR or cause.msg.startswith("Unterminated string")

    def _grow(self, chunks: int) -> bool:
        grown = False
        for _ in range(chunks):
            grown = self._more() or grown
        if len(self._text) - self._at > MOST:
            raise UsageError(
                f"{self._name}: the value that begins in line {self._at_line()} is larger than {MOST >> 20} MiB"
            )
        return grown

    def _more(self) -> bool:
        for text in self._texts:
            if text:
                self._text += text
                return True
        self._over = True
        return False

    def _forget(self) -> None:
        """Let go of what was read."""
        if self._at > len(self._text) // 2 and self._at > 1 << 16:
            self._first = self._at_line()
            self._text, self._at, self._counted = self._text[self._at :], 0, 0

    def _complain(self, reason: str) -> None:
        line = self._at_line()
        column = self._at - (self._text.rfind("\n", 0, self._at) + 1) + 1
        raise UsageError(f"{self._name} is not valid JSON: line {line} column {column}: {reason}")


def series(chunks: Iterable[bytes], name: str) -> Iterator[Record]:
    """Binary messages, each behind its length as a varint; raises UsageError where one is cut off."""
    buffer, at, number = bytearray(), 0, 1
    offset = 0  # of the buffer in the file
    for chunk in chunks:
        del buffer[:at]
        buffer += chunk
        offset, at = offset + at, 0
        while (head := _varint(buffer, at, name, number, offset)) is not None:
            size, begin = head
            if size > MOST:
                where = f"message {number} at byte {offset + at}"
                raise UsageError(f"{name}: {where} says to be of {size} bytes, more than {MOST >> 20} MiB")
            if begin + size > len(buffer):
                break
            yield Record(number, bytes(buffer[begin : begin + size]))
            at, number = begin + size, number + 1
    if at < len(buffer):
        raise UsageError(f"{name}: message {number} at byte {offset + at} is cut off by the end of the file")


def _varint(buffer: bytearray, at: int, name: str, number: int, offset: int) -> tuple[int, int] | None:
    """A length and where it ends; None where the buffer ends before."""
    size = 0
    for place in range(at, min(at + 10, len(buffer))):
        size |= (buffer[place] & 0x7F) << (7 * (place - at))
        if buffer[place] < 0x80:
            return size, place + 1
    if len(buffer) - at >= 10:
        raise UsageError(
            f"{name}: byte {offset + at} is no length of a message {number}",
            "--binary-series wants each message behind its length as a varint",
        )
    return None
