"""Registry keys and values that went wrong: published ones, changed in every way that breaks parsers and terminals."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

VECTORS: list[dict[str, Any]] = json.loads(Path(__file__).with_name("vectors.json").read_text(encoding="utf-8"))

_STEERING = (
    b"\x1b[2J", b"\x1b]0;owned\x07", b"\x9b31m", b"\xc2\x9b31m", b"\x00", b"\r", b"\n", b"\t", b"\x7f", b"\x08" * 20,
    b"\xe2\x80\xae", b"\xe2\x81\xa6", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xff\xfe", b"\xe2\x80\xa8", b"[red]", b"%",
    b"\\ud800", b"\\udc00", b"\\u001b[2J", b"\\u009b2J", b"\\u0000", b"%1b%5b2J", b"%9b", b"%ff",
)  # fmt: skip
_NUMBERS = (
    b"NaN", b"Infinity", b"-1", b"0", b"1e999", b"-0.0", b"1e3", b"9" * 5000, b"9" * 19, b"9" * 20, b"true", b"null",
    b"[]", b"{}", b'"7"', b"65536",
)  # fmt: skip
_NUMBER = re.compile(rb"\d+")
_TEXT = re.compile(rb'"[^"\\]*"')


class Stored(NamedTuple):
    """A key and a value as etcd would hold them."""

    key: bytes
    value: bytes
    lease: int


Mutation = Callable[[Random, bytes], bytes]


def stored(vector: Mapping[str, Any]) -> Stored:
    """What a published vector puts into etcd."""
    value = vector["value"]
    data = b64decode(value) if vector.get("value_encoding") == "base64" else value.encode("utf-8")
    return Stored(vector["key"].encode("utf-8"), data, vector.get("lease", 0))


def mutants(rng: Random) -> Iterator[Stored]:
    """Yield mutants for ever: mostly of values, sometimes of keys, mutated once or several times."""
    originals = [stored(vector) for vector in VECTORS]
    while True:
        key, value, lease = rng.choice(originals)
        for _ in range(rng.choice((1, 1, 1, 2, 3, 5))):
            value = _spliced(rng, value, originals) if rng.random() < 0.1 else rng.choice(_MUTATIONS)(rng, value)
        if rng.random() < 0.3:
            key = rng.choice((_truncated, _flipped, _steered))(rng, key)
        if rng.random() < 0.2:
            key = key[: key.rfind(b"/") + 1] + rng.choice(originals).key.rpartition(b"/")[2]
        yield Stored(key or b"k", value, rng.choice((lease, 0, rng.getrandbits(63))))


def _truncated(rng: Random, text: bytes) -> bytes:
    return text[: rng.randrange(len(text) + 1)]


def _flipped(rng: Random, text: bytes) -> bytes:
    changed = bytearray(text)
    for _ in range(rng.randrange(1, 4)):
        if changed:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _steered(rng: Random, text: bytes) -> bytes:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(_STEERING) + text[at:]


def _renumbered(rng: Random, text: bytes) -> bytes:
    return _replaced(rng, text, _NUMBER, rng.choice(_NUMBERS))


def _retyped(rng: Random, text: bytes) -> bytes:
    return _replaced(rng, text, _TEXT, rng.choice((*_NUMBERS, b'""', b'" "', b'"\\ud800"', b'["a"]', b'{"a":{}}')))


def _nested(rng: Random, text: bytes) -> bytes:
    depth = rng.choice((1, 63, 64, 65, 3000))
    opening, closing = rng.choice(((b"[", b"]"), (b'{"a":', b"}"), (b'{"Metadata":', b"}"), (b'"', b'"')))
    return opening * depth + text + (closing * depth if rng.random() < 0.7 else b"")


def _nested_inside(rng: Random, text: bytes) -> bytes:
    return _replaced(rng, text, _TEXT, _nested(rng, b"1"))


def _doubled(rng: Random, text: bytes) -> bytes:
    return text * rng.randrange(2, 4)


def _in_a_string(rng: Random, text: bytes) -> bytes:
    return json.dumps(text.decode("utf-8", "replace")).encode()


def _spliced(rng: Random, text: bytes, originals: list[Stored]) -> bytes:
    other = rng.choice(originals).value
    return text[: rng.randrange(len(text) + 1)] + other[rng.randrange(len(other) + 1) :]


def _replaced(rng: Random, text: bytes, what: re.Pattern[bytes], by: bytes) -> bytes:
    places = list(what.finditer(text))
    if not places:
        return _steered(rng, text)
    place = rng.choice(places)
    return text[: place.start()] + by + text[place.end() :]


_MUTATIONS: tuple[Mutation, ...] = (
    _truncated,
    _flipped,
    _steered,
    _renumbered,
    _retyped,
    _nested,
    _nested_inside,
    _doubled,
    _in_a_string,
)
