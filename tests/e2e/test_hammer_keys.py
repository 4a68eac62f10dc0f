"""Runs of real processes whose calls carry hash keys: who gets them, and which move when backends leave and join."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.e2e.backends import fleet
from tests.e2e.conftest import Standing
from tests.e2e.runs import events_of, hammer, running

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

MOVED = re.compile(r"keys: ([\d.]+)% moved, ([\d.]+)% had to")


def shares(document: dict[str, Any]) -> dict[str, float]:
    return {row["address"]: row["share"] for row in document["backends"]}


@pytest.mark.parametrize("policy", ["hash_mod", "consistent_hash", "ring_hash", "maglev", "jump", "rendezvous"])
async def test_calls_go_to_the_owners_of_their_keys_and_the_verdict_knows_whose_they_are(
    demo: Standing, policy: str
) -> None:
    options = ("--policy", policy, "--hash-key", "zipf(1.1,100000)", "-n", "1400", "--seed", "7", "-o", "json")
    document = (await hammer("echo", *options, etcd=demo.etcd)).document
    assert document["balance"]["expectation"] == "hash"
    assert document["balance"]["verdict"] == "balanced"
    assert document["balance"]["p_value"] > 1e-6
    for row in document["backends"]:
        assert row["share"] == pytest.approx(row["expected_share"], abs=0.05)


async def test_the_same_seed_sends_the_same_keys_to_the_same_backends(demo: Standing) -> None:
    options = ("--policy", "consistent_hash", "--hash-key", "uniform(50)", "-n", "500", "--seed", "3", "-o", "json")
    one, other = [(await hammer("echo", *options, etcd=demo.etcd)).document for _ in range(2)]
    assert shares(one) == shares(other)


async def test_weights_count_with_rendezvous(demo: Standing) -> None:
    options = ("--policy", "rendezvous", "--hash-key", "uuid", "-n", "1400", "--seed", "7", "-o", "json")
    document = (await hammer("echo", *options, etcd=demo.etcd)).document
    for row in document["backends"]:
        assert row["expected_share"] == pytest.approx(row["weight"] / 7, abs=0.001)
    assert document["balance"]["verdict"] == "balanced"


@pytest.mark.parametrize("source", ["meta:x-user", "field:message"])
async def test_a_key_that_is_sent_with_every_call_sends_all_to_one_backend(demo: Standing, source: str) -> None:
    options = ("-H", "x-user: alice", "-d", '{"message": "alice"}', "--policy", "maglev", "--hash-key", source)
    done = await hammer("echo", "Echo/Say", *options, "-n", "300", "-o", "json", etcd=demo.etcd)
    picks = sorted(row["picks"] for row in done.document["backends"])
    assert picks == [0, 0, 300]
    assert done.document["balance"]["verdict"] == "balanced"
    assert f"note: --hash-key {source} is the same for every call of this run" in done.err


async def test_a_field_that_the_message_does_not_have_is_refused_before_the_run(demo: Standing) -> None:
    options = ("--policy", "maglev", "--hash-key", "field:mesage", "-n", "10")
    done = await hammer("echo", "Echo/Say", *options, etcd=demo.etcd)
    assert done.status == 2
    assert "demo.echo.v1.SayRequest has no field 'mesage'" in done.err
    assert "did you mean message?" in done.err


async def test_a_key_is_the_one_of_its_call_also_in_an_open_loop(demo: Standing) -> None:
    options = ("--policy", "ring_hash", "--hash-key", "uniform(1)", "-r", "400", "-n", "200", "-o", "json")
    document = (await hammer("echo", *options, etcd=demo.etcd)).document
    assert sorted(row["picks"] for row in document["backends"]) == [0, 0, 200]


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "minimal"), [("consistent_hash", True), ("rendezvous", True), ("hash_mod", False)])
async def test_keys_move_as_the_theory_says_when_a_backend_leaves_and_another_joins(policy: str, minimal: bool) -> None:
    options = ("--policy", policy, "--hash-key", "uniform(5000)", "-z", "60s", "-c", "4", "--ui", "plain")
    async with (
        fleet(1, 1, 1) as (here, addresses),
        running("hammer", "echo", *options, "--interval", "200ms", "-o", "json", etcd=here.etcd) as run,
    ):
        await run.hears("hammer 0", "backends 3/3")
        await here.deregister(addresses[0])
        left = MOVED.search(await run.hears("event", "keys:"))
        await run.hears("hammer 0", "backends 2/2")
        await here.start(1)
        joined = MOVED.search(await run.hears("event", "keys:"))
        await run.hears("hammer 0", "backends 3/3")
        run.process.terminate()
        document = (await run.ended()).document
    assert left is not None
    assert joined is not None
    for found in (left, joined):
        moved, needed = float(found[1]), float(found[2])
        assert 10 < needed < 60  # a third, as uneven as a ring is
        assert moved == needed if minimal else moved > needed + 20
    assert len([text for _, text in events_of(document, "policy") if MOVED.match(text)]) == 2
    assert document["errors"] == 0
    assert document["balance"]["verdict"] == "balanced"


@pytest.mark.slow
async def test_a_backend_that_is_killed_has_its_keys_taken_over_and_only_those() -> None:
    options = ("--policy", "jump", "--hash-key", "zipf(1.1,1000)", "-z", "60s", "-c", "4", "--ui", "plain")
    async with (
        fleet(1, 1, 1, ttl_s=30) as (here, addresses),
        running("hammer", "echo", *options, "--interval", "200ms", "-o", "json", etcd=here.etcd) as run,
    ):
        await run.hears("hammer 0", "backends 3/3")
        await here.kill(addresses[1])
        found = MOVED.search(await run.hears("event", "keys:"))
        await run.hears("hammer 0")
        run.process.terminate()
        document = (await run.ended()).document
    assert found is not None
    assert found[1] == found[2] != "0.0"
    assert document["balance"]["verdict"] == "balanced"
