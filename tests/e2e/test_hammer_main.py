"""The main job: discover, call, balance, and tell what each backend got."""

from __future__ import annotations

import re

import pytest

from tests.e2e.conftest import Standing
from tests.e2e.runs import events_of, hammer, lbctl, picks_by_weight

pytestmark = pytest.mark.e2e


async def test_ten_thousand_calls_at_5_1_1_are_picked_exactly() -> None:
    done = await lbctl("demo", "--", "lbctl", "hammer", "echo", "-n", "10000", "-o", "json")
    document = done.document
    assert done.status == 0
    assert sorted((row["picks"] for row in document["backends"]), reverse=True) == [7143, 1429, 1428]
    assert [row["ok"] for row in document["backends"]] == [row["picks"] for row in document["backends"]]
    assert (document["requests"], document["ok"], document["errors"]) == (10_000, 10_000, 0)
    assert document["codes"] == {"OK": 10_000}
    assert document["end_reason"] == "completed"
    assert document["balance"]["verdict"] == "balanced"
    assert document["method"] == "grpc.health.v1.Health/Check"
    assert "no METHOD given: calling grpc.health.v1.Health/Check, which changes nothing\n" in done.err


async def test_the_summary_has_the_numbers_in_it(demo: Standing) -> None:
    done = await hammer("echo", "-n", "10000", "--seed", "3", etcd=demo.etcd)
    assert done.status == 0
    first, *rest = demo.backends
    assert re.search(r"^ +requests +10,000 in .*closed loop, 50 in flight$", done.out, re.MULTILINE)
    assert re.search(r"^ +ok +10,000 \(100\.00%\) +errors 0 \(0\.00%\) +cancelled 0$", done.out, re.MULTILINE)
    assert "policy    smooth_wrr, seed 3, deadline 20s\n" in done.out
    assert "Distribution  balanced, every count is within 1 call of its expectation\n" in done.out
    assert re.search(rf"^ +{first} +5 +71\.4 +71\.4 +\+0\.0 +7,143 +0 ", done.out, re.MULTILINE)
    counts = [re.findall(rf"^ +{each} +1 +14\.3 +14\.3 +\+0\.0 +(\S+) +0 ", done.out, re.MULTILINE) for each in rest]
    assert sorted(counts) == [["1,428"], ["1,429"]]
    assert "lbctl hammer echo -n 10000 --seed 3\n" in done.out


async def test_weighted_random_is_judged_by_chance_and_repeats_with_its_seed(demo: Standing) -> None:
    command = ("echo", "--policy", "weighted_random", "--seed", "7", "-n", "2000", "-o", "json")
    runs = [(await hammer(*command, etcd=demo.etcd)) for _ in range(2)]
    assert [done.status for done in runs] == [0, 0]
    documents = [done.document for done in runs]
    for document in documents:
        assert document["balance"]["expectation"] == "multinomial"
        assert document["balance"]["verdict"] == "balanced"
        assert document["balance"]["p_value"] > 0.001
        assert document["balance"]["dof"] == 2
        assert document["seed"] == 7
    assert picks_by_weight(documents[0]) == picks_by_weight(documents[1])


async def test_the_policy_may_come_from_the_settings_and_a_flag_wins(demo: Standing) -> None:
    environ = {"LBCTL_POLICY": "random"}
    command = ("echo", "-n", "10", "-o", "json")
    from_settings = await hammer(*command, etcd=demo.etcd, environ=environ)
    from_flag = await hammer(*command, "--policy", "pick_first", etcd=demo.etcd, environ=environ)
    assert (from_settings.document["policy"], from_flag.document["policy"]) == ("random", "pick_first")


async def test_another_seed_gives_other_picks_of_a_random_policy(demo: Standing) -> None:
    command = ("echo", "--policy", "weighted_random", "-n", "500", "-o", "json", "--seed")
    documents = [(await hammer(*command, seed, etcd=demo.etcd)).document for seed in ("7", "8")]
    assert picks_by_weight(documents[0]) != picks_by_weight(documents[1])


@pytest.mark.parametrize(
    ("policy", "expectation", "shares"),
    [
        ("pick_first", "single", [0, 0, 700]),
        ("round_robin", "counts", [233, 233, 234]),
        ("smooth_wrr", "sequence", [100, 100, 500]),
        ("random", "multinomial", None),
        ("weighted_random", "multinomial", None),
    ],
)
async def test_every_policy_does_what_its_name_says(
    policy: str, expectation: str, shares: list[int] | None, demo: Standing
) -> None:
    done = await hammer("echo", "--policy", policy, "-n", "700", "--seed", "11", "-o", "json", etcd=demo.etcd)
    document = done.document
    assert done.status == 0
    assert document["policy"] == policy
    assert document["balance"]["expectation"] == expectation
    assert document["balance"]["verdict"] == "balanced"
    picks = [row["picks"] for row in document["backends"]]
    assert sum(picks) == document["ok"] == 700
    if shares is not None:
        assert sorted(picks) == shares
    else:
        assert all(picks)


async def test_the_run_begins_with_what_was_resolved(demo: Standing) -> None:
    document = (await hammer("echo", "-n", "10", "-o", "json", etcd=demo.etcd)).document
    assert events_of(document, "joined") == [(None, "resolved /services/echo/: 3 backends of echo")]
    assert [(row["state"], row["joined_s"], row["left_s"]) for row in document["backends"]] == [
        ("ready", 0.0, None)
    ] * 3
    assert [row["key"] for row in document["backends"]] == [f"/services/echo/{each}" for each in demo.backends]
