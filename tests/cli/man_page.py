"""``man/lbctl.1``: the manual page, made of the commands and of the tables of the reference."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import dedent
from typing import Final

from lbctl import __version__
from tests.cli.commands import ARGUMENTS, Option, Page, is_indented, pages

ROOT: Final = Path(__file__).parents[2]
MAN: Final = ROOT / "man" / "lbctl.1"
_REFERENCE: Final = ROOT / "docs" / "reference"
_DATE: Final = "2026-11-30"
_ABOUT: Final = """\
lbctl shows what client-side load balancing does to gRPC services that register themselves in etcd: what is registered
and whether it is alive, and under load what every single backend got, beside the share it should have had.
Results are printed on standard output, everything else on standard error.
"""


def manual() -> str:
    """The whole page."""
    known = pages()
    lines = [
        f'.TH LBCTL 1 "{_DATE}" "lbctl {__version__}" "User Commands"',
        ".ad l",
        ".SH NAME",
        r"lbctl \- diagnose and load-test gRPC services behind client-side load balancing",
        ".SH SYNOPSIS",
        r"\fBlbctl\fR [\fIOPTIONS\fR] \fICOMMAND\fR [\fIARGS\fR]...",
        ".SH DESCRIPTION",
        *_text(_ABOUT),
        *_commands(known),
        ".SH EXIT STATUS",
        *_terms("exit-codes.md"),
        ".SH ENVIRONMENT",
        *_terms("environment.md"),
        ".SH FILES",
        *_term("./lbctl.yaml, $XDG_CONFIG_HOME/lbctl/config.yaml", "Settings; the former wins."),
        ".SH SEE ALSO",
        r"\fBetcdctl\fR(1)",
    ]
    return "\n".join(lines) + "\n"


def _commands(known: Sequence[Page]) -> Iterator[str]:
    said: set[Option] = set()
    before = ""
    for page in known:
        if page.group != before:
            yield f".SH {page.group.upper()}"
            before = page.group
        yield f'.SS "{_plain(page.usage)}"'
        for number, part in enumerate(page.about):
            yield from [".PP"] * (number > 0)
            yield from _as_it_stands(dedent(part).split("\n")) if is_indented(part) else _text(part)
        if page.examples:
            yield from (".PP", "Examples:", ".PP", *_as_it_stands(page.examples))
        yield from _options(page, said)


def _options(page: Page, said: set[Option]) -> Iterator[str]:
    """The options of a command; those that a command before it has, too, are named."""
    again = []
    for group in page.groups:
        fresh = [option for option in group.options if option not in said or group.title == ARGUMENTS]
        again += [option.name for option in group.options if option not in fresh]
        said.update(fresh)
        if fresh:
            yield from (".PP", rf"\fB{_plain(group.title)}\fR")
        for option in fresh:
            yield from _term(option.spelled, option.text)
    if again:
        yield from (".PP", "And, as described above:", _plain(", ".join(again)) + ".")


def _as_it_stands(lines: Sequence[str]) -> tuple[str, ...]:
    return ".nf", ".RS 4", *map(_plain, lines), ".RE", ".fi"


def _terms(name: str) -> Iterator[str]:
    for cells in tables((_REFERENCE / name).read_text(encoding="utf-8")):
        yield from _term(re.sub("`", "", cells[0]).replace(" ", ", "), "; ".join(filter(None, cells[1:])))


def _term(term: str, text: str) -> tuple[str, ...]:
    return ".TP", rf"\fB{_plain(term)}\fR", *_text(text)


def _text(text: str) -> Iterator[str]:
    for line in text.strip().split("\n"):
        yield _plain(re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", line).replace("`", ""))


def _plain(text: str) -> str:
    """The text as roff shows it to the letter."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-").replace('"', r"\(dq").replace("'", r"\(aq")
    return escaped.replace("^", r"\(ha").replace("~", r"\(ti").replace(".", r"\&.", escaped.startswith("."))


def tables(text: str) -> Iterator[list[str]]:
    """The rows of the tables of a page of Markdown, without their heads, as cells."""
    head = True
    for line in text.split("\n"):
        if not line.startswith("|"):
            head = True
        elif set(line) <= set("|-: "):
            head = False
        elif not head:
            yield [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
