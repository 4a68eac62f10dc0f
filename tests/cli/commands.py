"""The commands as they are declared: for the pages that are made of these, and to parse command lines."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import typer

from lbctl.cli import LISTED
from lbctl.cli.app import build
from lbctl.cli.help import _GROUPS

_NOBODY: Final = "no such command"  # a first word that makes lbctl load all of them
_MORE: Final = "More"
ARGUMENTS: Final = "Arguments"
_INCOMPLETE: Final = ("MissingParameter", "BadOptionUsage")


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


@functools.cache
def _idle() -> Any:  # noqa: ANN401 - typer has no name for what it makes
    made = typer.main.get_command(build([_NOBODY]))
    for command in made.commands.values():  # type: ignore[attr-defined]
        command.callback = None
    return made


def mistake(arguments: list[str], *, whole: bool = True) -> str:
    """What is wrong with a command line, which is parsed and not run; "" for nothing. ``whole``: it has to be."""
    if arguments and arguments[0].isupper():  # COMMAND: any of them
        arguments = ["ls", *arguments[1:]]
    try:
        _idle().main(args=arguments, prog_name="lbctl", standalone_mode=False)
    except typer.Exit:
        return ""
    except Exception as error:
        return "" if not whole and type(error).__name__ in _INCOMPLETE else f"{arguments}: {error}"
    return ""


def options() -> set[str]:
    """How every option of every command is spelled."""
    parameters = [parameter for command in application().commands.values() for parameter in command.params]
    return {name for parameter in parameters for name in (*parameter.opts, *parameter.secondary_opts)}


def pages() -> list[Page]:
    """Every command in the order of the help."""
    known = application().commands
    listed = []
    for each in LISTED:
        command = each.load()
        about = tuple(_paragraphs(command.about))
        parts = each.name, _GROUPS.get(each.group, _MORE), each.summary, usage(each.name, known[each.name]), about
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


def _paragraphs(text: str) -> Iterator[str]:
    """Each as one line; lines that are indented as they stand."""
    for part in text.split("\n\n"):
        for indented, run in itertools.groupby(part.split("\n"), is_indented):
            lines = "\n".join(run)
            yield lines if indented else _one_line(lines)


def is_indented(text: str) -> bool:
    """Whether a paragraph is to be shown line by line."""
    return text.startswith("  ")


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()
