"""Outlier detection on the demo: who fails is out and tried again, whatever the policy; and all may be out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.e2e.conftest import Standing, standing
from tests.e2e.policies import is_right, run, shares
from tests.e2e.runs import events_of, row_of

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

SOON: Final = "interval=200ms,base-ejection-time=400ms,success-volume=5,failure-volume=5"
ALL: Final = "interval=200ms,base-ejection-time=60s,detect=failure-percentage,failure-hosts=1,max-ejection-percent=100"
CHANGES: Final = ("ejected", "restored")


@pytest.fixture(scope="module")
def one_fails() -> Iterator[Standing]:
    with standing("--weights", "1", "--latency", "1ms", "--errors", "0,0,0,0,100%") as found:
        yield found


@pytest.fixture(scope="module")
def all_fail() -> Iterator[Standing]:
    with standing("-b", "2", "--weights", "1", "--latency", "1ms", "--errors", "100%") as found:
        yield found


@pytest.mark.parametrize("name", ["round_robin", "smooth_wrr", "random", "rendezvous"])  # of each kind that is even
def test_a_failing_backend_is_out_and_comes_back_and_the_rest_is_balanced(one_fails: Standing, name: str) -> None:
    document = run(one_fails, name, "-r", "250", "-z", "3s", "--outlier-detection", SOON)
    bad = one_fails.backends[-1]
    changes = [(event["kind"], event["backend"]) for event in document["events"] if event["kind"] in CHANGES]
    assert changes[:3] == [("ejected", bad), ("restored", bad), ("ejected", bad)]
    assert {address for _, address in changes} == {bad}
    assert row_of(document, bad)["ejections"] == len(events_of(document, "ejected"))
    assert shares(document, one_fails)[-1] < 0.8 / 5
    assert document["errors"] == row_of(document, bad)["picks"]
    assert is_right(document), document["balance"]["note"]


def with_all_out(demo: Standing, what: str) -> dict[str, Any]:
    """A run at whose first look both backends are ejected, for longer than it goes on."""
    options = ("--outlier-detection", ALL + ",failure-volume=5", "--when-all-out", what)
    document = run(demo, "smooth_wrr", "-r", "200", "-z", "2s", "-t", "500ms", *options)
    assert {backend for backend, _ in events_of(document, "ejected")} == set(demo.backends)
    assert events_of(document, "restored") == []
    assert {row["state"] for row in document["backends"]} == {"ejected"}
    assert document["ok"] == 0
    return document


def test_with_all_ejected_all_are_used_in_panic(all_fail: Standing) -> None:
    document = with_all_out(all_fail, "panic")
    assert document["attempts"] == document["requests"]
    assert document["codes"] == {"UNAVAILABLE": document["requests"]}
    assert document["turned_away"] == {}
    assert is_right(document), document["balance"]["note"]


def test_or_calls_fail_and_none_is_sent(all_fail: Standing) -> None:
    document = with_all_out(all_fail, "fail")
    assert 0 < document["turned_away"]["all-out"] == document["requests"] - document["attempts"]
    assert sum(row["picks"] for row in document["backends"]) == document["attempts"]


def test_or_calls_wait_for_as_long_as_they_may(all_fail: Standing) -> None:
    document = with_all_out(all_fail, "wait")
    waited = sum(group["count"] for group in document["error_groups"] if group["origin"] == "client")
    assert 0 < waited == document["requests"] - document["attempts"]
    assert any("calls wait for one to come back" in text for _, text in events_of(document, "health"))
    assert document["turned_away"] == {}
