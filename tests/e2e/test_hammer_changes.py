"""What happens to a run while backends die, come, go and change, and while etcd is away."""

from __future__ import annotations

import re
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from tests.e2e.backends import Fleet, fleet
from tests.e2e.runs import Running, events_of, row_of, running

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@asynccontextmanager
async def hammering(
    *weights: int, ttl_s: int = 30, duration: str = "60s", output: str = "json", more: Sequence[str] = ()
) -> AsyncIterator[tuple[Fleet, list[str], Running]]:
    """A run on a fleet of its own, with its progress to read."""
    options = ("-z", duration, "-c", "8", "--ui", "plain", "--interval", "200ms", "-o", output, *more)
    async with (
        fleet(*weights, ttl_s=ttl_s) as (here, addresses),
        running("hammer", "echo", *options, etcd=here.etcd) as run,
    ):
        yield here, addresses, run


async def progress(run: Running, *words: str, lines: int = 2) -> None:
    """Wait for some lines of progress that say this: the calls between them have been made in that state."""
    for _ in range(lines):
        await run.hears("hammer 0", *words)


async def test_a_backend_that_is_killed_takes_its_own_calls_with_it_and_no_others() -> None:
    async with hammering(1, 1, 1, ttl_s=2, duration="10s") as (here, addresses, run):
        await progress(run, "backends 3/3")
        victim, *others = addresses
        await here.kill(victim)
        await run.hears("event", victim, "left the registry")
        await progress(run, "backends 2/2", lines=1)
        done = await run.ended()
    document = done.document
    assert done.status == 0
    assert document["end_reason"] == "duration"
    assert document["duration_s"] == pytest.approx(10, abs=3)
    dead = row_of(document, victim)
    assert dead["state"] == "left"
    assert 0 < dead["left_s"] < document["duration_s"]
    assert dead["ok"] > 0
    assert document["errors"] == dead["errors"] <= 8
    for group in document["error_groups"]:
        assert (group["code"], group["origin"]) == ("UNAVAILABLE", "transport")
        assert group["backends"] == {victim: group["count"]}
    assert (victim, "left the registry") in events_of(document, "left")
    assert events_of(document, "health")[0][0] == victim
    assert document["cancelled"] == 0
    assert document["balance"]["verdict"] == "balanced"
    for address in others:
        row = row_of(document, address)
        assert (row["errors"], row["state"], row["left_s"]) == (0, "ready", None)
        # Picked for as long as it lived only: the others have gone on for the rest.
        assert row["picks"] > 1.5 * dead["picks"]


async def test_etcd_may_restart_during_a_run_and_nothing_is_lost_after_it_returns() -> None:
    async with hammering(1, 1) as (here, addresses, run):
        await progress(run, "backends 2/2")
        await here.server.kill()
        await run.hears("event", "registry lost: etcd", "what is shown may be old")
        await progress(run, "backends 2/2", "err 0 ")
        await here.server.restart()
        await run.hears("event", "registry resumed: etcd", "is back, synced at revision")
        late = await here.start(2)
        await run.hears("event", late, "joined, weight 2")
        await progress(run, "backends 3/3", lines=4)
        run.send(signal.SIGINT)
        done = await run.ended()
    document = done.document
    assert done.status == 130
    assert (document["errors"], document["cancelled"]) == (0, 0)
    assert [text.partition(":")[0] for _, text in events_of(document, "resync")] == [
        "registry lost",
        "registry resumed",
    ]
    row = row_of(document, late)
    assert row["joined_s"] > 0
    assert row["ok"] == row["picks"] > 0
    assert document["balance"]["verdict"] == "balanced"
    assert {each["state"] for each in document["backends"]} == {"ready"}
    assert {each["address"] for each in document["backends"]} == {*addresses, late}


async def test_a_weight_that_changes_in_the_registry_changes_the_shares_from_then_on() -> None:
    async with hammering(1, 1) as (here, (first, second), run):
        await progress(run, "backends 2/2", lines=3)
        await here.reweigh(first, 5)
        await run.hears("event", first, "weight 1 -> 5 (registry)")
        await progress(run, "backends 2/2", lines=3)
        run.send(signal.SIGINT)
        done = await run.ended()
    document = done.document
    assert events_of(document, "weight") == [(first, "weight 1 -> 5 (registry)")]
    heavy, light = row_of(document, first), row_of(document, second)
    assert (heavy["weight"], light["weight"]) == (5, 1)
    assert document["balance"]["verdict"] == "balanced"
    assert document["balance"]["max_delta"] < 0.001
    # Neither half nor five sixths: what was due at the time of each pick.
    assert 0.5 < heavy["expected_share"] < 5 / 6
    assert heavy["share"] == pytest.approx(heavy["expected_share"], abs=0.001)
    assert document["errors"] == 0


async def test_backends_that_come_and_go_cost_no_call() -> None:
    async with hammering(1, 1) as (here, (first, second), run):
        await progress(run, "backends 2/2")
        late = await here.start(3)
        await run.hears("event", late, "joined, weight 3")
        await progress(run, "backends 3/3")
        await here.deregister(second)
        await run.hears("event", second, "left the registry")
        await progress(run, "backends 2/2")
        run.send(signal.SIGINT)
        done = await run.ended()
    document = done.document
    assert (document["errors"], document["cancelled"]) == (0, 0)
    assert document["ok"] == document["requests"]
    assert [row_of(document, each)["state"] for each in (first, second, late)] == ["ready", "left", "ready"]
    assert 0 < row_of(document, late)["joined_s"] < row_of(document, second)["left_s"] < document["duration_s"]
    assert row_of(document, first)["joined_s"] == 0
    assert document["balance"]["verdict"] == "balanced"
    assert [kind for kind in (event["kind"] for event in document["events"]) if kind in ("joined", "left")] == [
        "joined",
        "joined",
        "left",
    ]


async def test_a_backend_that_comes_back_goes_on_with_its_row() -> None:
    async with hammering(1, 1) as (here, (first, second), run):
        await progress(run, "backends 2/2")
        await here.deregister(second)
        await run.hears("event", second, "left the registry")
        await progress(run, "backends 1/1")
        await here.register(second, 3)
        await run.hears("event", second, "joined, weight 3")
        await progress(run, "backends 2/2", lines=3)
        run.send(signal.SIGINT)
        done = await run.ended()
    document = done.document
    row = row_of(document, second)
    assert (row["weight"], row["state"], row["joined_s"], row["left_s"]) == (3, "ready", 0, None)
    assert (document["errors"], document["cancelled"]) == (0, 0)
    assert document["ok"] == row["picks"] + row_of(document, first)["picks"]
    assert document["balance"]["verdict"] == "balanced"
    assert document["balance"]["max_delta"] < 0.001


async def test_a_run_outlives_the_last_backend_and_goes_on_with_the_next() -> None:
    async with hammering(1, more=("-t", "0")) as (here, (only,), run):
        await progress(run, "backends 1/1")
        await here.deregister(only)
        await run.hears("event", only, "left the registry")
        await progress(run, "backends 0/0")
        late = await here.start(1)
        await run.hears("event", late, "joined, weight 1")
        await progress(run, "backends 1/1")
        run.send(signal.SIGINT)
        done = await run.ended()
    document = done.document
    assert (document["errors"], document["cancelled"]) == (0, 0)
    assert row_of(document, late)["ok"] > 0


async def test_the_summary_says_since_when_and_until_when() -> None:
    async with hammering(1, 1, output="text") as (here, (first, second), run):
        await progress(run, "backends 2/2")
        await here.deregister(second)
        await run.hears("event", second, "left the registry")
        run.send(signal.SIGINT)
        done = await run.ended()
    assert done.status == 130
    assert re.search(r"^Stopped by Ctrl-C after \d+\.\ds \([\d,]+\)$", done.out, re.MULTILINE)
    assert re.search(r"ADDRESS .* SINCE$", done.out, re.MULTILINE)
    assert re.search(rf"^ +{first} .* start$", done.out, re.MULTILINE)
    assert re.search(rf"^ +{second} .* to \d+\.\ds$", done.out, re.MULTILINE)
