"""Every command that is printed anywhere is one that lbctl understands; those that can run do, in tests/e2e."""

from __future__ import annotations

import ast
import importlib.util
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from lbctl.cli import LISTED
from lbctl.cli.help import first_contact, root_help
from tests.cli.commands import mistake, options
from tests.documented import ROOT, blocks, command_lines, pages, spans

_HOW = re.compile(
    r"run|run in a demo(: .+)?|that demo|run in that demo|(demo|test)-command|run by \.ci/run|parsed: .+|not run: .+"
)
_FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z]")
# etcdctl's, curl's, etcd's, pip's, and those that stand for any.
_OF_OTHERS = {
    "--insecure",
    "--write-out",
    "--quota-backend-bytes",
    "--unsafe-no-fsync",
    "--force-reinstall",
    "--port",
} | {
    "--descriptor",  # protoc's --descriptor_set_out and --include_imports, as far as they look like ours
    "--include",
}


def test_it_is_said_of_every_block_of_commands_how_it_is_tested() -> None:
    assert [f"{block.page}, block {block.number}" for block in blocks() if not _HOW.fullmatch(block.how)] == []


def test_commands_are_in_blocks_that_say_it() -> None:
    fenced = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
    bare = [page.name for page in pages() if re.search(r"^ {4,}lbctl ", fenced.sub("", page.read_text()), re.MULTILINE)]
    others = [page.name for page in pages() if re.search(r"```(?:bash|shell|console|zsh)", page.read_text())]
    assert bare + others == []


def test_what_ci_runs_is_what_contributors_are_told() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    words = {word for block in blocks() if block.how == "run by .ci/run" for word in words_of(block.script)}
    assert {word for word in words if word not in script} == set()


def words_of(script: str) -> set[str]:
    return {word for line in script.split("\n") for word in shlex.split(line, comments=True)}


def test_only_what_has_no_lbctl_in_it_is_not_even_parsed() -> None:
    assert [block for block in blocks() if block.how.startswith("not run") and command_lines(block.script)] == []


def test_what_demos_are_started_by_hand_for_runs_in_them() -> None:
    hands = {block.page for block in blocks() if block.how == "that demo"}
    assert hands == {block.page for block in blocks() if block.how == "run in that demo"}


def test_every_link_leads_somewhere() -> None:
    assert [each for page in pages() for each in dead_links(page)] == []


def dead_links(page: Path) -> Iterator[str]:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", text)):
        name, _, anchor = target.partition("#")
        if ":" in name:
            continue
        path = page.parent / name if name else page
        if not path.exists() or (anchor and anchor not in anchors(path)):
            yield f"{page.relative_to(ROOT)}: {target}"


def anchors(page: Path) -> set[str]:
    """The names of the sections of a page, as GitHub makes them."""
    text = page.read_text(encoding="utf-8")
    heads = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    made = {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}
    return made | set(re.findall(r'<a id="([^"]+)">', text))


def test_the_index_leads_to_every_page() -> None:
    index = ROOT / "docs" / "README.md"
    linked = {index.parent / name for name in re.findall(r"\]\(([^)#]+\.md)", index.read_text(encoding="utf-8"))}
    assert {page for page in pages() if page.is_relative_to(index.parent)} - linked - {index} == {
        page for page in pages() if page.parent.name == "decisions"
    }


def test_every_module_that_is_to_be_run_exists() -> None:
    modules = {
        name for page in pages() for name in re.findall(r"python -m ((?:tests|benchmarks)[.\w]+)", page.read_text())
    }
    assert modules
    assert {name for name in modules if importlib.util.find_spec(name) is None} == set()


def test_every_file_of_the_tree_that_a_page_names_exists() -> None:
    named = re.compile(r"`((?:lbctl|tests|benchmarks|docs|completions|man)/[\w./-]+)`")
    found = {(page.name, name) for page in pages() for name in named.findall(page.read_text(encoding="utf-8"))}
    assert len(found) > 20
    assert {each for each in found if "NAME" not in each[1] and not (ROOT / each[1]).exists()} == set()


def test_every_command_of_a_block_is_understood(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [(block.page, line) for block in blocks() for line in command_lines(block.script)]
    assert len(lines) > 100
    assert [(page, wrong) for page, line in lines if (wrong := mistake(line))] == []


def test_every_command_within_a_sentence_is_understood(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [(page, line) for page, text in spans() for line in command_lines(text)]
    assert len(lines) > 50
    assert [(page, wrong) for page, line in lines if (wrong := mistake(line, whole=False))] == []


def test_every_example_of_the_help_is_understood(capsys: pytest.CaptureFixture[str]) -> None:
    listed = [line for line in f"{root_help(LISTED)}\n{first_contact()}".split("\n") if line.startswith("  lbctl ")]
    texts = [example for each in LISTED for example in each.load().examples]
    texts += [re.split(r" {3,}|; ", line.strip())[0] for line in listed]
    lines = [line for text in texts for line in command_lines(text)]
    assert len(lines) > len(LISTED)
    assert [wrong for line in lines if (wrong := mistake(line))] == []


def test_every_option_that_lbctl_speaks_of_exists() -> None:
    paths = [path for path in (ROOT / "lbctl").rglob("*.py") if path.parent.name != "html"]
    said = {
        (flag, path.relative_to(ROOT).as_posix())
        for path in paths
        for text in texts_of(ast.parse(path.read_text(encoding="utf-8")))
        for flag in _FLAG.findall(text)
    }
    assert {each for each in said if each[0] not in options() | _OF_OTHERS | {"--help", "--version"}} == set()


def texts_of(tree: ast.AST) -> Iterator[str]:
    """The texts of a module, without its docstrings."""
    silent = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in silent:
            yield node.value
