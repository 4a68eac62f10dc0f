"""The options and arguments of every command as their declarations have them, without building the command."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, get_args, get_origin

from lbctl.cli.completion_values import Source


@dataclass(frozen=True, slots=True)
class Parameter:
    """One option, or an argument, which has no flags.

    ``off`` are the flags of a switch that say no. An option whose value is ``optional`` may stand alone. ``completes``
    is None only for switches.
    """

    name: str
    about: str = ""
    flags: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    metavar: str = ""
    takes_value: bool = False
    optional: bool = False
    many: bool = False
    hidden: bool = False
    completes: Source | None = None


@dataclass(frozen=True, slots=True)
class Syntax:
    """What may stand behind a command; ``interspersed``: options may follow arguments."""

    options: Mapping[str, Parameter] = field(default_factory=dict)
    arguments: tuple[Parameter, ...] = ()
    interspersed: bool = True

    def argument(self, place: int) -> Parameter | None:
        """The argument that stands at a place, from 0; the last one may take many places."""
        if place < len(self.arguments):
            return self.arguments[place]
        last = self.arguments[-1] if self.arguments else None
        return last if last is not None and last.many else None


HELP: Final = Parameter("help", "show this message and exit", ("-h", "--help"))


def commands() -> Iterator[tuple[str, str]]:
    """Every command, and what it does in a line."""
    from lbctl.cli import LISTED
    from lbctl.cli.app import OTHERS

    yield from ((listed.name, listed.summary) for listed in LISTED)
    yield from ((name, (function.__doc__ or "").strip().rstrip(".")) for name, function in OTHERS.items())


def syntax_of(command: str) -> Syntax | None:
    """What may stand behind this command; None where there is none of that name."""
    from lbctl.cli import LISTED
    from lbctl.cli.app import OTHERS

    for listed in LISTED:
        if listed.name == command:
            found = listed.load()
            interspersed = found.options.get("context_settings", {}).get("allow_interspersed_args", True)
            return _read(found.function, interspersed=interspersed)
    return _read(OTHERS[command]) if command in OTHERS else None


def syntax_of_root() -> Syntax:
    """What may stand before the command."""
    from lbctl.cli.app import root

    return _read(root, own_help=True)


def _read(function: Callable[..., Any], *, interspersed: bool = True, own_help: bool = False) -> Syntax:
    found = [
        parameter
        for each in inspect.signature(function, eval_str=True).parameters.values()
        if (parameter := _parameter(each)) is not None
    ]
    options = [each for each in found if each.flags] + ([] if own_help else [HELP])
    flags = {flag: each for each in options for flag in (*each.flags, *each.off)}
    return Syntax(flags, tuple(each for each in found if not each.flags), interspersed)


def _parameter(declared: inspect.Parameter) -> Parameter | None:
    """What typer was told of a parameter of a function; None of one that typer fills by itself."""
    kind, *notes = get_args(declared.annotation) or (None,)
    info: Any = next((note for note in notes if hasattr(note, "param_decls")), None)
    if info is None:
        return None
    # typer takes the first flag for the default where it stands in the annotation
    spelled = [text for text in (info.default, *(info.param_decls or ())) if isinstance(text, str)]
    is_switch = kind in (bool, bool | None) or bool(getattr(info, "count", False))
    metavar = info.metavar or ""
    return Parameter(
        name=declared.name,
        about=info.help or "",
        flags=tuple(text.partition("/")[0] for text in spelled),
        off=tuple(off for text in spelled if (off := text.partition("/")[2])),
        metavar=metavar,
        takes_value=not is_switch,
        optional=bool(spelled) and not is_switch and metavar.startswith("["),
        many=_is_list(kind) or bool(getattr(info, "count", False)),
        hidden=bool(info.hidden),
        completes=getattr(info, "completes", None),
    )


def _is_list(kind: object) -> bool:
    return get_origin(kind) is list or any(get_origin(each) is list for each in get_args(kind))
