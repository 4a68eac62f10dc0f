"""The commands that are printed in pages, help texts and code, and what becomes of each.

What stands above a block of shell commands says how it is tested; readers do not see it:

    <!-- run in a demo -->             all of the block runs in a demo, and every line ends well
    <!-- run in a demo: OPTIONS -->    in one that is started so
    <!-- that demo -->                 is how a demo is started by hand
    <!-- run in that demo -->          all of the block runs in one that is started so
    <!-- run -->                       all of the block runs by itself
    <!-- demo-command -->              .ci/run runs it on a fresh machine, and so it does <!-- test-command -->
    <!-- run by .ci/run -->            .ci/run has every word of it
    <!-- parsed: REASON -->            what cannot run here is parsed, as everything else is as well
    <!-- not run: REASON -->           no lbctl is in it

Blocks of a page that run in demos of the same options run one after the other in one folder of one demo. What would go
on for ever, as a watch does, is ended by Ctrl-C. Of a block of text under ``<!-- printed by it -->`` every word must
have been printed by what ran above it; figures are those of another run.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[1]
_BLOCK: Final = re.compile(r"(?:<!-- (?P<how>[^\n]*?) -->\n)?```sh\n(?P<script>.*?)```", re.DOTALL)
_SHOWN: Final = re.compile(r"<!-- printed by it -->\n```text\n(.*?)```", re.DOTALL)
_WORD: Final = re.compile(r"[A-Za-z_]{3,}")
_ENDLESS: Final = re.compile(r"^(lbctl (?:watch|ls .*-w\b|health .*--watch)[^|#\n]*)", re.MULTILINE)
_FENCED: Final = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
_INLINE: Final = re.compile(r"`(lbctl [^`]*)`")
_IN_A_DEMO: Final = re.compile(r"run in (?:a demo(?:: (?P<options>.*))?|(?P<that>that demo))")
_HERE_DOCUMENT: Final = re.compile(r"<<'(\w+)'\n.*?\n\1$", re.DOTALL | re.MULTILINE)
_SUBSTITUTION: Final = re.compile(r"\$\(([^()]*)\)")
_ENDS: Final = {";", "|", "||", "&&", "&", "(", ")", "do", "then", "\n"}
_REDIRECTIONS: Final = {">", ">>", "<", ">&", "&>"}


class Block(NamedTuple):
    """A block of shell commands of a page; ``how`` it is tested is "" where nothing says so."""

    page: str
    number: int
    how: str
    script: str


class Script(NamedTuple):
    """What runs in one demo: all blocks of a page that want the same one."""

    page: str
    options: str
    script: str

    @property
    def name(self) -> str:
        return f"{self.page}:{self.options}" if self.options else self.page


def pages() -> list[Path]:
    """Every page that people read."""
    roots = (ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"))
    return [*roots, *sorted((ROOT / "docs").rglob("*.md"))]


def blocks() -> list[Block]:
    """Every block of shell commands."""
    return [
        Block(page.relative_to(ROOT).as_posix(), number, found["how"] or "", found["script"])
        for page in pages()
        for number, found in enumerate(_BLOCK.finditer(page.read_text(encoding="utf-8")), 1)
    ]


def scripts() -> list[Script]:
    """What there is to run in demos."""
    together: dict[tuple[str, str], str] = {}
    by_hand: dict[str, str] = {}
    for block in blocks():
        if block.how == "that demo":
            by_hand[block.page] = block.script.strip().removeprefix("lbctl demo").strip()
        elif found := _IN_A_DEMO.fullmatch(block.how):
            place = block.page, by_hand[block.page] if found["that"] else found["options"] or ""
            together[place] = together.get(place, "") + block.script
    return [Script(page, options, script) for (page, options), script in together.items()]


def bounded(script: str) -> str:
    """The script, which ends: what would go on for ever gets a Ctrl-C, on a busy machine before it has begun."""
    return _ENDLESS.sub(r"timeout --foreground -s INT --preserve-status 3 \1 || [ $? -eq 130 ] ", script)


def shown(page: str) -> set[str]:
    """The words that a page shows as printed by what it runs."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return {word for block in _SHOWN.findall(text) for word in _WORD.findall(block)}


def alone() -> list[Block]:
    """What there is to run by itself."""
    return [block for block in blocks() if block.how == "run"]


def spans() -> Iterator[tuple[str, str]]:
    """Every command within a sentence, and its page."""
    for page in pages():
        text = _FENCED.sub("", page.read_text(encoding="utf-8"))
        for found in _INLINE.findall(text):
            yield page.relative_to(ROOT).as_posix(), " ".join(found.split())


def command_lines(script: str) -> list[list[str]]:
    """The arguments of each lbctl that a shell would start."""
    text = _HERE_DOCUMENT.sub("", script).replace("\\\n", " ")
    inner: list[list[str]] = []
    while _SUBSTITUTION.search(text):
        for found in _SUBSTITUTION.findall(text):
            inner += command_lines(found)
        text = _SUBSTITUTION.sub("127.0.0.1:1", text)
    return inner + [line for each in text.split("\n") for line in _started(_words(each))]


def _words(line: str) -> list[str]:
    words = shlex.shlex(re.sub(r"\b[12]>", ">", line), posix=True, punctuation_chars=True)
    words.whitespace_split = True
    return list(words)


def _started(words: list[str]) -> Iterator[list[str]]:
    """Split what one line starts where the shell does, and leave redirections out."""
    current: list[str] = []
    skipped = False
    for word in [*words, "\n"]:
        if skipped:
            skipped = False
        elif word in _ENDS:
            yield from _arguments(current)
            current = []
        elif word in _REDIRECTIONS:
            skipped = True
        else:
            current.append(word)


def _arguments(words: list[str]) -> Iterator[list[str]]:
    """The arguments of lbctl, and those of the one that it starts itself."""
    place = next((place for place, word in enumerate(words) if word.rpartition("/")[2] == "lbctl"), None)
    if place is None:
        return
    yield words[place + 1 :]
    if "--" in words[place:]:
        yield from _arguments(words[words.index("--", place) + 1 :])
