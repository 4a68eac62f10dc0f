"""What is made of the commands and the schemas: ``python -m tests.cli.cli_reference``.

``docs/reference/cli.md``, ``docs/reference/schemas.md`` and ``man/lbctl.1``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from textwrap import dedent
from typing import Final, NamedTuple

from tests.cli.commands import ARGUMENTS, Option, Page, is_indented, pages
from tests.cli.man_page import MAN, manual

ROOT: Final = Path(__file__).parents[2]
REFERENCE: Final = ROOT / "docs" / "reference"
_MANY: Final = 4  # commands that have an option, from which on it is described once for all of them
_HEAD: Final = """\
# Commands and options

Made of the commands themselves by `python -m tests.cli.cli_reference`; the manual page `man/lbctl.1` has the same. What
stands here is what `lbctl COMMAND --help` says. A value follows its option after a space or `=`; `-n10` is `-n 10`.
How values are spelled: times `500ms` `10s` `3m` `1h30m` (a bare number is seconds), counts `10k` `1m`, rates `500`
`500/s` `30/m`, parts `2%`, backends `host:port` or `[v6]:port`. Beside these: [settings](settings.md),
[environment](environment.md), [exit codes](exit-codes.md), [documents and their schemas](schemas.md).
"""
_SCHEMAS: Final = """\
# Documents and their schemas

What `-o json`, `-o jsonl` and `--save` write says in its first key, `schema`, what it is. Keys are added to a document
and never renamed; a number's unit is in its key (`p99_ms`, `duration_s`), shares are 0 to 1, and what was not measured
is null. Each schema is JSON Schema of 2020-12, and the tests hold what lbctl prints to it. Made by
`python -m tests.cli.cli_reference`.

| document | what it is |
|---|---|
"""
_SHARED: Final = """\
## Options of many commands

They stand before or after the name of the command.
"""


class Shared(NamedTuple):
    """Options under one title that the same commands have."""

    title: str
    commands: tuple[str, ...]
    options: tuple[Option, ...]


def shared(known: Sequence[Page]) -> list[Shared]:
    """The options that are the same in many commands; arguments and formats of output are told of each."""
    uses: dict[tuple[str, Option], list[str]] = {}
    for page in known:
        for group in page.groups:
            for option in group.options:
                if group.title != ARGUMENTS and option.name != "-o":
                    uses.setdefault((group.title, option), []).append(page.name)
    found: dict[tuple[str, tuple[str, ...]], list[Option]] = {}
    for (title, option), names in uses.items():
        if len(names) >= _MANY:
            found.setdefault((title, tuple(names)), []).append(option)
    return [Shared(title, names, tuple(options)) for (title, names), options in found.items()]


def document() -> str:
    """The whole page of the reference."""
    known = pages()
    common = shared(known)
    described: dict[Option, str] = {}
    parts = [_HEAD, *_overview(known)]
    for page in known:
        parts += _section(page, common, described)
    return "\n".join([*parts, *_common(common)])


def _overview(known: Sequence[Page]) -> list[str]:
    lines = ["| | command | what it does |", "|---|---|---|"]
    before = ""
    for page in known:
        lines.append(f"| {page.group if page.group != before else ''} | [{page.name}](#{page.name}) | {page.summary} |")
        before = page.group
    return [*lines, ""]


def _section(page: Page, common: Sequence[Shared], described: dict[Option, str]) -> list[str]:
    lines = [f"## {page.name}", "", "```text", page.usage, "```", "", *map(_paragraph, page.about)]
    if page.examples:
        lines += ["<!-- parsed: examples of the help -->", "```sh", *page.examples, "```", ""]
    of_many = {option for each in common for option in each.options}
    elsewhere: dict[str, list[str]] = {}
    for group in page.groups:
        own = []
        for option in group.options:
            if option in of_many:
                continue
            if group.title != ARGUMENTS and described.setdefault(option, page.name) != page.name:
                elsewhere.setdefault(described[option], []).append(option.name)
            else:
                own.append(option)
        if own:
            lines += [f"**{group.title}**", "", "| | |", "|---|---|", *map(_row, own), ""]
    for name, names in elsewhere.items():
        lines += [f"As those of [{name}](#{name}): {' '.join(f'`{each}`' for each in names)}", ""]
    return lines + _pointer(page, common)


def _pointer(page: Page, common: Sequence[Shared]) -> list[str]:
    """Where the rest of its options are."""
    titles = dict.fromkeys(each.title for each in common if page.name in each.commands)
    if not titles:
        return []
    return [f"And [those of many commands](#options-of-many-commands): {', '.join(titles)}", ""]


def _common(common: Sequence[Shared]) -> list[str]:
    lines = [_SHARED]
    for each in common:
        lines += [f"**{each.title}** ({', '.join(each.commands)})", "", "| | |", "|---|---|"]
        lines += [*map(_row, each.options), ""]
    return [*lines[:-1], ""]


def _paragraph(text: str) -> str:
    return f"```text\n{dedent(text)}\n```\n" if is_indented(text) else f"{_told(text)}\n"


def _row(option: Option) -> str:
    return f"| {_code(option.spelled)} | {_told(option.text)} |"


def _code(text: str) -> str:
    return "`" + text.replace("|", "\\|") + "`"


def _told(text: str) -> str:
    """The text as Markdown shows it to the letter."""
    return re.sub(r"([|<*\[\]$])", r"\\\1", text)


def schemas() -> str:
    """The page that lists all documents."""
    rows = []
    for path in sorted(REFERENCE.glob("*.schema.json")):
        schema = json.loads(path.read_text(encoding="utf-8"))
        text = _told(schema.get("description", schema["title"]))
        rows.append(f"| [{schema['properties']['schema']['const']}]({path.name}) | {text} |\n")
    return _SCHEMAS + "".join(rows)


def generated() -> dict[Path, str]:
    """Every file that is made here, and what it must be."""
    return {REFERENCE / "cli.md": document(), REFERENCE / "schemas.md": schemas(), MAN: manual()}


if __name__ == "__main__":
    for each, text in generated().items():
        each.parent.mkdir(exist_ok=True)
        each.write_text(text, encoding="utf-8")
