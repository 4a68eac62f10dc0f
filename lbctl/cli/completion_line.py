"""A command line as far as it is typed: the words before the cursor, what they are, and what is due at the cursor."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from lbctl.cli.completion_table import Parameter, Syntax, syntax_of, syntax_of_root
from lbctl.cli.completion_values import Typed, command_line


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a line without quotes, the program's name among those before; ``word`` is typed up to the cursor."""

    before: tuple[str, ...]
    word: str
    after: tuple[str, ...] = ()


class Reader:
    """Takes words one by one as the command line itself would; ``pending`` is the option whose value is next."""

    def __init__(self) -> None:
        self.syntax: Syntax = syntax_of_root()
        self.command = ""
        self.options: defaultdict[str, list[str | bool]] = defaultdict(list)
        self.arguments: list[str] = []
        self.pending: Parameter | None = None
        self.literal = False  # nothing is an option any more
        self.taken = 0  # words
        self.rest: int | None = None  # which word begins another command line

    def take(self, word: str) -> None:
        """Take the next word."""
        self.taken += 1
        if self.pending is not None and self._is_value(word, self.pending):
            self._give(self.pending, word)
            self.pending = None
            return
        self.pending = None
        if self.literal or not word.startswith("-") or word == "-":
            self._argument(word)
        elif word == "--":
            self.literal = True
        elif word.startswith("--"):
            self._long(word)
        else:
            self._short(word)

    def pass_over(self, word: str) -> None:
        """Take a word that is not all there yet, and whose value says nothing."""
        known = {name: len(values) for name, values in self.options.items()}
        self.take(word)
        for name in list(self.options):
            del self.options[name][known.get(name, 0) :]
            if not self.options[name]:
                del self.options[name]

    @property
    def due(self) -> Parameter | None:
        """The argument that comes next."""
        return self.syntax.argument(len(self.arguments)) if self.command else None

    def _is_value(self, word: str, option: Parameter) -> bool:
        """Whether the word belongs to the option before; one that may stand alone leaves what looks like no value."""
        if not option.optional:
            return True
        known = option.metavar.strip("[]").split("|")
        return not word.startswith("-") and (word == "on" or word in known or any(sign in word for sign in "=<>"))

    def _give(self, option: Parameter, value: str | bool) -> None:
        self.options[option.name].append(value)

    def _argument(self, word: str) -> None:
        if not self.command:
            found = syntax_of(word)
            self.command, self.syntax, self.literal = word, found or Syntax(), False
            return
        due = self.due
        if due is not None and due.completes is command_line and self.rest is None:
            self.rest = self.taken - 1
        self.arguments.append(word)
        self.literal = self.literal or not self.syntax.interspersed

    def _long(self, word: str) -> None:
        flag, equals, value = word.partition("=")
        option = self.syntax.options.get(flag)
        if option is None:
            return
        if not option.takes_value:
            self._give(option, flag not in option.off)
        elif equals:
            self._give(option, value)
        else:
            self.pending = option

    def _short(self, word: str) -> None:
        """``-q``, ``-qv``, ``-n10``, ``-n 10``."""
        for place, letter in enumerate(word[1:], 1):
            option = self.syntax.options.get(f"-{letter}")
            if option is None:
                return
            if not option.takes_value:
                self._give(option, True)
            elif word[place + 1 :]:
                self._give(option, word[place + 1 :])
                return
            else:
                self.pending = option


@dataclass(frozen=True, slots=True)
class Line:
    """A line that was read: what is due at the cursor, and what stands elsewhere."""

    reader: Reader  # before the cursor
    typed: Typed  # with everything on the line but the word itself
    word: str


def read(words: Words, hosts: tuple[str, ...] = ()) -> Line:
    """Read a line. Options count wherever they stand, and the command may follow the cursor."""
    reader, whole = Reader(), Reader()
    _take(reader, words.before[1:])
    _take(whole, words.before[1:])
    behind = len(whole.arguments)
    if words.word.strip("-"):
        whole.pass_over(words.word)
    else:
        whole.pending = None
    was_argument = len(whole.arguments) > behind
    _take(whole, words.after)
    arguments = whole.arguments[:behind] + whole.arguments[behind + was_argument :]
    command = reader.command or (whole.command if whole.command != words.word else "")
    return Line(reader, Typed(words.word, command, dict(whole.options), tuple(arguments), hosts), words.word)


def _take(reader: Reader, words: Iterable[str]) -> None:
    for word in words:
        reader.take(word)


def inner(words: Words, begin: int) -> Words:
    """The line that begins at this word: the command of ``demo`` or ``register``."""
    return replace(words, before=words.before[begin:])


DEMO_HOST: Final = "echo"


def hosts_of(line: Line) -> tuple[str, ...]:
    """The services that a demo would have."""
    if line.typed.command != "demo":
        return ()
    named: Sequence[str] = [value for value in line.typed.options.get("service", ()) if isinstance(value, str)]
    return tuple(named) or (DEMO_HOST,)
