"""What a user gives for the calls of a method, where they are not all alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lbctl.load.requests.reading import DataFile


class Written(StrEnum):
    """How a file is written."""

    NDJSON = "ndjson"  # a value a line
    JSON = "json"  # an array of values, or values one after the other
    CSV = "csv"
    SERIES = "series"  # binary messages, each behind its length as a varint


class Order(StrEnum):
    """Which of the given requests is next."""

    SEQUENTIAL = "sequential"  # in turn, from the start again at the end
    RANDOM = "random"
    ONCE = "once"  # in turn; the run ends with them


@dataclass(frozen=True, slots=True)
class Given:
    """What was given for the calls of a method: JSON as text, or a file; and what of it is not the message.

    ``drawn``: header fields with actions in them; ``columns``: names of metadata by the column, or field of the JSON,
    that its value is in. ``line``: that of the source in which ``text`` begins, where it is one of many.
    ``templates``: whether actions are looked for.
    """

    source: str = "request"
    text: str | None = None
    line: int | None = None
    raw: bytes | None = None  # octets of one message, instead
    file: DataFile | None = None
    written: Written | None = None  # how the file is written, where that was said
    order: Order = Order.SEQUENTIAL
    templates: bool = True
    drawn: Sequence[tuple[bytes, str]] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
