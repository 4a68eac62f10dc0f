"""Why the first call went where it went, and the verdict on policies that go by feedback, as users meet them."""

from __future__ import annotations

import re

import pytest

from tests.e2e.conftest import Standing
from tests.e2e.runs import hammer, lbctl

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

SLOW_TO_FAST = ("--weights", "1,1,1", "--latency", "4ms,8ms,16ms")


async def test_a_single_call_is_explained_and_was_really_sent_there(demo: Standing) -> None:
    done = await hammer("echo", "-n", "1", "--explain", "-o", "json", etcd=demo.etcd)
    document = done.document
    why = document["explanation"]
    (picked,) = (row["address"] for row in document["backends"] if row["picks"])
    assert (done.status, why["policy"], why["backend"], why["hash_key"]) == (0, "smooth_wrr", picked, None)
    assert [each["address"] for each in why["candidates"]] == list(demo.backends)
    assert picked == demo.backends[0]  # it has weight 5, the others 1
    assert why["columns"]
    assert all(len(each["figures"]) == len(why["columns"]) for each in why["candidates"])


async def test_without_being_asked_nothing_is_explained(demo: Standing) -> None:
    assert (await hammer("echo", "-n", "1", "-o", "json", etcd=demo.etcd)).document["explanation"] is None


async def test_the_summary_tells_why_in_words_and_figures(demo: Standing) -> None:
    done = await hammer("echo", "-n", "70", "--explain", etcd=demo.etcd)
    assert f"\nWhy  the first call went to {demo.backends[0]}\n" in done.out
    assert re.search(rf"^  . {demo.backends[0]} +5 +5", done.out, re.MULTILINE)


async def test_a_call_by_key_is_explained_by_its_key(demo: Standing) -> None:
    done = await hammer(
        "echo", "-n", "5", "--policy", "maglev", "--hash-key", "seq", "--explain", "-o", "json", etcd=demo.etcd
    )
    assert done.document["explanation"]["hash_key"] == "0"


async def test_a_later_call_is_explained_by_the_load_there_is_then(demo: Standing) -> None:
    later = ("--policy", "least_conn", "-n", "100", "-c", "12", "--explain-call")
    why = (await hammer("echo", *later, "50", "-o", "json", etcd=demo.etcd)).document["explanation"]
    column = why["columns"].index("in flight")
    assert why["pick"] == 50
    assert 0 < sum(int(each["figures"][column]) for each in why["candidates"]) < 12  # those in flight without this one
    done = await hammer("echo", *later, "1k", etcd=demo.etcd)
    assert "there is no pick 1,000 to explain: not so many were made" in done.out


async def test_grpcs_own_balancers_cannot_be_asked(demo: Standing) -> None:
    done = await hammer("echo", "--engine", "grpcio", "--policy", "grpc:round_robin", "--explain", etcd=demo.etcd)
    assert done.status == 2
    assert done.err.startswith("error: --explain: gRPC's own balancers do not tell why\n")


async def test_options_of_a_policy_are_taken_by_commas_and_by_repetition_and_are_in_the_result(demo: Standing) -> None:
    options = ("--policy-opt", "decay=5s,force-pick=2s", "--policy-opt", "forget=true")
    done = await hammer("echo", "-n", "50", "--policy", "p2c_ewma", *options, "-o", "json", etcd=demo.etcd)
    assert (done.status, done.document["policy"]) == (0, "p2c_ewma")
    assert done.document["policy_options"] == {"decay": "5s", "force-pick": "2s", "forget": "true"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--policy", "least-requests"), "did you mean least_request"),
        (("--policy", "weightedroundrobin"), "did you mean weighted_round_robin?"),
        (("--policy", "p2c_ewma", "--policy-opt", "dekay=5s"), "hint: did you mean decay?"),
        (("--policy", "p2c_ewma", "--policy-opt", "decay=soon"), "decay=soon is not a duration"),
        (("--policy", "p2c_ewma", "--policy-opt", "decay=0s"), "decay=0s is out of range"),
    ],
)
async def test_what_no_policy_takes_is_refused_before_anything_is_sent(
    options: tuple[str, ...], said: str, demo: Standing
) -> None:
    done = await hammer("echo", "-n", "10", *options, etcd=demo.etcd)
    assert (done.status, done.out) == (2, "")
    assert said in done.err


async def test_a_policy_that_goes_by_feedback_is_judged_by_a_simulation_of_the_run() -> None:
    command = ("hammer", "echo", "Echo/Say", "-d", "{}", "-n", "1500", "-c", "12", "--policy", "least_conn")
    done = await lbctl("demo", *SLOW_TO_FAST, "--", "lbctl", *command, "-o", "json")
    document = done.document
    assert (document["balance"]["expectation"], document["balance"]["verdict"]) == ("feedback", "balanced")
    assert all(row["band"][0] <= row["share"] <= row["band"][1] for row in document["backends"])
    assert all(row["band"][0] < row["expected_share"] < row["band"][1] for row in document["backends"])
    by_share = sorted(document["backends"], key=lambda row: -row["share"])
    by_time = sorted(document["backends"], key=lambda row: row["latency_ms"]["p50"])
    assert [row["address"] for row in by_share] == [row["address"] for row in by_time]
