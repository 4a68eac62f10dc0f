"""Options of policies, ``--policy-opt NAME=VALUE``: typed fields of a frozen dataclass, each with its help and limits.

    @dataclass(frozen=True, slots=True)
    class Options:
        choices: int = option(2, "backends that are compared", least=2)
        decay: float = option(10.0, "seconds until a sample has lost 63 % of its influence", above=0, unit="duration")
        dialect: str = option("crc32", "whose ring", choices=("crc32", "ketama"))

Names are typed as they stand here, or with dashes. Durations are kept in seconds and typed with a unit: 0, or from a
nanosecond to a year. Whole numbers have 64 bits.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from typing import Any, Final

from lbctl.errors import UsageError

_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?|\.\d+)(us|ms|s|m|h)?")
_NANOSECOND: Final = 1e-9  # what is shorter would be no time at all
_YEAR_S: Final = 365 * 86400.0
_WORD: Final = 1 << 63
_SECONDS: Final = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, None: 1.0}
_YES: Final = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


@dataclass(frozen=True, slots=True)
class NoOptions:
    """For policies that have none."""


NO_OPTIONS: Final = NoOptions()


@dataclass(frozen=True, slots=True)
class _About:
    help: str
    least: float
    most: float
    above: float
    choices: tuple[str, ...]
    unit: str


def option(
    default: Any,  # noqa: ANN401  # the type of the field is the type of the option
    help_: str,
    *,
    least: float = -math.inf,
    most: float = math.inf,
    above: float = -math.inf,
    choices: Sequence[str] = (),
    unit: str = "",
) -> Any:  # noqa: ANN401
    """A field of an options class: an int, float, bool or str, by its default. ``unit`` may be "duration"."""
    return field(default=default, metadata={"about": _About(help_, least, most, above, tuple(choices), unit)})


@dataclass(frozen=True, slots=True)
class Described:
    """One option for people: how it is typed, its default, what it may be, in words and one by one, what it does."""

    name: str
    default: str
    values: str
    help: str
    choices: tuple[str, ...] = ()


def described(options: Any) -> list[Described]:  # noqa: ANN401
    """Every option of a policy, in order."""
    found = []
    for each in fields(options):
        about: _About = each.metadata["about"]
        name, default = each.name.replace("_", "-"), _shown(each.default, about)
        choices = ("true", "false") if isinstance(each.default, bool) else about.choices
        found.append(Described(name, default, _values(each.default, about), about.help, choices))
    return found


def spelled(options: Any) -> dict[str, str]:  # noqa: ANN401
    """The options that differ from their defaults, as they would be typed."""
    return {
        each.name.replace("_", "-"): _shown(value, each.metadata["about"])
        for each in fields(options)
        if (value := getattr(options, each.name)) != each.default
    }


def parse(policy: str, options: Any, values: Mapping[str, str]) -> Any:  # noqa: ANN401
    """The options with these values set. Raises UsageError, which says what can be set, and to what."""
    known = {each.name: each for each in fields(options)}
    chosen: dict[str, object] = {}
    for name, text in values.items():
        found = known.get(name.strip().replace("-", "_"))
        if found is None:
            raise _unknown(policy, name, list(known))
        about = found.metadata["about"]
        try:
            chosen[found.name] = _value(f"{policy}: {name}={text}", text.strip(), found.default, about)
        except UsageError as error:
            raise UsageError(str(error), _meaning(found.name, found.default, about)) from None
    try:
        return replace(options, **chosen)
    except ValueError as error:  # what is wrong with several together, or in a text, found by ``__post_init__``
        given = (known[name] for name in chosen)
        hint = "; ".join(_meaning(each.name, each.default, each.metadata["about"]) for each in given)
        raise UsageError(f"{policy}: {error}", hint) from error


def _meaning(name: str, default: object, about: _About) -> str:
    """What an option is for, as the hint of a mistake."""
    return f"{name.replace('_', '-')} is {about.help}; {_shown(default, about) or 'nothing'} unless given"


def _unknown(policy: str, name: str, known: Sequence[str]) -> UsageError:
    typed = [each.replace("_", "-") for each in known]
    owner = policy if policy.startswith("-") else f"policy {policy}"  # flags have options too
    if not typed:
        return UsageError(f"{owner} has no options, so none called {name!r}", "leave it out")
    near = get_close_matches(name, typed, 1)
    hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(typed)}"
    return UsageError(f"{owner} has no option {name!r}", hint)


def _value(where: str, text: str, default: object, about: _About) -> object:
    if isinstance(default, bool):
        if text.lower() not in _YES:
            raise UsageError(f"{where} is neither true nor false")
        return _YES[text.lower()]
    if isinstance(default, str):
        if about.choices and text not in about.choices:
            raise UsageError(f"{where} is not one of {', '.join(about.choices)}")
        return text
    number = _number(where, text, about, whole=isinstance(default, int))
    if not about.least <= number <= about.most or number <= about.above:
        raise UsageError(f"{where} is out of range: {_values(default, about)}")
    return number


def _number(where: str, text: str, about: _About, *, whole: bool) -> float:
    if about.unit == "duration":
        found = _DURATION.fullmatch(text)
        if found is None:
            raise UsageError(f"{where} is not a duration, such as 500ms or 10s")
        return _bounded(where, float(found[1]) * _SECONDS[found[2]])
    try:
        number = int(text) if whole else float(text)
    except ValueError:
        raise UsageError(f"{where} is not a {'whole ' if whole else ''}number") from None
    if not math.isfinite(number) and about.most != math.inf:
        raise UsageError(f"{where} is not a finite number")
    if whole and abs(number) >= _WORD:
        raise UsageError(f"{where} has more than 64 bits")
    return number


def _bounded(where: str, seconds: float) -> float:
    """A duration that can be told from 0, and added to others."""
    if 0 < seconds < _NANOSECOND:
        raise UsageError(f"{where} is shorter than a nanosecond")
    if seconds > _YEAR_S:
        raise UsageError(f"{where} is longer than a year")
    return seconds


def _values(default: object, about: _About) -> str:
    """What an option may be, in words."""
    if isinstance(default, bool):
        return "true or false"
    if about.choices:
        return ", ".join(about.choices)
    if isinstance(default, str):
        return "text"
    kind = "a duration" if about.unit == "duration" else "a whole number" if isinstance(default, int) else "a number"
    limits = []
    if about.above != -math.inf:
        limits.append(f"above {_shown(about.above, about)}")
    if about.least != -math.inf:
        limits.append(f"at least {_shown(about.least, about)}")
    if about.most != math.inf:
        limits.append(f"at most {_shown(about.most, about)}")
    return f"{kind} {' and '.join(limits)}".strip()


def _shown(value: object, about: _About) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if about.unit == "duration" and isinstance(value, int | float) and math.isfinite(value):
        return f"{value * 1000:g}ms" if 0 < value < 1 else f"{value:g}s"
    return f"{value:g}" if isinstance(value, float) else str(value)
