"""From a line to what may stand at its cursor."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from lbctl.cli.completion_line import Line, Words, hosts_of, inner, read
from lbctl.cli.completion_table import Parameter, commands, syntax_of
from lbctl.cli.completion_values import Candidate, Typed, command_line

LONGEST_ABOUT: Final = 100
_PROGRAM: Final = "lbctl"


@dataclass(frozen=True, slots=True)
class Answer:
    """What may stand at the cursor; or, from ``delegate`` on, a line of another program, for the shell to complete."""

    candidates: tuple[Candidate, ...] = ()
    delegate: int | None = None


def answer(words: Words, hosts: tuple[str, ...] = ()) -> Answer:
    """Tell what may stand at the cursor of a line."""
    line = read(words, hosts)
    place = _rest(line)
    if place is not None:
        begin = place + 1  # the program's name
        if begin < len(words.before) and os.path.basename(words.before[begin]) == _PROGRAM:
            found = answer(inner(words, begin), hosts_of(line))
            return found if found.delegate is None else Answer(delegate=begin + found.delegate)
        return Answer(delegate=begin)
    return Answer(_tidied(_found(line), line.word))


def _rest(line: Line) -> int | None:
    """Which word, behind the program's name, begins another command line that the cursor is in."""
    reader = line.reader
    if reader.rest is not None:
        return reader.rest
    due = reader.due
    if due is None or due.completes is not command_line or reader.pending is not None:
        return None
    is_option = line.word.startswith("-") and not reader.literal
    return None if is_option else reader.taken


def _found(line: Line) -> Iterator[Candidate]:
    reader, word = line.reader, line.word
    if reader.pending is not None:
        yield from _values(_own(reader.pending, line), line.typed, "", word)
        if not reader.pending.optional:
            return
    if not reader.literal and word.startswith("-"):
        yield from _attached(line) if "=" in word or not word.startswith("--") else _options(line)
        return
    if not reader.command:
        yield from (Candidate(name, about) for name, about in commands())
        return
    if reader.due is not None:
        yield from _values(reader.due, line.typed, "", word)
    elif not word and not reader.literal and reader.pending is None:
        yield from _options(line)


def _own(option: Parameter, line: Line) -> Parameter:
    """An option that stands before the command, as the command behind the cursor has it."""
    own = syntax_of(line.typed.command) if line.typed.command and not line.reader.command else None
    return option if own is None else own.options.get(option.flags[-1], option)


def _values(parameter: Parameter, typed: Typed, kept: str, text: str) -> Iterator[Candidate]:
    """Values of an option or argument, behind what stands before them in the same word."""
    if parameter.completes is None:
        return
    for each in parameter.completes(typed.ending(text)):
        if each.text.startswith(text):
            yield each._replace(text=kept + each.text, shown=each.shown or (each.text if kept else ""))


def _attached(line: Line) -> Iterator[Candidate]:
    """``--option=VALUE``, ``-nVALUE``; a word that may become one or the other."""
    known, word = line.reader.syntax.options, line.word
    flag, equals, value = word.partition("=")
    if word.startswith("--"):
        option = known.get(flag)
        if option is not None and option.takes_value:
            yield from _values(_own(option, line), line.typed, flag + equals, value)
        return
    for place, letter in enumerate(word[1:], 1):
        option = known.get(f"-{letter}")
        if option is None:
            return
        if option.takes_value:
            if word[place + 1 :]:
                yield from _values(option, line.typed, word[: place + 1], word[place + 1 :])
                return
            break
    yield from _options(line)
    if len(word) > 2:
        yield Candidate(word)


def _options(line: Line) -> Iterator[Candidate]:
    """Flags that are not given yet; short ones where nothing but a dash is typed, or the flag itself."""
    seen: set[str] = set()
    for flag, option in line.reader.syntax.options.items():
        is_given = option.name in line.typed.options and not option.many and flag != line.word
        if option.hidden or is_given:
            continue
        is_short = not flag.startswith("--")
        if is_short and line.word not in ("-", flag):
            continue
        if flag not in seen:
            seen.add(flag)
            yield Candidate(flag, option.about.partition("; ")[0])


def _tidied(found: Iterable[Candidate], word: str) -> tuple[Candidate, ...]:
    """Those that go on from the word, once each; no control characters ever reach a terminal."""
    kept: dict[str, Candidate] = {}
    for each in found:
        if each.text.startswith(word) and each.text and each.text.isprintable():
            kept.setdefault(each.text, each._replace(about=_brief(each.about)))
    return tuple(kept.values())


def _brief(about: str) -> str:
    """One line of a help text."""
    line = "".join(letter if letter.isprintable() else " " for letter in about)
    return line if len(line) <= LONGEST_ABOUT else f"{line[: LONGEST_ABOUT - 3].rstrip()}..."
