"""The second engine, and gRPC's own balancers, from the command line to the report."""

from __future__ import annotations

import pytest

from tests.e2e.conftest import Standing
from tests.e2e.runs import Ended, hammer, lbctl, picks_by_weight

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


async def test_the_second_engine_picks_as_the_first_one_does() -> None:
    done = await lbctl("demo", "--", "lbctl", "hammer", "echo", "--engine", "grpcio", "-n", "700", "-o", "json")
    document = done.document
    assert done.status == 0
    assert sorted((row["picks"] for row in document["backends"]), reverse=True) == [500, 100, 100]
    assert (document["requests"], document["ok"], document["attempts"]) == (700, 700, 700)
    assert document["generator"]["engine"] == "grpcio"
    assert any("handed over" in warning for warning in document["generator"]["warnings"])
    assert document["balance"]["verdict"] == "balanced"


async def test_grpcs_round_robin_gives_turns_and_ignores_weights(demo: Standing) -> None:
    document = (await _hammer(demo, "grpc:round_robin", "600")).document
    assert [picks for _, picks in picks_by_weight(document)] == [200, 200, 200]
    assert (document["policy"], document["balance"]["expectation"]) == ("grpc:round_robin", "counts")
    assert document["balance"]["verdict"] == "balanced"


async def test_grpcs_pick_first_stays_with_one_backend(demo: Standing) -> None:
    document = (await _hammer(demo, "grpc:pick_first", "300")).document
    assert sorted(row["picks"] for row in document["backends"]) == [0, 0, 300]
    assert sorted(row["state"] for row in document["backends"]) == ["idle", "idle", "ready"]
    assert document["balance"]["verdict"] == "balanced"


async def test_grpcs_weighted_round_robin_is_not_judged(demo: Standing) -> None:
    document = (await _hammer(demo, "grpc:weighted_round_robin", "300")).document
    assert [picks for _, picks in picks_by_weight(document)] == [100, 100, 100]  # nobody reports load
    assert (document["balance"]["expectation"], document["balance"]["verdict"]) == ("feedback", "not_applicable")


async def test_grpcs_ring_hash_spreads_calls_by_their_keys(demo: Standing) -> None:
    document = (await _hammer(demo, "grpc:ring_hash", "900")).document
    assert all(row["picks"] > 100 for row in document["backends"])
    assert sum(row["picks"] for row in document["backends"]) == 900
    assert (document["balance"]["expectation"], document["balance"]["verdict"]) == ("hash", "not_applicable")


async def test_grpcs_balancers_need_its_engine(demo: Standing) -> None:
    done = await hammer("echo", "--policy", "grpc:round_robin", etcd=demo.etcd)
    assert (done.status, done.out) == (2, "")
    assert "--engine grpcio --policy grpc:round_robin" in done.err


async def test_what_grpcio_cannot_do_is_a_usage_error(demo: Standing) -> None:
    done = await hammer("echo", "--engine", "grpcio", "--no-rst", "-n", "1", etcd=demo.etcd)
    assert (done.status, done.out) == (2, "")
    assert "--no-rst: grpcio always resets a call whose deadline has passed" in done.err


async def _hammer(demo: Standing, policy: str, requests: str) -> Ended:
    done = await hammer(
        "echo", "--engine", "grpcio", "--policy", policy, "-n", requests, "-c", "20", "-o", "json", etcd=demo.etcd
    )
    assert done.status == 0, done.err
    return done
