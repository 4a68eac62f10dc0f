"""``lbctl policies`` and ``lbctl bench policies``: the list, a page, every format, what is refused."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable

import pytest
import yaml
from jsonschema import Draft202012Validator

from lbctl.balance.guide import about, explained
from lbctl.balance.policies.table import ALL_POLICIES, POLICIES
from lbctl.cli import run
from lbctl.view.policy_page import policy_page
from lbctl.view.theme import PLAIN, UNICODE, Look
from tests.view.policy_reference import PAGE, page

Call = Callable[..., tuple[int, str, str]]


def check(document: object, name: str) -> None:
    """Hold a document to its schema."""
    schema = json.loads((PAGE.parent / f"{name}.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator(schema).validate(document)


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Call:
    """Run a command line; its status, standard output and standard error."""

    def call(*arguments: str) -> tuple[int, str, str]:
        status = run(arguments)
        out, err = capsys.readouterr()
        return status, out, err

    return call


def test_the_reference_is_what_the_policies_say_of_themselves() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_policy_is_listed_in_the_order_of_the_table(said: Call) -> None:
    status, out, err = said("policies", "-o", "name")
    assert (status, out.split(), err) == (0, list(ALL_POLICIES), "")
    status, out, _ = said("policies", "-o", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["name"] for row in rows] == list(ALL_POLICIES)
    assert [row["kind"] for row in rows] == [policy.expectation.value for policy in ALL_POLICIES.values()]
    assert {row["keyed"] for row in rows if row["kind"] == "hash" and ":" not in row["name"]} == {"true"}
    status, out, _ = said("policies", "--no-headers")
    assert [line.split()[0] for line in out.splitlines()] == list(ALL_POLICIES)


def test_the_page_of_a_policy_has_its_rule_its_options_and_the_picks_of_its_real_picker(said: Call) -> None:
    status, out, _ = said("policies", "wrr")  # an alias
    assert status == 0
    assert out.startswith("smooth_wrr  exact shares by weight, evenly spread\n")
    assert about(POLICIES["smooth_wrr"]) in out
    assert "the first 14 picks   a a b a c a a a a b a c a a\n" in out
    assert "of 10,000 picks      a 71.4%   b 14.3%   c 14.3%" in out
    assert "  max-fails=0\n" in out


@pytest.mark.parametrize("name", ALL_POLICIES)
def test_every_policy_explains_itself_to_programs(said: Call, name: str) -> None:
    status, out, _ = said("policies", name, "-o", "json")
    document = json.loads(out)
    check(document, "policies")
    (policy,) = document["policies"]
    assert (status, document["schema"], policy["name"]) == (0, "lbctl.policies/v1", name)
    assert policy["about"]
    assert (policy["example"] is None) == (name not in POLICIES)
    _, text, _ = said("policies", name, "-o", "yaml")
    assert yaml.safe_load(text) == document


def test_a_policy_that_does_not_exist_is_not_found_and_the_nearest_are_named(said: Call) -> None:
    assert said("policies", "weightedroundrobin") == (
        4,
        "",
        "error: there is no policy 'weightedroundrobin'\nhint: did you mean weighted_round_robin?\n",
    )
    assert said("policies", "nope")[2] == "error: there is no policy 'nope'\nhint: see what there is: lbctl policies\n"


@pytest.mark.parametrize("columns", [50, 60, 80, 140, 200])
def test_on_a_terminal_policies_stand_under_what_can_be_expected_of_them_and_nothing_is_cut(
    said: Call, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    status, out, err = said("policies")
    out = re.sub(r"\x1b\[\d*m", "", out)
    assert (status, err) == (0, "lbctl policies NAME explains one; -o wide has costs, aliases and options\n")
    assert max(map(len, out.splitlines())) <= columns
    groups = {part.split(":")[0]: part.splitlines()[1:] for part in out.split("\n\n")}
    for kind, lines in groups.items():
        members = [policy for policy in ALL_POLICIES.values() if policy.expectation.value == kind]
        assert [line.split()[0] for line in lines if line[:3].strip()] == [policy.name for policy in members]
        words = " ".join(" ".join(lines).split())
        assert all(f"{policy.name} {policy.summary}" in words for policy in members)
        assert ("O(1)" in words) == (columns >= 140)


def test_without_a_terminal_policies_are_a_table_of_a_line_each(said: Call) -> None:
    titles = ["NAME", "KIND", "COST", "KEY", "SUMMARY"]
    lines = said("policies")[1].splitlines()
    assert (lines[0].split(), len(lines)) == (titles, 1 + len(ALL_POLICIES))
    assert said("policies", "-o", "wide")[1].splitlines()[0].split() == [*titles, "ALIASES", "OPTIONS"]


@pytest.mark.parametrize("name", ALL_POLICIES)
def test_no_line_of_a_page_is_wider_than_80_cells(name: str) -> None:
    lines = policy_page(explained(ALL_POLICIES[name]), Look(PLAIN, UNICODE)).splitlines()
    assert not [line for line in lines if len(line) > 80]


def test_a_list_for_programs_has_every_policy_without_its_page(said: Call) -> None:
    document = json.loads(said("policies", "-o", "json")[1])
    check(document, "policies")
    assert [policy["name"] for policy in document["policies"]] == list(ALL_POLICIES)
    assert {policy["about"] for policy in document["policies"]} == {None}


def test_a_bench_has_a_figure_for_every_policy_number_and_kind_of_weights(said: Call) -> None:
    status, out, err = said("bench", "policies", "round_robin", "p2c", "maglev", "--backends", "3,10", "-o", "json")
    document = json.loads(out)
    check(document, "bench")
    assert (status, err, document["schema"]) == (0, "", "lbctl.bench/v1")
    assert [(cost["policy"], cost["weights"], cost["backends"]) for cost in document["costs"]] == [
        (policy, weights, size)
        for policy in ("round_robin", "p2c", "maglev")
        for weights in ("uniform", "skewed")
        for size in (3, 10)
    ]
    for cost in document["costs"]:
        assert cost["pick_ns"] > 0
        assert cost["state_bytes"] > 0
        assert (cost["again_ns"] is not None) is (cost["policy"] == "maglev")
        assert (cost["end_ns"] is not None) is (cost["policy"] == "p2c")
    assert {cost["policy"]: cost["budget_ns"] for cost in document["costs"]} == {
        "round_robin": 100,
        "p2c": 1000,
        "maglev": 500,
    }


def test_a_bench_of_weighted_random_stands_beside_figures_from_go(said: Call) -> None:
    _, out, _ = said("bench", "policies", "weighted_random", "--backends", "3", "--weights", "skewed")
    table, beside = out.split("\n\n")
    assert [line.split()[:3] for line in table.splitlines()[1:]] == [["weighted_random", "3", "skewed"]]
    rows = [line.split() for line in beside.splitlines()[1:]]
    assert [(row[0], row[4]) for row in rows] == [
        ("form=expanded", "45ns"),
        ("form=expanded", "48ns"),
        ("form=cumulative", "120ns"),
        ("form=hybrid", "65ns"),
        ("form=dynamic", "75ns"),
    ]


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["bench", "pickers"], 2, "error: bench measures policies, not 'pickers'\n"),
        (["bench", "policies", "nope"], 4, "error: there is no policy 'nope'\n"),
        (["bench", "policies", "grpc:round_robin"], 2, "error: grpc:round_robin is gRPC's own balancer"),
        (["bench", "policies", "--backends", "0"], 2, "error: Invalid value for '--backends'"),
        (
            ["bench", "policies", "--backends", "1m"],
            2,
            "error: Invalid value for '--backends': '1m'",
        ),
        (["bench", "policies", "--weights", "odd"], 2, "error: Invalid value for '--weights': 'odd' is not one of"),
        (["policies", "-o", "xml"], 2, "error: -o: lbctl policies has no output format 'xml'"),
    ],
)
def test_what_cannot_be_meant_is_refused(said: Call, arguments: list[str], status: int, message: str) -> None:
    found, out, err = said(*arguments)
    assert (found, out) == (status, "")
    assert err.startswith(message)
