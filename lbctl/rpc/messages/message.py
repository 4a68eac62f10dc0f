"""Request messages from JSON and replies to JSON, by protobuf's own mapping; every mistake is said with its place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any, Final

from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import DecodeError, EncodeError, Message
from google.protobuf.message_factory import GetMessageClass

from lbctl.errors import CannotCall, UsageError
from lbctl.rpc.messages.accidents import hint_of
from lbctl.rpc.messages.filling import octets_of
from lbctl.rpc.messages.fit import fit
from lbctl.rpc.messages.mistake import Mistake
from lbctl.rpc.messages.showing import shown
from lbctl.rpc.schemas.schema import Method

# Beyond this no protobuf integer fits, and below 2**53 a float is exact.
MAX_INTEGER: Final = 2**64
EXCERPT: Final = 60
REQUEST: Final = "request"
BYTE_ORDER_MARK: Final = "\ufeff"  # which some editors put in front of a file


def encode(method: Method, text: str | None, *, source: str = REQUEST) -> bytes:
    """Encode a request given as JSON; no text is ``{}``. Raises UsageError; ``source`` is what it calls the text."""
    value = parse(text, source) if text is not None and text.strip() else {}
    return encode_value(method, value, source=source)


def encode_all(method: Method, text: str | None, *, source: str = REQUEST) -> tuple[bytes, ...]:
    """Encode the messages of a client that streams: an array of them, or one after another (NDJSON), or one alone.

    No text is one empty message, but a file without a line is no message. Raises UsageError that says which message
    is wrong.
    """
    values = parse_all(text, source) if text is not None else [{}]
    if not values and source == REQUEST:
        values = [{}]
    if len(values) == 1 and isinstance(values[0], list):
        values = values[0]
    name = "message {}" if source == REQUEST else source + ": message {}"
    many = len(values) > 1
    return tuple(
        encode_value(method, value, source=name.format(at) if many else source) for at, value in enumerate(values, 1)
    )


def next_value(text: str, at: int) -> tuple[Any, int]:
    """The JSON value that begins there, and where it ends; raises what ``explained`` turns into words."""
    return _DECODER.raw_decode(text, at)


def encode_value(method: Method, value: object, *, source: str = REQUEST) -> bytes:
    """Encode a request given as parsed JSON."""
    kind = method.input_type
    try:
        return octets_of(kind, fit(value, kind))
    except Mistake as mistake:
        raise _unfit(source, str(mistake), mistake.hint) from None
    except RecursionError:
        raise _unfit(source, "it is nested too deeply") from None
    except (json_format.ParseError, EncodeError, ValueError, TypeError, LookupError, ArithmeticError) as error:
        raise _unfit(source, " ".join(str(error).split())) from error


def _unfit(source: str, mistake: str, hint: str = "") -> UsageError:
    return UsageError(mistake if source == REQUEST else f"{source}: {mistake}", hint)


def decode(method: Method, message: bytes, *, defaults: bool = False) -> Any:  # noqa: ANN401  # whatever JSON holds
    """Decode a reply to what JSON can hold; 64-bit integers are strings, as protobuf's mapping has it.

    An Any of an unknown type is shown in base64. With ``defaults`` fields are there that cannot be told to be unset.
    Raises CannotCall where the octets are no such message.
    """
    try:
        return shown(decoded(method.output_type, message), defaults=defaults)
    except RecursionError as error:
        raise CannotCall("the reply cannot be shown as JSON: it is nested too deeply") from error


def decoded(kind: Descriptor, message: bytes) -> Message:
    """Read a message; raises CannotCall where the octets are none of that kind."""
    try:
        return GetMessageClass(kind).FromString(message)
    except DecodeError as error:
        why = ": text in it is not UTF-8" if "UTF-8" in str(error) else ""
        raise CannotCall(f"the reply is not a {kind.full_name} message{why}") from error


def parse(text: str, source: str, *, line: int | None = None) -> object:
    """Parse JSON without rounding integers; raises UsageError with line, column and the line itself.

    ``line`` is the one of the source that the text begins in, where it is one text of many.
    """
    with explained(source, line):
        return _DECODER.decode(text.removeprefix(BYTE_ORDER_MARK))


@contextmanager
def explained(source: str, line: int | None = None, *, first_line: int | None = None) -> Iterator[None]:
    """Turn what a JSON parser raises into words; the value is in that line of the source, None where it is all of it.

    ``first_line``: the one that the text begins in, where that is another.
    """
    begin = first_line or line or 1
    unusable = f"{source} is not usable JSON: " if line is None else f"{source}: line {line} is not usable JSON: "
    try:
        yield
    except json.JSONDecodeError as error:
        reason = error.msg[:1].lower() + error.msg[1:]
        place = f"line {begin + error.lineno - 1} column {error.colno}"
        raise UsageError(f"{source} is not valid JSON: {place}: {reason}\n{_excerpt(error)}", hint_of(error)) from error
    except RecursionError as error:
        raise UsageError(f"{unusable}it is nested too deeply") from error
    except DuplicateKey as error:
        raise UsageError(f"{unusable}{error}") from error
    except ValueError as error:  # Python's guard against integers of thousands of digits
        raise UsageError(f"{unusable}it holds a number with too many digits") from error


def parse_all(text: str, source: str, *, line: int | None = None) -> list[Any]:
    """Parse JSON values that follow each other with nothing but white space between them, one a line or not.

    Raises as :func:`parse` does.
    """
    values: list[Any] = []
    text = text.removeprefix(BYTE_ORDER_MARK)
    with explained(source, line):
        at = _next(text, 0)
        while at < len(text):
            value, end = next_value(text, at)
            values.append(value)
            at = _next(text, end)
    return values


def _next(text: str, at: int) -> int:
    """Where the next value begins: behind white space."""
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


class DuplicateKey(Exception):
    """An object has a key twice."""


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise DuplicateKey(f"the key {json.dumps(twice)} appears twice in one object")
    return value


def _number(text: str) -> float | int:
    """Read 9007199254740993.0 as the integer it is: a float could not hold it."""
    value = float(text)
    if 2**53 <= abs(value) <= MAX_INTEGER:
        exact = Decimal(text)
        if exact == exact.to_integral_value():
            return int(exact)
    return value


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_unique, parse_float=_number)


def _excerpt(error: json.JSONDecodeError) -> str:
    """Show the line with a caret under the column, cut to what fits."""
    line = "".join(c if c.isprintable() else " " for c in error.doc.split("\n")[error.lineno - 1])
    at = error.colno - 1
    start = max(0, at - EXCERPT // 2)
    return f"  {line[start : start + EXCERPT]}\n  {' ' * (at - start)}^"
