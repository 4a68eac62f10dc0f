"""What is known of requests while they are being typed: fields of the data, names of metadata that the line has."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from lbctl.cli.completion_values import Candidate, Typed

_MOST_BYTES: Final = 64 * 1024  # of a file: its first record is enough


def fields(typed: Typed) -> Iterator[Candidate]:
    """The columns of the CSV that ``-D`` names, or the fields of the first message there or of ``-d``."""
    from csv import reader

    file, text = typed.last("data_file"), typed.last("data") or ""
    if file is not None or text.startswith("@"):
        text = _beginning(os.path.expanduser(file or text[1:]))
    found = _of_json(text) if text.lstrip()[:1] in ("{", "[") else next(reader(text.splitlines()[:1]), [])
    yield from (Candidate(each) for each in found)


def names(typed: Typed) -> Iterator[Candidate]:
    """The names of metadata that ``-H``, ``-m`` and ``--metadata-from`` give."""
    found = [value.partition(":")[0].strip() for value in _values(typed, "header")]
    found += [each for value in _values(typed, "metadata") for each in _of_json(value)]
    found += [value.rpartition("=")[2] for value in _values(typed, "metadata_from")]
    yield from (Candidate(each.lower()) for each in found)


def _values(typed: Typed, option: str) -> Iterator[str]:
    yield from (value for value in typed.options.get(option, ()) if isinstance(value, str))


def _beginning(path: str) -> str:
    with suppress(OSError):
        if os.path.isfile(path):  # a pipe would be waited for, and be read away from the command
            with open(path, encoding="utf-8-sig", errors="replace") as file:
                return file.read(_MOST_BYTES)
    return ""


def _of_json(text: str) -> list[str]:
    """The names of the first object: of a line, or of an array; none where it does not end."""
    from json import JSONDecoder

    with suppress(ValueError):
        found: dict[str, object] = JSONDecoder().raw_decode(text, text.index("{"))[0]
        return list(found)
    return []
