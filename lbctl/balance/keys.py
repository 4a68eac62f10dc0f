"""Where the hash keys of calls come from, and how often each may be expected: the shares of hash policies follow.

source             keys                                      popularity
meta:NAME          the value of that metadata, as sent       one key
field:PATH         that field of the request message         one key
seq                0, 1, 2, ...                              each once
uuid               random UUIDs                              each once
uniform(N)         key-1 ... key-N                           1/N each
zipf(S,N)          key-1 ... key-N                           key-k in proportion to 1/k^S
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from itertools import accumulate, chain
from random import Random
from typing import Final, NamedTuple, Protocol

FORMS: Final = "meta:NAME, field:PATH, seq, uuid, 'zipf(1.1,100000)' or 'uniform(1000)'"
BEGINNINGS: Final = ("meta:", "field:", "seq", "uuid", "zipf(", "uniform(")
MOST_KEYS: Final = 1_000_000
STEEPEST: Final = 10.0
_SAMPLE: Final = 8192  # keys that stand for those that cannot be listed
_EVENLY: Final = [1.0 / _SAMPLE] * _SAMPLE
_BATCH: Final = 256  # draws at a time: a single draw costs several times as much
_CALLED: Final = re.compile(r"\s*(\w+)\s*(?:\((.*)\)|:(.*))?\s*", re.DOTALL)
_COUNT: Final = re.compile(r"(\d{1,7})([kKmM]?)")
_DECIMAL: Final = re.compile(r"\d{1,9}(\.\d{0,17})?|\.\d{1,17}")
_MULTIPLES: Final = {"": 1, "k": 1000, "m": 1_000_000}


class Population(NamedTuple):
    """Keys and the part of all calls that carries each. ``drawn``: every call's key is an independent draw.

    Where there are more keys than can be listed, the list is a sample, and ``whole`` is False.
    """

    keys: Sequence[bytes]
    parts: Sequence[float]
    drawn: bool
    whole: bool = True


class Keys(Protocol):
    """A source of keys, one for each call. ``spelled`` is how a user typed it."""

    spelled: str

    def __next__(self) -> bytes: ...

    def population(self) -> Population: ...

    def alike(self, rng: Random) -> Keys:
        """Other keys of the same kind, as popular as these."""
        ...


@dataclass(frozen=True, slots=True)
class Source:
    """A source of keys as it was typed; ``name`` is that of the metadata, or the path of the field."""

    kind: str  # meta, field, seq, uuid, zipf or uniform
    spelled: str
    name: str = ""
    exponent: float = 0.0
    size: int = 0

    @property
    def is_constant(self) -> bool:
        """Whether every call of a run has the same key, which has to be found in what is sent."""
        return self.kind in ("meta", "field")

    def keys(self, rng: Random, constant: bytes = b"") -> Keys:
        """The keys of a run; ``constant`` is the only one of a constant source."""
        if self.is_constant:
            return Constant(self.spelled, constant)
        if self.kind == "seq":
            return Numbers(self.spelled)
        if self.kind == "uuid":
            return Uuids(self.spelled, rng)
        weights = [rank**-self.exponent for rank in range(1, self.size + 1)]
        return Listed(self.spelled, _ranked(weights), list(accumulate(weights)), rng)


class Constant:
    """The same key for every call."""

    def __init__(self, spelled: str, key: bytes) -> None:
        self.spelled = spelled
        self._key = key

    def __next__(self) -> bytes:
        return self._key

    def population(self) -> Population:
        return Population([self._key], [1.0], drawn=False)

    def alike(self, rng: Random) -> Constant:
        return self


class Numbers:
    """0, 1, 2, ..., each once: who knows how many were handed out knows which. ``form`` is how they are spelled."""

    def __init__(self, spelled: str, form: bytes = b"%d", first: int = 0) -> None:
        self.spelled = spelled
        self.coming = first  # the number of the next key
        self._form = form

    def __next__(self) -> bytes:
        number = self.coming
        self.coming = number + 1
        return self._form % number

    def between(self, start: int, end: int) -> list[bytes]:
        """The keys from one number to another, without the last."""
        form = self._form
        return [form % number for number in range(start, end)]

    def population(self) -> Population:
        return Population(self.between(0, _SAMPLE), _EVENLY, drawn=False, whole=False)

    def alike(self, rng: Random) -> Numbers:
        """The same, from one on that was handed out."""
        return Numbers(self.spelled, self._form, rng.randrange(max(1, self.coming)))


class Uuids:
    """Random UUIDs, of which none comes twice; some like them stand for all."""

    def __init__(self, spelled: str, rng: Random) -> None:
        self.spelled = spelled
        self._next = _uuids(rng).__next__

    def __next__(self) -> bytes:
        return self._next()

    def population(self) -> Population:
        return Population(_some_uuids(), _EVENLY, drawn=True, whole=False)

    def alike(self, rng: Random) -> Uuids:
        return Uuids(self.spelled, rng)


class Listed:
    """Keys drawn independently from a list."""

    def __init__(self, spelled: str, population: Population, cumulative: Sequence[float], rng: Random) -> None:
        self.spelled = spelled
        self._population = population
        self._cumulative = cumulative  # the parts added up
        self._next = chain.from_iterable(_draws(population.keys, cumulative, rng)).__next__

    def __next__(self) -> bytes:
        return self._next()

    def population(self) -> Population:
        return self._population

    def alike(self, rng: Random) -> Listed:
        """Drawn from the same list, which is not made again: a million keys take a second."""
        return Listed(self.spelled, self._population, self._cumulative, rng)


def _draws(keys: Sequence[bytes], cumulative: Sequence[float], rng: Random) -> Iterator[list[bytes]]:
    while True:
        yield rng.choices(keys, cum_weights=cumulative, k=_BATCH)


def _ranked(weights: Sequence[float]) -> Population:
    """key-1, key-2 and so on, with these weights."""
    total = sum(weights)
    keys = [b"key-%d" % rank for rank in range(1, len(weights) + 1)]
    return Population(keys, [weight / total for weight in weights], drawn=True)


def _uuids(rng: Random) -> Iterator[bytes]:
    """UUIDs of version 4 in their usual spelling."""
    return chain.from_iterable(_uuid_batches(rng))


def _uuid_batches(rng: Random) -> Iterator[list[bytes]]:
    variants = {digit: b"89ab"[digit & 3 : (digit & 3) + 1] for digit in b"0123456789abcdef"}
    while True:
        digits = rng.randbytes(16 * _BATCH).hex().encode()
        yield [
            b"%b-%b-4%b-%b%b-%b"
            % (
                digits[at : at + 8],
                digits[at + 8 : at + 12],
                digits[at + 13 : at + 16],
                variants[digits[at + 16]],
                digits[at + 17 : at + 20],
                digits[at + 20 : at + 32],
            )
            for at in range(0, len(digits), 32)
        ]


@lru_cache(maxsize=1)
def _some_uuids() -> Sequence[bytes]:
    uuids = _uuids(Random(_SAMPLE))  # of their own: what a run draws does not depend on whether anybody looked
    return [next(uuids) for _ in range(_SAMPLE)]


def parse_source(text: str) -> Source:
    """What ``--hash-key`` says; raises ValueError. ``zipf:1.1,100000`` is ``zipf(1.1,100000)``, without quotes."""
    found = _CALLED.fullmatch(text)
    kind = found[1].lower() if found else ""
    parse = _PARSERS.get(kind)
    if found is None or parse is None:
        near = get_close_matches(kind or text, _PARSERS, 1)
        raise ValueError(f"{text!r} is not a source of keys ({f'did you mean {near[0]}? ' if near else ''}{FORMS})")
    argument = found[2] if found[2] is not None else found[3]
    return parse(text.strip(), kind, argument.strip() if argument is not None else None)


def _bare(text: str, kind: str, argument: str | None) -> Source:
    if argument:
        raise ValueError(f"{text!r}: {kind} takes nothing more")
    return Source(kind, kind)


def _named(text: str, kind: str, argument: str | None) -> Source:
    what = "the name of the metadata" if kind == "meta" else "the path of the field"
    if not argument:
        raise ValueError(f"{text!r}: {what} is missing ({kind}:user-id)")
    if kind == "field" and not all(argument.split(".")):
        raise ValueError(f"{text!r}: a step of the path is empty")
    name = argument.lower() if kind == "meta" else argument
    return Source(kind, f"{kind}:{name}", name)


def _uniform(text: str, kind: str, argument: str | None) -> Source:
    size = _size(text, argument or "")
    return Source(kind, f"uniform({size})", size=size)


def _zipf(text: str, kind: str, argument: str | None) -> Source:
    exponent, comma, size_text = (argument or "").partition(",")
    if not comma:
        raise ValueError(f"{text!r}: zipf needs an exponent and a number of keys: zipf(1.1,100000)")
    if not _DECIMAL.fullmatch(exponent.strip()) or not 0 < float(exponent) <= STEEPEST:
        raise ValueError(f"{text!r}: the exponent is not a number above 0 and up to {STEEPEST:g}")
    size = _size(text, size_text)
    return Source(kind, f"zipf({float(exponent):g},{size})", exponent=float(exponent), size=size)


def _size(text: str, number: str) -> int:
    found = _COUNT.fullmatch(number.strip())
    size = int(found[1]) * _MULTIPLES[found[2].lower()] if found else 0
    if not 0 < size <= MOST_KEYS:
        raise ValueError(f"{text!r}: the number of keys is not a whole number from 1 to {MOST_KEYS}")
    return size


_PARSERS: Final[dict[str, Callable[[str, str, str | None], Source]]] = {
    "meta": _named,
    "field": _named,
    "seq": _bare,
    "uuid": _bare,
    "zipf": _zipf,
    "uniform": _uniform,
}
