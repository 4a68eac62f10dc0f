"""The catalogue of named behaviours is complete, and every test it names is there and meets both ways in."""

from __future__ import annotations

from importlib import import_module
from inspect import isfunction
from types import ModuleType

import pytest

from tests.wire.mutants import MUTANTS
from tests.wire.named import NAMED, WITHOUT_A_DOOR

ROWS = [(number, test) for number, (_, tests) in NAMED.items() for test in tests]


def module_of(test: str) -> ModuleType:
    folder, _, module = test.rpartition(".")[0].rpartition("/")
    return import_module(f"tests.{folder or 'wire'}.{module}")


def test_the_numbers_are_1_to_45_and_every_name_is_given_once() -> None:
    assert list(NAMED) == list(range(1, 46))
    assert len({named.name for named in NAMED.values()}) == 45
    assert all(named.tests for named in NAMED.values())


@pytest.mark.parametrize(("number", "test"), ROWS, ids=[f"{number}-{test}" for number, test in ROWS])
def test_every_named_test_exists_and_those_of_this_folder_run_through_both_doors(number: int, test: str) -> None:
    module = module_of(test)
    assert isfunction(getattr(module, test.rpartition(".")[2], None))
    marks = getattr(module, "pytestmark", [])
    used = [mark.args for mark in (marks if isinstance(marks, list) else [marks]) if mark.name == "usefixtures"]
    assert (("door",) in used) == (number not in WITHOUT_A_DOOR and "/" not in test)


def test_every_number_has_a_mutant_that_its_test_notices() -> None:
    assert {number for mutant in MUTANTS.values() for number in mutant.numbers} == set(NAMED)
