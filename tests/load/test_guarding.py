"""Guards in a whole run: who is tried with how many calls, what is told, and what the report says of it."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from lbctl.balance.guards.breakers import MaxRequestsOptions
from lbctl.balance.guards.circuit import CircuitOptions
from lbctl.balance.guards.health import HealthOptions
from lbctl.balance.guards.outlier import OutlierOptions
from lbctl.balance.guards.plan import GuardPlan
from lbctl.balance.guards.slow_start import SlowStart, SlowStartOptions
from lbctl.balance.selection import Mode, Selection, ZoneOptions
from lbctl.balance.subset import SubsetOptions
from lbctl.load.plan import Plan, Task
from lbctl.stats.report import BackendRow
from tests.fakes import timers, turns
from tests.load.rig import instance, plan
from tests.load.stage import Stage, staged, task
from tests.wire import frames as h2


def guarded(load: Plan, policy: str = "round_robin", **guards: object) -> Task:
    return replace(task(load, policy), guards=GuardPlan(**guards))  # type: ignore[arg-type]


def failed(stream: int) -> bytes:
    return h2.trailers_only(stream, 14)


def row(stage: Stage, number: int) -> BackendRow:
    return stage.report().backends[number - 1]


async def answer(stage: Stage, good: str, bad: str = "") -> None:
    """Everything that these backends have is answered."""
    for number in good:
        await stage.do(lambda number=int(number): stage.end(number).answer(1000))  # type: ignore[misc]
    for number in bad:
        await stage.do(lambda number=int(number): stage.end(number).answer(1000, failed))  # type: ignore[misc]


async def half_open(stage: Stage, *, probes: int) -> int:
    """Open the circuit of backend 1 and let its time pass; how many requests it had before it was tried."""
    await answer(stage, "2", "1")
    await answer(stage, "2", "1")
    assert row(stage, 1).state == "breaker_open"
    before = stage.end(1).heads
    await answer(stage, "222")
    assert stage.end(1).heads == before  # nothing while it is open
    stage.clock.advance(10)
    await stage.until(lambda: row(stage, 1).state == "half_open")
    await answer(stage, "222")
    assert stage.end(1).heads == before + probes
    await answer(stage, "222222")
    assert stage.end(1).heads == before + probes  # and not one more
    return before


@pytest.mark.parametrize("probes", [1, 3])
async def test_exactly_so_many_calls_try_a_backend_and_close_its_circuit(probes: int) -> None:
    chosen = CircuitOptions(failures=1, probes=probes)
    async with staged(guarded(plan(concurrency=8, timeout_s=0), circuit=chosen)) as stage:
        await stage.drive(1, 2)
        before = await half_open(stage, probes=probes)
        await answer(stage, "1")
        assert row(stage, 1).state == "ready"
        await answer(stage, "22")
        assert stage.end(1).heads > before + probes
        assert [text for text in stage.texts() if "breaker" in text] == [
            "breaker open for 10s: 1 failures in a row, last UNAVAILABLE",
            f"breaker half-open: {probes} call{'s' if probes > 1 else ''} to try",
            "breaker closed",
        ]
        assert row(stage, 1).trips == 1
        assert abs(row(stage, 1).picks - row(stage, 1).expected) <= 2  # probes are nobody's choice


async def test_a_probe_whose_connection_was_about_to_go_is_made_again() -> None:
    async with staged(guarded(plan(concurrency=8, timeout_s=0), circuit=CircuitOptions(failures=1))) as stage:
        await stage.drive(1, 2)
        await half_open(stage, probes=1)
        await stage.do(lambda: stage.end(1).goaway())
        await turns(30)
        await answer(stage, "222")
        assert row(stage, 1).state == "half_open"
        assert len(stage.end(1).waiting) == 1  # on the next connection
        await answer(stage, "1")
        assert row(stage, 1).state == "ready"


async def test_a_backend_that_left_half_open_takes_its_probes_with_it() -> None:
    async with staged(guarded(plan(concurrency=4, timeout_s=0), circuit=CircuitOptions(failures=1))) as stage:
        await stage.drive(1, 2)
        await answer(stage, "2", "1")
        await answer(stage, "2", "1")
        await stage.do(lambda: stage.end(1).drop())
        stage.clock.advance(10)
        await stage.until(lambda: stage.run.hand.balancer.trials)
        await stage.apply(instance(2))
        assert not stage.run.hand.balancer.trials
        await answer(stage, "222")


async def test_an_outlier_is_ejected_and_comes_back_and_the_shares_follow() -> None:
    chosen = OutlierOptions(
        interval=1.0, base_ejection_time=1.0, success_volume=5, failure_volume=5, success_hosts=3, failure_hosts=3
    )
    async with staged(guarded(plan(concurrency=30), outlier=chosen)) as stage:
        await stage.drive(1, 2, 3)
        await answer(stage, "23", "1")
        stage.clock.advance(1)
        await stage.until(lambda: row(stage, 1).state == "ejected")
        await answer(stage, "1")
        before = stage.end(1).heads
        for _ in range(3):
            await answer(stage, "23")
        assert stage.end(1).heads == before
        stage.clock.advance(2.1)
        await stage.until(lambda: row(stage, 1).state == "ready")
        await answer(stage, "23")
        assert stage.end(1).heads > before
        report = stage.report()
        assert [row.ejections for row in report.backends] == [1, 0, 0]
        assert all(abs(row.picks - row.expected) <= 3 for row in report.backends)
        kinds = [event.kind for event in report.events if event.kind in ("ejected", "restored")]
        assert kinds == ["ejected", "restored"]


async def test_a_detector_that_could_not_work_says_so_in_the_report() -> None:
    async with staged(guarded(plan(concurrency=4), outlier=OutlierOptions(interval=1.0))) as stage:
        await stage.drive(1, 2)
        stage.clock.advance(1)
        wanted = "outlier detection judged nobody: it needs 5 backends, and there are 2"
        await stage.until(lambda: wanted in stage.report().generator.warnings)
        assert stage.report().guards == {"outlier-detection": {"interval": "1s"}}


async def test_who_is_not_in_the_subset_is_not_even_connected() -> None:
    chosen = Selection(subset=SubsetOptions(size=2, seed=1))
    async with staged(guarded(plan(concurrency=4), selection=chosen)) as stage:
        await stage.drive(1, 2, 3, 4, 5)
        report = stage.report()
        outside = [n for n, each in enumerate(report.backends, 1) if each.state == "not_in_subset"]
        assert len(outside) == 3
        assert [stage.host(n).dialled for n in outside] == [0, 0, 0]
        assert all(each.picks == 2 for n, each in enumerate(report.backends, 1) if n not in outside)
        members = [n for n in range(1, 6) if n not in outside]
        await stage.apply(*(instance(n) for n in [*outside, members[0]]))
        newcomers = [n for n in outside if stage.host(n).dialled]
        assert len(newcomers) == 1
        assert row(stage, newcomers[0]).state == "ready"


async def test_who_is_used_at_all_is_told_at_the_beginning_and_when_it_changes() -> None:
    chosen = Selection(subset=SubsetOptions(size=2), zone=ZoneOptions("a"))
    zoned = [replace(instance(number), metadata={"zone": "a"}) for number in (1, 2, 3)]
    async with staged(guarded(plan(concurrency=4), selection=chosen)) as stage:
        await stage.apply(*zoned)
        await stage.run.backends.settled()
        stage.driving = asyncio.create_task(stage.run.drive())
        await stage.until(lambda: [event.text for event in stage.report().events if event.kind == "policy"])
        await stage.apply(*zoned, instance(4))
        await stage.until(lambda: "subset random: 2 of 4 backends are used" in stage.texts())
        told = [event.text for event in stage.report().events if event.kind == "policy"]
        assert told[:2] == ["subset random: 2 of 3 backends are used", "zone a: 2 of 2 backends are in it"]


async def test_a_breaker_that_turns_calls_away_is_two_events_not_one_a_call() -> None:
    limit = {"max-requests": MaxRequestsOptions(limit=2)}
    async with staged(guarded(plan(concurrency=4, requests=40, timeout_s=0), breakers=limit)) as stage:
        await stage.drive(1, 2)
        await stage.until(lambda: "max-requests: begins to turn calls away" in stage.texts())
        await answer(stage, "12")
        report = await stage.over()
        away = report.turned_away["max-requests"]
        assert away > 10
        assert [event.text for event in report.events if event.kind == "breaker"] == [
            "max-requests: begins to turn calls away",
            f"max-requests: {away} calls turned away by the end of the run",
        ]


async def shut(stage: Stage) -> None:
    """Both backends fail, which once is too often already; the next two calls wait."""
    await stage.drive(1, 2)
    await answer(stage, "", "12")
    await stage.until(lambda: [row(stage, number).state for number in (1, 2)] == ["breaker_open"] * 2)


async def test_a_run_whose_backends_are_all_kept_out_says_which_guard_it_was() -> None:
    waiting, circuit = Selection(when_all_out=Mode.WAIT), CircuitOptions(failures=1, open_time=1000.0)
    load = plan(concurrency=2, requests=10, timeout_s=0.0)
    async with staged(guarded(load, circuit=circuit, selection=waiting)) as stage:
        await shut(stage)
        stage.clock.advance(30)
        report = await stage.over()
        why = "every backend that can be reached was out of the rotation (2 breaker open)"
        assert (report.end_reason, report.given_up) == ("error", why)
        assert stage.texts()[-1] == f"{why} for 30s: the run is given up"
        assert {cause: wait.calls for cause, wait in report.waits.items()} == {"rotation": 2}
        assert any("back in the rotation" in text for text in report.generator.warnings)


async def test_who_comes_during_the_run_warms_up_and_says_how_far_it_is() -> None:
    chosen = SlowStartOptions(window=10.0)
    async with staged(guarded(plan(concurrency=4), "smooth_wrr", slow_start=chosen)) as stage:
        await stage.drive(1, 2)
        await stage.until(lambda: row(stage, 1).state == "ready")
        await stage.apply(instance(1), instance(2), instance(3))
        await stage.until(lambda: row(stage, 3).reason == "has 10% of its weight")
        assert row(stage, 3).state == "warming"
        (guard,) = stage.run._guarding._guards
        assert isinstance(guard, SlowStart)
        await stage.until(lambda: None not in guard._since.values())  # it has looked at the clock since
        stage.clock.advance(4)
        await stage.until(lambda: row(stage, 3).warmth == pytest.approx(0.4, abs=0.05))
        assert row(stage, 3).override == pytest.approx(0.4 * row(stage, 3).weight, abs=0.05)
        assert row(stage, 1).override is None
        stage.clock.advance(6.1)
        await stage.until(lambda: row(stage, 3).state == "ready")


@pytest.mark.parametrize(
    ("policy", "guards", "said"),
    [
        ("round_robin", {"slow_start": SlowStartOptions()}, ["slow-start"]),
        ("smooth_wrr", {"slow_start": SlowStartOptions()}, []),
        ("p2c", {"selection": Selection(subset=SubsetOptions(kind="aperture"))}, ["the part of a backend that"]),
        ("pick_first", {"health": HealthOptions()}, ["health-check"]),
        ("round_robin", {"selection": Selection(when_all_out=Mode.WAIT)}, ["when-all-out"]),
        ("round_robin", {"circuit": CircuitOptions(), "selection": Selection(when_all_out=Mode.WAIT)}, []),
    ],
)
async def test_what_has_no_effect_is_said(policy: str, guards: dict[str, object], said: list[str]) -> None:
    async with staged(guarded(plan(concurrency=4), policy, **guards)) as stage:
        warnings = [text for text in stage.report().generator.warnings if "no effect" in text]
        assert len(warnings) == len(said)
        assert all(text.startswith(start) for text, start in zip(warnings, said, strict=True))


async def test_without_guards_no_time_is_kept() -> None:
    async with staged(task(plan(concurrency=4, timeout_s=0))) as stage:
        await stage.drive(1)
        assert not [timer for timer in timers() if "_tick" in repr(timer)]
        assert not stage.run.hand.balancer.watched
        assert stage.run._guarding.gate is None
        assert stage.report().guards == {}
