"""Commands that change the registry: what they show, whom they ask, and when they write nothing."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from lbctl.cli.printing import hidden_note
from lbctl.cli.read_only import refusal
from lbctl.cli.screens import caps_of
from lbctl.cli.settings import Settings
from lbctl.cli.weight_options import WriteFlags
from lbctl.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from lbctl.commands.rewriting import Change
    from lbctl.etcd.client import Etcd
    from lbctl.model import Entry
    from lbctl.view.plain_table import Rendered
    from lbctl.view.services import Look
    from lbctl.view.theme import Glyphs, Style

FORMATS: Final = ("table", "wide", "json", "jsonl", "yaml")

R = TypeVar("R")


class Printer(ABC, Generic[R]):
    """Prints reports in the format asked for: results to standard output, questions and notes to standard error."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._caps = caps_of(settings)
        self._hidden: list[str] = []  # columns of the last table that did not fit
        self._told: list[str] = []  # those that were spoken of

    @abstractmethod
    def table(self, report: R, look: Look) -> Rendered:
        """A report for people."""

    @abstractmethod
    def document(self, report: R) -> dict[str, Any]:
        """A report for programs."""

    @abstractmethod
    def became(self, report: R) -> str:
        """Say in a line what became of a report, and what may undo it."""

    def found(self, report: R) -> None:
        """Print the result."""
        self.result(report)
        self.note(self.became(report))

    def result(self, report: R) -> None:
        """Print the result, or one of many."""
        print(self.text(report), flush=True)  # noqa: T201
        self.tell_hidden()

    def plan(self, report: R) -> None:
        """Show what is about to be written, to be asked about."""
        caps = self._caps
        self._say(self._table(report, caps.err_style, caps.err_glyphs, caps.out_width))
        self.tell_hidden()

    def tell_hidden(self) -> None:
        """Name the columns that the last table had no room for; once is enough."""
        if self._hidden and self._hidden != self._told:
            self._told = self._hidden
            self.note(*hidden_note(self._hidden))

    def note(self, line: str) -> None:
        """One line to standard error, or several, unless -q; what a key holds cannot move the cursor."""
        if not self._settings.quiet:
            self._say("\n".join(map(_printable, line.split("\n"))))

    def agreed(self, question: str) -> bool:
        """Ask on the terminal; anything but yes is no."""
        print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)  # noqa: T201
        return sys.stdin.readline().strip().lower() in ("y", "yes")

    @property
    def is_table(self) -> bool:
        return self._settings.output in ("table", "wide")

    def text(self, report: R) -> str:
        """A report in the format asked for."""
        from lbctl.view import output

        match self._settings.output:
            case "json":
                return output.as_json(self.document(report))
            case "jsonl":
                return output.as_json_line(self.document(report))
            case "yaml":
                return output.as_yaml(self.document(report))
        caps = self._caps
        width = None if self._settings.output == "wide" else caps.out_width
        return self._table(report, caps.out_style, caps.out_glyphs, width)

    def _table(self, report: R, style: Style, glyphs: Glyphs, width: int | None) -> str:
        from lbctl.view.services import Look

        look = Look(style, glyphs, width, headers=not self._settings.no_headers)
        table = self.table(report, look)
        self._hidden = table.hidden
        return "\n".join(table.lines)

    @staticmethod
    def _say(text: str) -> None:
        with suppress(OSError):  # nobody reads it any more
            print(text, file=sys.stderr, flush=True)  # noqa: T201


@dataclass(frozen=True, slots=True)
class Proposal(Generic[R]):
    """What a command is about to write.

    ``write`` does it, and tells the report of it as soon as that is done; where nothing changes it tells nothing, and
    puts in order what is noted.
    """

    report: R
    changes: int
    question: str
    about: str
    warning: str
    write: Callable[[Callable[[R], None]], Coroutine[Any, Any, int | None]]


def _printable(line: str) -> str:
    from lbctl.view.text import clean

    return line if line.isprintable() else clean(line, len(line))


def refuse_unasked(write: WriteFlags, settings: Settings) -> None:
    """Raise UsageError where nothing may be written, or nobody could be asked."""
    if write.dry_run and write.yes:
        raise UsageError("--dry-run and -y contradict each other")
    if write.dry_run:
        return
    if settings.read_only:
        raise read_only(settings)
    if not write.yes and not settings.can_ask():
        why = settings.origins.get("no_input") if settings.no_input else "standard input is no terminal"
        raise UsageError(f"{why}, so nobody can be asked", "give -y to write, or --dry-run")


def instances(count: int) -> str:
    """So many instances, in words."""
    return "1 instance" if count == 1 else f"{count} instances"


def remarks(*lines: str) -> str:
    """What is asked about, and below it what there is to say about that."""
    return "\n".join(line for line in lines if line)


async def tidied(
    etcd: Etcd, stale: Mapping[str, Entry], written: Iterable[Change], note: Callable[[str], None]
) -> None:
    """Delete notes of earlier drains that no key is described by any more, and tell how many."""
    from lbctl.commands.noting import tidy

    count = await tidy(etcd, stale, {beside.key for each in written for beside in each.beside})
    if count:
        notes = "1 stale note of an earlier drain" if count == 1 else f"{count} stale notes of earlier drains"
        note(f"{notes} deleted under /lbctl/drained/")


def read_only(settings: Settings) -> UsageError:
    """Say that nothing may be written, and since when."""
    return UsageError(refusal(settings), "use --dry-run")


def settle(proposal: Proposal[R], flags: WriteFlags, printer: Printer[R]) -> int:
    """Show it, ask, write, and tell; returns the exit status."""
    import asyncio

    from lbctl.commands.stopping import status_after

    if flags.dry_run or not proposal.changes:
        printer.found(proposal.report)
        if flags.yes:
            asyncio.run(proposal.write(printer.found))
        return ExitCode.OK
    if proposal.warning:
        printer.note(f"warning: {proposal.warning}")
    if not flags.yes:
        printer.plan(proposal.report)
        printer.note(proposal.about)
        if not printer.agreed(proposal.question):
            printer.note("nothing was written")
            return ExitCode.CHECK_FAILED
    return status_after(asyncio.run(proposal.write(printer.found)))
