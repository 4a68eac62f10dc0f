"""The commands of all pages that can run here do: each line ends well, and prints what the page says that it prints."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests import warm
from tests.documented import ROOT, Block, Script, alone, bounded, scripts, shown
from tests.e2e.runs import environment, running

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

_PATIENCE_S = 240.0  # of all blocks of a page


@pytest.fixture
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder for what commands find on their PATH; those of a page are alone in theirs."""
    return tmp_path_factory.mktemp("tools")


@pytest.mark.parametrize("script", [pytest.param(each, id=each.name) for each in scripts()])
async def test_every_command_of_a_page_ends_well(script: Script, tmp_path: Path, tools: Path) -> None:
    options = shlex.split(script.options)
    commands = f'PATH="{warm.shim(tools)}:$PATH"\n{bounded(script.script)}'
    async with running("demo", *options, "--", "sh", "-e", "-c", commands, cwd=tmp_path) as demo:
        done = await demo.ended(_PATIENCE_S)
    assert done.status == 0, done.err
    assert not re.search(r"^error", done.err, re.MULTILINE), done.err
    if len({each.options for each in scripts() if each.page == script.page}) == 1:
        printed = done.out + done.err
        assert {word for word in shown(script.page) if word not in printed} == set()


@pytest.mark.parametrize("block", [pytest.param(each, id=f"{each.page}-{each.number}") for each in alone()])
def test_every_command_that_needs_no_demo_ends_well(block: Block, tmp_path: Path, tools: Path) -> None:
    path = os.pathsep.join((str(warm.shim(tools)), str(Path(sys.executable).parent), os.environ["PATH"]))
    done = subprocess.run(
        ["sh", "-e", "-c", block.script],
        cwd=tmp_path,
        env=environment(None) | {"PATH": path},
        capture_output=True,
        text=True,
        timeout=_PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_every_how_to_page_has_commands_that_run() -> None:
    run = {script.page for script in scripts()}
    pages = {page.relative_to(ROOT).as_posix() for page in (ROOT / "docs" / "how-to").glob("*.md")}
    assert pages - run == set()
