"""The small language of values that differ from call to call: ``{{int 1 1000}}``, ``{{uuid}}``, ``{{pick a b c}}``.

Everything is drawn from one Random, in the order of the calls: the same seed makes the same requests. The names that
ghz has for the same things are understood.

    seq [FIRST [STEP]]   the number of the call, from 0           now [unix|unix_ms|unix_us|unix_ns|%FORMAT]
    int LOW HIGH         both included                            uuid
    float LOW HIGH                                                hex N, string N    N hexadecimal digits, letters
    pick A B ...         'quotes keep blanks together'            bytes N            N bytes as base64
    bool                 true or false                            method, service    what is called
"""

from __future__ import annotations

import re
import shlex
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from random import Random
from string import ascii_letters, digits
from typing import Final
from uuid import UUID

from lbctl.clock import Clock

_ACTION: Final = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_LETTERS: Final = ascii_letters + digits
_MOST: Final = 1 << 20  # characters or bytes of one value
_UNITS: Final = {"unix": 1_000_000_000, "unix_ms": 1_000_000, "unix_us": 1000, "unix_ns": 1}


class Drawing:
    """What values are made of: one source of chance, the clock, and the number of the call, from 0."""

    def __init__(self, rng: Random, clock: Clock) -> None:
        self.rng = rng
        self.clock = clock
        self.number = 0


Draw = Callable[[Drawing], str]


@dataclass(frozen=True, slots=True)
class Names:
    """What is called, for ``{{method}}`` and ``{{service}}``."""

    service: str = ""
    method: str = ""


@dataclass(frozen=True, slots=True)
class Action:
    """One ``{{...}}``: how its value is drawn, and values that no other goes beyond, to be tried beforehand."""

    draw: Draw
    extremes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Template:
    """A text with actions in it. ``bare``: it stood without quotes, so that a number is a number, true is true."""

    pieces: tuple[str | Action, ...]
    bare: bool = False

    def text(self, drawing: Drawing) -> str:
        """The text of the next call."""
        return "".join([piece if isinstance(piece, str) else piece.draw(drawing) for piece in self.pieces])

    @property
    def trials(self) -> int:
        """How many texts it takes to try every extreme of every action."""
        return max(len(piece.extremes) for piece in self.pieces if not isinstance(piece, str))

    def trial(self, number: int) -> str:
        """One of the texts to be tried beforehand."""
        return "".join(
            piece if isinstance(piece, str) else piece.extremes[number % len(piece.extremes)] for piece in self.pieces
        )


def has_action(text: str) -> bool:
    """Whether there may be anything to be drawn in it."""
    return "{{" in text


def parse_template(text: str, names: Names, *, bare: bool = False) -> Template:
    """Understand a text; raises ValueError that says what is wrong with it."""
    pieces: list[str | Action] = []
    end = 0
    for found in _ACTION.finditer(text):
        pieces += [text[end : found.start()], _action(found[0], found[1], names)]
        end = found.end()
    rest = text[end:]
    if "{{" in rest:
        raise ValueError(f"{rest[rest.index('{{') :][:40]!r} is not closed: }}}} is missing")
    return Template(tuple(piece for piece in (*pieces, rest) if piece != ""), bare)


def _action(whole: str, inside: str, names: Names) -> Action:
    try:
        words = shlex.split(inside)
    except ValueError:
        raise ValueError(f"{whole}: a quote is not closed") from None
    if not words:
        raise ValueError(f"{whole} is empty; there is {', '.join(_ACTIONS)}")
    name, arguments = words[0], words[1:]
    known = _ACTIONS.get(name) or _OF_GHZ.get(name)
    if known is None:
        if name == ".WorkerID":
            raise ValueError(f"{whole}: lbctl has no workers; {{{{seq}}}} is the number of the call")
        near = get_close_matches(name.lower(), _ACTIONS, 1)
        tail = f"did you mean {near[0]}?" if near else f"there is {', '.join(_ACTIONS)}"
        raise ValueError(f"{whole}: there is no {name}; {tail}")
    least, most, make = known
    if not least <= len(arguments) <= most:
        wanted = str(least) if least == most else f"{least} to {most}" if most < _MANY else f"at least {least}"
        raise ValueError(
            f"{whole}: {name} takes {wanted} argument{'s' * (least != 1 or most == 2)}, not {len(arguments)}"
        )
    try:
        return make(arguments, names)
    except ValueError as error:
        raise ValueError(f"{whole}: {error}") from None


def _whole(text: str) -> int:
    if not re.fullmatch(r"[+-]?\d{1,20}", text):
        raise ValueError(f"{text!r} is not a whole number")
    return int(text)


def _size(arguments: Sequence[str], default: int) -> int:
    size = _whole(arguments[0]) if arguments else default
    if not 0 < size <= _MOST:
        raise ValueError(f"{size} is not a length from 1 to {_MOST}")
    return size


def _seq(arguments: Sequence[str], names: Names) -> Action:
    first, step = (*map(_whole, arguments), *(0, 1)[len(arguments) :])
    return Action(lambda drawing: str(first + step * drawing.number), (str(first), str(first + step)))


def _int(arguments: Sequence[str], names: Names) -> Action:
    low, high = map(_whole, arguments)
    if low > high:
        raise ValueError(f"{low} is above {high}")
    return Action(lambda drawing: str(drawing.rng.randint(low, high)), (str(low), str(high)))


def _half_open(arguments: Sequence[str], names: Names) -> Action:
    """The ``randomInt`` of ghz, which leaves the last one out."""
    return _int((arguments[0], str(_whole(arguments[1]) - 1)), names)


def _float(arguments: Sequence[str], names: Names) -> Action:
    try:
        low, high = map(float, arguments)
    except ValueError:
        raise ValueError(f"{' '.join(arguments)!r} are not two numbers") from None
    if not low <= high or high - low == float("inf"):
        raise ValueError(f"{low:g} to {high:g} is no range")
    return Action(lambda drawing: repr(low + drawing.rng.random() * (high - low)), (repr(low), repr(high)))


def _pick(arguments: Sequence[str], names: Names) -> Action:
    choices, count = tuple(arguments), len(arguments)
    return Action(lambda drawing: choices[int(drawing.rng.random() * count)], choices)


def _bool(arguments: Sequence[str], names: Names) -> Action:
    return _pick(("true", "false"), names)


def _uuid(arguments: Sequence[str], names: Names) -> Action:
    def draw(drawing: Drawing) -> str:
        return str(UUID(int=drawing.rng.getrandbits(128), version=4))

    return Action(draw, ("00000000-0000-4000-8000-000000000000",))


def _string(arguments: Sequence[str], names: Names) -> Action:
    size = _size(arguments, 8)
    return Action(lambda drawing: "".join(drawing.rng.choices(_LETTERS, k=size)), ("x" * size,))


def _hex(arguments: Sequence[str], names: Names) -> Action:
    size = _size(arguments, 16)
    return Action(lambda drawing: f"{drawing.rng.getrandbits(4 * size):0{size}x}", ("0" * size,))


def _bytes(arguments: Sequence[str], names: Names) -> Action:
    size = _size(arguments, 16)
    return Action(lambda drawing: b64encode(drawing.rng.randbytes(size)).decode(), (b64encode(bytes(size)).decode(),))


def _now(arguments: Sequence[str], names: Names) -> Action:
    form = arguments[0] if arguments else ""
    if form in _UNITS:
        unit = _UNITS[form]
        return Action(lambda drawing: str(_wall_ns(drawing) // unit), (str(1_800_000_000_000_000_000 // unit),))
    if form and not form.startswith("%"):
        raise ValueError(f"{form!r} is not one of {', '.join(_UNITS)}, or a format such as %Y-%m-%d")
    if form:
        return Action(lambda drawing: drawing.clock.wall().strftime(form), ("2026-01-02",))

    def rfc3339(drawing: Drawing) -> str:
        return drawing.clock.wall().strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    return Action(rfc3339, ("2026-01-02T03:04:05.000006Z",))


def _wall_ns(drawing: Drawing) -> int:
    """Since 1970, exact to a microsecond."""
    return round(drawing.clock.wall().timestamp() * 1_000_000) * 1000


def _constant(text: str) -> Action:
    return Action(lambda drawing: text, (text,))


_MANY: Final = 1 << 20
_Maker = tuple[int, int, Callable[[Sequence[str], Names], Action]]  # how many arguments it takes, and what it makes
_ACTIONS: Final[dict[str, _Maker]] = {
    "seq": (0, 2, _seq),
    "uuid": (0, 0, _uuid),
    "int": (2, 2, _int),
    "float": (2, 2, _float),
    "pick": (1, _MANY, _pick),
    "bool": (0, 0, _bool),
    "now": (0, 1, _now),
    "string": (0, 1, _string),
    "hex": (0, 1, _hex),
    "bytes": (0, 1, _bytes),
    "method": (0, 0, lambda _, names: _constant(names.method)),
    "service": (0, 0, lambda _, names: _constant(names.service)),
}
_OF_GHZ: Final[dict[str, _Maker]] = {
    "randomString": (0, 1, _string),
    "randomInt": (2, 2, _half_open),
    "newUUID": (0, 0, _uuid),
    ".UUID": (0, 0, _uuid),
    ".RequestNumber": (0, 0, _seq),
    ".Timestamp": (0, 0, _now),
    ".TimestampUnix": (0, 0, lambda _, names: _now(("unix",), names)),
    ".TimestampUnixMilli": (0, 0, lambda _, names: _now(("unix_ms",), names)),
    ".TimestampUnixNano": (0, 0, lambda _, names: _now(("unix_ns",), names)),
    ".MethodName": (0, 0, lambda _, names: _constant(names.method)),
    ".ServiceName": (0, 0, lambda _, names: _constant(names.service)),
    ".FullyQualifiedName": (0, 0, lambda _, names: _constant(f"{names.service}.{names.method}")),
}
