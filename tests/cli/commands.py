"""The commands as they are declared: for the pages that are made of these, and to parse command lines."""

from __future__ import annotations

import functools
import re
from typing import Any, Final, NamedTuple

import typer

from lbctl.cli import LISTED, build
from lbctl.cli.help import _GROUPS

_NOBODY: Final = "no such command"  # a first word that makes lbctl load all of them
_MORE: Final = "More"
ARGUMENTS: Final = "Arguments"


class Option(NamedTuple):
    """One option: how it is spelled, with its value, and what it does."""

    spelled: str
    text: str
    name: str


class Group(NamedTuple):
    """Options under one title."""

    title: str
    options: tuple[Option, ...]


class Page(NamedTuple):
    """What there is to say of one command."""

    name: str
    group: str
    summary: str
    usage: str
    about: tuple[str, ...]
    examples: tuple[str, ...]
    groups: tuple[Group, ...]


@functools.cache
def application() -> Any:  # noqa: ANN401 - typer has no name for what it makes
    """Return lbctl with all of its commands."""
    return typer.main.get_command(build([_NOBODY]))


def pages() -> list[Page]:
    """Every command in the order of the help."""
    known = application().commands
    listed = []
    for each in LISTED:
        command = each.load()
        about = tuple(_one_line(part) for part in command.about.split("\n\n"))
        parts = each.name, _GROUPS[each.group], each.summary, usage(each.name, known[each.name]), about
        listed.append(Page(*parts, command.examples, groups(known[each.name])))
    return listed + [_small(name, command) for name, command in known.items() if not _is_listed(name)]


def _is_listed(name: str) -> bool:
    return any(each.name == name for each in LISTED)


def _small(name: str, command: Any) -> Page:  # noqa: ANN401 - a command
    text = _one_line(command.help)
    return Page(name, _MORE, text[0].lower() + text[1:].removesuffix("."), usage(name, command), (text,), (), ())


def usage(name: str, command: Any) -> str:  # noqa: ANN401 - a command
    """The command and its arguments; what may be left out is in brackets."""
    words = ["lbctl", name]
    for parameter in command.params:
        if parameter.param_type_name == "argument" and not parameter.hidden:
            several = "..." if parameter.nargs != 1 and not parameter.metavar.endswith("...") else ""
            word = parameter.metavar + several
            words.append(word if parameter.required or word.startswith("[") else f"[{word}]")
    return " ".join([*words, "[OPTIONS]"])


def groups(command: Any) -> tuple[Group, ...]:  # noqa: ANN401 - a command
    """Arguments and options under their titles."""
    found: dict[str, list[Option]] = {}
    for parameter in command.params:
        if getattr(parameter, "hidden", False) or not parameter.help:
            continue
        if parameter.param_type_name == "argument":
            title, spelled = ARGUMENTS, parameter.metavar
        else:
            title, spelled = parameter.rich_help_panel or "Options", spelling(parameter)
        found.setdefault(title, []).append(Option(spelled, _one_line(parameter.help), _name(parameter)))
    return tuple(Group(title, tuple(options)) for title, options in found.items())


def spelling(parameter: Any) -> str:  # noqa: ANN401 - an option
    """The option in all its forms, with what follows it."""
    names = ", ".join(parameter.opts + parameter.secondary_opts)
    return f"{names} {parameter.metavar}" if parameter.metavar else names


def _name(parameter: Any) -> str:  # noqa: ANN401 - an option
    if parameter.param_type_name == "argument":
        return str(parameter.metavar)
    return str(min(parameter.opts, key=len))


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()
