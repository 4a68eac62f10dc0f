"""Weights that come from servers or are computed, from the command line to the report, over backends of a demo."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.conftest import Standing, standing
from tests.e2e.runs import events_of, hammer

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

QUICK = ("--policy-opt", "blackout-period=0s", "--policy-opt", "weight-update-period=100ms")
SILENT = "servers do not report load: this policy is round robin"


async def in_a_demo(demo: str, *options: str) -> dict[str, Any]:
    """The document of a run against a demo with these options of its own."""
    with standing(*demo.split()) as found:
        return (await hammer("echo", "Echo/Say", "-o", "json", *options, etcd=found.etcd)).document


def shares(document: dict[str, Any]) -> list[float]:
    """By backend, in the order of the demo's lists: that of the keys."""
    rows = sorted(document["backends"], key=lambda row: str(row["key"]))
    return [row["picks"] / document["attempts"] for row in rows]


def warned(document: dict[str, Any], text: str) -> bool:
    return any(text in warning for warning in document["generator"]["warnings"])


@pytest.mark.parametrize("beside", [False, True], ids=["in trailers", "out of band"])
async def test_backends_get_what_they_say_they_can_do(beside: bool) -> None:
    oob = ("--policy-opt", "enable-oob-load-report=true", "--policy-opt", "oob-reporting-period=100ms")
    options = ("--policy", "weighted_round_robin", *QUICK, *(oob if beside else ()), "-r", "600", "-z", "2s")
    document = await in_a_demo("--orca --weights 1,2,3 --latency 1ms", *options)
    # A third each for the first tenths of a second, from then on by capacity.
    assert shares(document) == pytest.approx([1 / 6, 2 / 6, 3 / 6], abs=0.05)
    assert document["balance"]["verdict"] == "balanced"
    assert document["ok"] == document["requests"]
    assert not warned(document, "round robin")


async def test_without_reports_it_is_a_round_robin_and_says_so(demo: Standing) -> None:
    options = ("--policy", "weighted_round_robin", *QUICK, "-n", "900", "-o", "json")
    document = (await hammer("echo", *options, etcd=demo.etcd)).document
    assert shares(document) == [1 / 3] * 3
    assert document["balance"]["verdict"] == "balanced"
    assert warned(document, SILENT)


async def test_servers_that_report_nothing_out_of_band_are_told_of_once_each(demo: Standing) -> None:
    options = (
        "--policy",
        "weighted_round_robin",
        "--policy-opt",
        "enable-oob-load-report=true",
        "-r",
        "100",
        "-z",
        "2s",
    )
    document = (await hammer("echo", *options, "-o", "json", etcd=demo.etcd)).document
    told = [event for event in events_of(document, "policy") if event[1] == "does not report load out of band"]
    assert sorted(backend or "" for backend, _ in told) == sorted(demo.backends)
    assert warned(document, SILENT)


async def test_a_run_that_is_shorter_than_the_blackout_says_that_it_was_a_round_robin() -> None:
    document = await in_a_demo("--orca --weights 1,5 --latency 0ms", "--policy", "weighted_round_robin", "-n", "400")
    assert shares(document) == [1 / 2] * 2
    assert warned(document, "load reports have not counted yet (blackout-period)")


async def test_grpcio_is_refused_where_it_keeps_reports_to_itself(demo: Standing) -> None:
    done = await hammer("echo", "--engine", "grpcio", "--policy", "weighted_round_robin", "-n", "1", etcd=demo.etcd)
    assert (done.status, done.out) == (2, "")
    assert "does not hand over the load reports" in done.err


async def test_a_slow_backend_loses_weight_by_thresholds_and_that_is_an_event() -> None:
    thresholds = ("interval=300ms", "window=3s", "min-requests=5", "error-low=0")
    typed = [word for each in thresholds for word in ("--policy-opt", each)]
    options = ("--policy", "dynamic_weight", *typed, "-r", "300", "-z", "2s")
    document = await in_a_demo("--weights 2,2,2 --latency 0ms,0ms,200ms", *options)
    fast, _, slow = shares(document)
    # 1 of 7 once its weight is 1 and those of the others are 3.
    assert slow < 0.26
    assert fast > 0.36
    assert document["balance"]["verdict"] == "balanced"
    told = [text for _, text in events_of(document, "weight")]
    assert any("weight 2 -> 1 (registered 2): mean 20" in text and "above 100ms: -1" in text for text in told)


async def test_a_backend_that_fails_all_its_calls_at_once_attracts_none_by_done_weight() -> None:
    document = await in_a_demo(
        "--weights 5,5,5 --latency 0ms --errors 0%,0%,100%", "--policy", "done_weight", "-n", "3000"
    )
    assert shares(document)[2] < 0.03
    assert document["errors"] == document["codes"]["UNAVAILABLE"] < 90


@pytest.mark.parametrize("orca", ["--orca", "--seed 1"], ids=["figures of the servers", "round trips of probes"])
async def test_probes_keep_calls_away_from_a_slow_backend(orca: str) -> None:
    demo = f"{orca} --weights 1,1,1 --latency 1ms,1ms,50ms"
    document = await in_a_demo(demo, "--policy", "prequal", "-c", "8", "-n", "2000")
    fast, other, slow = shares(document)
    assert slow < 0.1
    assert min(fast, other) > 0.2
    assert document["ok"] == 2000
