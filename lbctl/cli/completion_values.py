"""What a value may be while it is being typed; options and arguments name theirs where they are declared.

A source takes what was typed so far and gives whole values. Those that do not begin as the typed one does are left out
later, so a source may give everything it knows. Nothing heavy is imported before a source is asked.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from itertools import islice
from typing import Any, Final, NamedTuple, TypeAlias

LIMIT_S: Final = 0.3
_MOST_FILES: Final = 2000
# Metavars of quantities, such as TIME, N|P% or FROM:TO[:TIME]: nobody can guess those.
_QUANTITY: Final = re.compile(r"(?:N|TIME|RATE|SIZE|PERCENT|P%|FROM|TO|STEP|TEXT|URL|HOST:PORT|[][@:,.])+")


class Candidate(NamedTuple):
    """One whole value. ``more`` is to follow in the same word; ``shown`` stands for it in lists, "" for itself."""

    text: str
    about: str = ""
    more: bool = False
    shown: str = ""
    is_file: bool = False


@dataclass(frozen=True, slots=True)
class Typed:
    """A value as far as it is typed, and the rest of the command line.

    ``options`` are by the names of their parameters, switches as True or False; ``arguments`` leave out the one that is
    being typed. ``hosts`` are the services of the ``demo`` that the command is to run in, which is not there yet.
    """

    text: str = ""
    command: str = ""
    options: Mapping[str, Sequence[str | bool]] = field(default_factory=dict)
    arguments: Sequence[str] = ()
    hosts: tuple[str, ...] = ()

    def last(self, name: str) -> str | None:
        """The value of an option, the last one where it was given several times."""
        values = [value for value in self.options.get(name, ()) if isinstance(value, str)]
        return values[-1] if values else None

    def ending(self, text: str) -> Typed:
        """The same line, where only this end of the value counts."""
        return replace(self, text=text)


Source: TypeAlias = Callable[[Typed], Iterable[Candidate]]


def free(typed: Typed) -> Iterable[Candidate]:
    """Any text: there is nothing to complete."""
    return ()


def command_line(typed: Typed) -> Iterable[Candidate]:
    """Another command line: the shell's own to complete, unless it is one of lbctl."""
    return ()


def words(*texts: str) -> Source:
    """One of these."""
    return lambda typed: [Candidate(text) for text in texts]


def described(about: Mapping[str, str]) -> Source:
    """One of these, with what each means."""
    return lambda typed: [Candidate(text, meaning) for text, meaning in about.items()]


def begun(*texts: str) -> Source:
    """One of these; after a sign at the end, as in ``bursts:``, something follows."""
    return lambda typed: [Candidate(text, more=not text[-1].isalnum() and text[-1] != ")") for text in texts]


def either(*sources: Source) -> Source:
    """What any of these gives."""
    return lambda typed: [found for source in sources for found in source(typed)]


def files(*patterns: str) -> Source:
    """A file whose name is like one of the patterns, all without any, or a directory on the way to it."""
    return lambda typed: _files(typed.text, patterns)


def folders() -> Source:
    """A directory."""
    return files("/")  # no name is like that


def _files(text: str, patterns: Sequence[str]) -> Iterator[Candidate]:
    folder, name = os.path.split(text)
    try:
        with os.scandir(os.path.expanduser(folder) or ".") as entries:
            found = sorted(islice(entries, _MOST_FILES), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in found:
        if not entry.name.startswith(name) or (entry.name.startswith(".") and not name.startswith(".")):
            continue
        path, is_folder = os.path.join(folder, entry.name), _is_folder(entry)
        if is_folder or not patterns or any(fnmatch(entry.name, pattern) for pattern in patterns):
            yield Candidate(path + "/" * is_folder, more=is_folder, is_file=True, shown=entry.name + "/" * is_folder)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def after(prefix: str, source: Source) -> Source:
    """The prefix, and behind it what the source gives."""

    def found(typed: Typed) -> Iterator[Candidate]:
        if not typed.text.startswith(prefix):
            yield Candidate(prefix, more=True)
            return
        for each in source(typed.ending(typed.text.removeprefix(prefix))):
            yield each._replace(text=prefix + each.text, shown=each.shown or each.text)

    return found


def listed(source: Source) -> Source:
    """Several with commas between them, each of them once."""

    def found(typed: Typed) -> Iterator[Candidate]:
        before, comma, end = typed.text.rpartition(",")
        given = set(before.split(","))
        for each in source(typed.ending(end)):
            if each.text not in given:
                yield each._replace(text=before + comma + each.text, shown=each.shown or each.text)

    return found


def pairs(options: Callable[[Typed], Any], *, head: Source | None = None, named: str = "") -> Source:
    """``NAME=VALUE`` with commas between, of a class of options as policies have it.

    ``options`` gives an instance of the class, or None where nobody knows which one it would be. ``head`` is a bare
    value that stands first, and ``named`` the option that it is.
    """

    def found(typed: Typed) -> Iterator[Candidate]:
        before, comma, end = typed.text.rpartition(",")
        place = typed.ending(end)
        if head is not None and not comma:
            yield from head(place)
            return
        known = options(typed)
        given = {named, *(part.partition("=")[0].replace("_", "-") for part in before.split(","))}
        for each in _pairs(known, end, given) if known is not None else ():
            yield each._replace(text=before + comma + each.text, shown=each.shown or each.text)

    return found


def _pairs(options: Any, text: str, given: set[str]) -> Iterator[Candidate]:  # noqa: ANN401 - any class of options
    from lbctl.balance.policies.options import described as options_of

    name, equals, _ = text.partition("=")
    for each in options_of(options):
        if equals and each.name == name.replace("_", "-"):
            for value in each.choices or ([each.default] if each.default else []):
                yield Candidate(f"{name}={value}", "default" if value == each.default else "", shown=value)
        elif not equals and each.name not in given:
            about = f"{each.help} (default {each.default})" if each.default else each.help
            yield Candidate(f"{each.name}=", about, more=True)


def by_metavar(metavar: str) -> Source | None:
    """What a metavar alone says: a file, a quantity that cannot be guessed, a word in small letters in place of one.

    None where it leaves that open.
    """
    if metavar == "FILE":
        return files()
    kinds = [part for part in metavar.split("|") if not _QUANTITY.fullmatch(part)]
    return words(*kinds) if all(kind.isalpha() and kind.islower() for kind in kinds) else None


def limit_s(environ: Mapping[str, str]) -> float:
    """How long anybody outside of this process may take."""
    from lbctl.cli.values import parse_duration

    with suppress(ValueError):
        return parse_duration(environ["LBCTL_COMPLETION_TIMEOUT"]) if "LBCTL_COMPLETION_TIMEOUT" in environ else LIMIT_S
    return LIMIT_S
