"""The commands of the how-to pages and the README: each block that says so runs in a demo, every line ends well."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.e2e.runs import ROOT, lbctl

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

_BLOCK = re.compile(r"<!-- run in a demo(?:: (?P<options>[^>]*?))? -->\n```sh\n(?P<script>.*?)```", re.DOTALL)


class Block(NamedTuple):
    name: str
    options: list[str]
    script: str


def blocks() -> list[Block]:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("how-to/*.md"))]
    return [
        Block(f"{page.name}-{number}", (found["options"] or "").split(), found["script"])
        for page in pages
        for number, found in enumerate(_BLOCK.finditer(page.read_text(encoding="utf-8")), 1)
    ]


def marked(block: Block) -> object:
    """A page takes as long as what it shows."""
    marks = () if block.name.startswith("README") else pytest.mark.slow
    return pytest.param(block, id=block.name, marks=marks)


@pytest.mark.parametrize("block", [marked(block) for block in blocks()])
async def test_every_command_of_a_page_ends_well(block: Block, tmp_path: Path) -> None:
    done = await lbctl("demo", *block.options, "--", "sh", "-e", "-c", block.script, cwd=tmp_path)
    assert done.status == 0, done.err
    assert "error" not in done.err


def test_every_how_to_page_has_commands_that_run() -> None:
    for page in (ROOT / "docs" / "how-to").glob("*.md"):
        assert _BLOCK.search(page.read_text(encoding="utf-8")), page
