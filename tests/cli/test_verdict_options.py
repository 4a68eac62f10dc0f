"""Thresholds and conditions of a settings file, of variables, and of options, which take the place of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from lbctl.cli.config import read_config
from lbctl.cli.settings import Settings, resolve
from lbctl.cli.verdict_options import VerdictFlags, conditions_of, parse_abort, parse_threshold, thresholds_of
from lbctl.errors import UsageError

FILE = """\
threshold: [p99<50ms, "error_rate<1%"]
abort_on:
  - "error_rate>50%, after=10s, calls=20"
  - errors>=100
"""


def settings(path: Path, text: str = FILE, **environ: str) -> Settings:
    path.write_text(text, encoding="utf-8")
    return resolve({}, environ, read_config({"config": str(path)}, {}, path.parent).values)


def test_a_file_has_lists_of_both(tmp_path: Path) -> None:
    found = settings(tmp_path / "lbctl.yaml")
    assert [each.expr for each in thresholds_of(VerdictFlags(), found)] == ["p99<50ms", "error_rate<1%"]
    first, second = conditions_of(VerdictFlags(), found)
    assert (first.condition.expr, first.after_s, first.calls) == ("error_rate>50%", 10.0, 20)
    assert (second.condition.expr, second.after_s, second.calls) == ("errors>=100", 0.0, 0)


def test_a_variable_and_an_option_take_the_place_of_the_file(tmp_path: Path) -> None:
    found = settings(tmp_path / "lbctl.yaml", LBCTL_THRESHOLD="rps>5", LBCTL_ABORT_ON="errors>1,calls=3,dropped>1")
    assert [each.expr for each in thresholds_of(VerdictFlags(), found)] == ["rps>5"]
    assert [each.condition.expr for each in conditions_of(VerdictFlags(), found)] == ["errors>1", "dropped>1"]
    flags = VerdictFlags(threshold=[parse_threshold("max<1s")], abort_on=[parse_abort("errors>9")])
    assert [each.expr for each in thresholds_of(flags, found)] == ["max<1s"]
    assert [each.condition.expr for each in conditions_of(flags, found)] == ["errors>9"]


def test_without_any_there_are_none(tmp_path: Path) -> None:
    found = settings(tmp_path / "lbctl.yaml", "")
    assert (thresholds_of(VerdictFlags(), found), conditions_of(VerdictFlags(), found)) == ((), ())


def test_a_wrong_one_is_refused_by_its_key(tmp_path: Path) -> None:
    path = tmp_path / "lbctl.yaml"
    with pytest.raises(UsageError) as raised:
        settings(path, "abort_on: errrs>1\n")
    assert str(raised.value) == f"{path}: abort_on: unknown metric 'errrs'"
    assert raised.value.hint == "did you mean errors?"
    with pytest.raises(UsageError) as raised:
        settings(path, "threshold: 5\n")
    assert str(raised.value).startswith(f"{path}: threshold: '5' is not METRIC<LIMIT")
