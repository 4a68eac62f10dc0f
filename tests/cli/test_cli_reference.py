"""Pages about lbctl's surface say what the code says: commands, exit codes, variables, schemas, the manual page."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
from collections.abc import Iterator

import pytest

from lbctl.cli.settings import SETTINGS
from lbctl.errors import ExitCode
from tests.cli.cli_reference import REFERENCE, generated
from tests.cli.man_page import MAN, ROOT, tables

_VARIABLE = re.compile(r"(?:LBCTL|ETCDCTL|GITHUB|OTEL|XDG|FORCE|CLICOLOR)_[A-Z_]+")
_NAME = re.compile(r"[A-Z][A-Z_]+")
_MAPPINGS = ("env", "environ")


def test_pages_that_are_made_of_the_commands_are_up_to_date() -> None:
    stale = [path.name for path, text in generated().items() if path.read_text(encoding="utf-8") != text]
    assert stale == [], "python -m tests.cli.cli_reference writes them anew"


def test_exit_codes_are_told_all_and_no_others() -> None:
    rows = tables((REFERENCE / "exit-codes.md").read_text(encoding="utf-8"))
    assert [int(row[0].strip("`")) for row in rows] == [code.value for code in ExitCode]


def test_variables_that_lbctl_reads_are_told_all_and_no_others() -> None:
    page = (REFERENCE / "environment.md").read_text(encoding="utf-8")
    told = {name for row in tables(page) for name in re.findall(r"`([A-Z_]+)`", row[0])}
    read = {name for path in (ROOT / "lbctl").rglob("*.py") for name in variables(ast.parse(path.read_text("utf-8")))}
    assert told == read | {name for setting in SETTINGS for name in setting.env}


def variables(tree: ast.AST) -> Iterator[str]:
    """Names of variables that this code looks up: by a mapping that is called so, or by their own look."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _VARIABLE.fullmatch(node.value):
            yield node.value
        elif isinstance(node, ast.Call) and node.args:
            first = node.args[0] if _is_lookup(node.func) else node.args[-1] if _is_switch(node) else None
            if isinstance(first, ast.Constant) and _NAME.fullmatch(str(first.value)):
                yield str(first.value)


def _is_lookup(function: ast.expr) -> bool:
    return isinstance(function, ast.Attribute) and function.attr == "get" and _is_mapping(function.value)


def _is_switch(call: ast.Call) -> bool:
    """Whether a function is given the variables and the name of one."""
    return len(call.args) == 2 and _is_mapping(call.args[0])


def _is_mapping(node: ast.expr) -> bool:
    return (isinstance(node, ast.Name) and node.id in _MAPPINGS) or (
        isinstance(node, ast.Attribute) and node.attr in _MAPPINGS
    )


def test_settings_are_told_all_and_no_others() -> None:
    page = (REFERENCE / "settings.md").read_text(encoding="utf-8").split("## The document of")[0]
    rows = {(tuple(re.findall(r"`(\w+)`", row[1])), row[2].strip("`")) for row in tables(page)}
    assert rows == {(setting.env, setting.file) for setting in SETTINGS if setting.env or setting.file}


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not here")
def test_the_manual_page_is_rendered_without_a_warning() -> None:
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", "-z", str(MAN)], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""


@pytest.mark.skipif(shutil.which("mandoc") is None, reason="mandoc is not here")
def test_the_manual_page_passes_mandoc() -> None:
    done = subprocess.run(
        ["mandoc", "-T", "lint", "-W", "warning", str(MAN)], capture_output=True, text=True, check=False
    )
    assert done.stdout == ""
