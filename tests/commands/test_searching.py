"""A search for the highest rate: how a probe is judged, what is kept of it, and what a person may do meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import pytest

from lbctl.cli.hammer_options import LoadFlags
from lbctl.cli.pacing_options import PacingFlags, parse_ramp
from lbctl.cli.search_options import SearchFlags, parse_precision, searching_of
from lbctl.cli.verdict_options import VerdictFlags
from lbctl.commands.searching import Probing, Searching
from lbctl.errors import UsageError
from lbctl.load.pacing.schedule import Schedule, Warmup, steady
from lbctl.load.plan import Plan
from lbctl.stats.histogram import Histogram
from lbctl.stats.report import Report, Starts
from lbctl.stats.searched import AT_LEAST, FAILED, FAILS, FOUND, HOLDS, INTERRUPTED, LIMITED
from lbctl.stats.thresholds import parse_threshold
from tests.view.sample import open_loop

Change = Callable[[float], dict[str, Any]]


class Service:
    """A run in shape, before a service whose p99 is a millisecond for each 100 calls/s; ``change`` bends reports."""

    def __init__(self, change: Change = lambda rate: {}, stop_after: int = 1000) -> None:
        self.plan: Plan
        self.plans: list[Plan] = []
        self.notes: list[str] = []
        self.was_stopped = False
        self.hand = self
        self.done: list[str] = []
        self.change = change
        self._stop_after = stop_after
        self._latency = Histogram()  # one and the same, as a run's is

    def again(self, plan: Plan) -> None:
        self.plans.append(plan)

    async def drive(self) -> None:
        self.was_stopped = self.was_stopped or len(self.plans) > self._stop_after

    def report(self) -> Report:
        plan = self.plans[-1]
        assert plan.rps is not None
        assert plan.duration_s is not None
        calls = round(plan.rps * plan.duration_s)
        self._latency.clear()
        self._latency.record(round(plan.rps * 10), calls)
        report = open_loop()
        on_time = Histogram()
        on_time.record(10, calls)
        return replace(
            report,
            load=replace(report.load, rps=plan.rps, duration_s=plan.duration_s),
            **{
                "elapsed_s": plan.duration_s, "issued": calls, "completed": calls, "ok": calls, "errors": 0,
                "cancelled": 0, "dropped": 0, "in_flight": 0, "latency": self._latency, "starts": Starts(0, on_time),
                "end_reason": "interrupted" if self.was_stopped else "duration",
                "generator": replace(report.generator, busy=0.1),
                **self.change(plan.rps),
            },
        )  # fmt: skip

    def note(self, kind: str, backend: str | None, text: str, level: str = "info") -> None:
        self.notes.append(text)

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_: self.done.append(name)


def probing(
    service: Service,
    *objective: str,
    arrival: str = "constant",
    **options: Any,  # noqa: ANN401
) -> Probing:
    wanted = Searching(tuple(map(parse_threshold, objective)), **options)
    schedule = replace(steady(100.0), arrival=arrival)
    service.plan = Plan(0, None, wanted.probe_s, 20.0, schedule)
    return Probing(cast("Any", service), wanted)


async def found(service: Service, *objective: str, **options: Any) -> Report:  # noqa: ANN401
    search = probing(service, *objective, **options)
    await search.drive()
    return search.found()


async def test_the_result_is_the_run_at_the_highest_rate_that_holds_with_all_that_was_tried() -> None:
    service = Service()
    report = await found(service, "p99<20ms")
    search = report.search
    assert search is not None
    assert (search.ended, search.objective) == (FOUND, ("p99<20ms", "error_rate<1%"))
    assert search.low is not None
    assert search.high is not None
    assert search.low < 2000 <= search.high <= search.low * 1.05
    assert report.load.rps == search.low
    assert report.latency.max_us == round(search.low * 10)  # its own, although the run has gone on
    assert [probe.rate for probe in search.probes[:6]] == [100, 200, 400, 800, 1600, 3200]
    assert len(search.probes) == len(service.notes)
    assert service.notes[0] == "probe 1: 100/s holds"
    assert service.notes[5] == "probe 6: 3,200/s fails: p99 32ms"
    best = next(probe for probe in search.probes if probe.rate == 1600)
    assert (best.p50_ms, best.p99_ms, best.done, best.requests) == (16.0, 16.0, 1600.0, 8000)


async def test_every_probe_is_an_open_loop_of_its_own_after_a_short_warm_up() -> None:
    service = Service()
    await found(service, "p99<20ms", arrival="poisson", probe_s=4.0)
    plan = service.plans[1]
    assert plan.schedule == Schedule(steady(200.0).stages, "poisson")
    assert (plan.duration_s, plan.requests, plan.warmup) == (4.0, None, Warmup(duration_s=1.0))
    await found(short := Service(), "p99<20ms", probe_s=0.5)
    assert short.plans[0].warmup == Warmup(duration_s=0.25)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"errors": 10, "ok": 490}, "error_rate 2%"),
        ({"dropped": 1}, "1 dropped"),
        ({"cancelled": 3}, "3 without an answer"),
        ({"end_reason": "max_errors"}, "ended by --max-errors"),
        ({"latency": Histogram()}, "p99: no call ended OK"),
    ],
)
async def test_where_even_the_first_rate_does_not_hold_nothing_does(change: dict[str, Any], reason: str) -> None:
    report = await found(Service(lambda rate: change), "p99<20ms")
    assert report.search is not None
    assert (report.search.ended, report.search.low, report.search.high) == (FAILED, None, 100)
    assert [(probe.verdict, probe.reason) for probe in report.search.probes] == [(FAILS, reason)] * 2
    assert report.search.conclusion == f"even 100/s does not hold: {reason}"


async def test_an_expression_about_errors_stands_for_the_one_that_is_there_without_it() -> None:
    report = await found(Service(lambda rate: {"errors": 10, "ok": 490}), "p99<20ms", "error_rate<5%")
    assert report.search is not None
    assert (report.search.objective, report.search.ended) == (("p99<20ms", "error_rate<5%"), FOUND)


async def test_late_starts_that_do_not_matter_to_the_limit_are_no_excuse() -> None:
    late = Histogram()
    late.record(5000, 80)
    late.record(0, 920)

    def change(rate: float) -> dict[str, Any]:
        return {"starts": Starts(80, late)}

    verdicts = {}
    for limit in ("2ms", "200ms"):
        report = await found(Service(change), f"p99<{limit}")
        assert report.search is not None
        verdicts[limit] = {probe.verdict for probe in report.search.probes if probe.verdict != HOLDS}
    assert verdicts == {"2ms": {LIMITED}, "200ms": {FAILS}}


async def test_errors_are_never_the_generators() -> None:
    report = await found(
        Service(lambda rate: {"errors": 10, "ok": 490, "generator": replace(open_loop().generator, busy=0.93)}),
        "error_rate<1%",
    )
    assert report.search is not None
    assert (report.search.ended, report.search.probes[0].reason) == (FAILED, "error_rate 2%")


@pytest.mark.parametrize("busy", [True, False])
async def test_what_fails_while_the_generator_cannot_keep_up_is_a_lower_bound(busy: bool) -> None:
    late = Histogram()
    late.record(5000, 80)
    late.record(0, 920)

    def change(rate: float) -> dict[str, Any]:
        if rate < 1000:
            return {}
        slow = {"generator": replace(open_loop().generator, busy=0.93)} if busy else {"starts": Starts(80, late)}
        return {"dropped": 5, **slow}

    report = await found(Service(change), "p99<20ms")
    assert report.search is not None
    assert (report.search.ended, report.search.probes[4].verdict) == (AT_LEAST, LIMITED)
    reason = "generator 93% busy" if busy else "8% started over 1ms late"
    assert report.search.probes[4].reason == f"5 dropped, {reason}"
    assert "the generator is the limit" in report.search.conclusion


async def test_a_search_that_is_stopped_tells_what_is_known() -> None:
    report = await found(Service(stop_after=3), "p99<20ms")
    assert report.search is not None
    assert (report.search.ended, report.search.low, report.search.high) == (INTERRUPTED, 400, None)
    assert (report.load.rps, report.search.conclusion) == (400, "interrupted: 400/s holds")
    nothing = await found(Service(stop_after=0), "p99<20ms")
    assert nothing.search is not None
    assert (nothing.search.probes, nothing.search.conclusion) == ((), "interrupted before anything was known")


async def test_a_probe_that_holds_after_one_that_failed_is_shown_once_the_majority_is_known() -> None:
    for stop_after, shown in ((5, 400.0), (6, 800.0)):
        reports = iter([{}, {}, {}, {"dropped": 1}, {}, {}, {}])
        report = await found(Service(lambda rate, reports=reports: next(reports), stop_after), "p99<20ms")  # type: ignore[misc]
        assert report.search is not None
        assert [probe.verdict for probe in report.search.probes[3:]] == [FAILS, HOLDS, HOLDS][: stop_after - 3]
        assert (report.search.low, report.load.rps) == (shown, shown)


async def test_a_hand_on_a_search_can_stop_it_and_drain_backends_and_nothing_else() -> None:
    service = Service()
    hand = probing(service, "p99<20ms").hand
    for act in (hand.pause, hand.resume, lambda: hand.scale(2.0), lambda: hand.next_policy(1)):
        act()
    assert service.notes == ["--find-max: rate, policy and pauses are the search's own"]
    hand.drain("key", "address")
    hand.log("text")
    hand.stop()
    hand.abort()
    assert service.done == ["drain", "log", "stop", "abort"]


def test_a_search_takes_its_first_rate_and_its_time_from_the_options() -> None:
    expr = parse_threshold("p99<20ms")
    searching, load = searching_of(SearchFlags([expr], 2.0, 0.1), LoadFlags(rps=500.0), PacingFlags(), VerdictFlags())
    assert searching == Searching((expr,), 2.0, 0.1)
    assert (load.rps, load.duration) == (500, 2)
    searching, load = searching_of(SearchFlags([expr]), LoadFlags(), PacingFlags(), VerdictFlags())
    assert searching == Searching((expr,), 5.0, 0.05)
    assert (load.rps, load.duration) == (100, 5)
    assert searching_of(SearchFlags(), LoadFlags(requests=5), PacingFlags(), VerdictFlags()) == (
        None,
        LoadFlags(requests=5),
    )


@pytest.mark.parametrize(
    ("search", "load", "pacing", "said"),
    [
        (SearchFlags(probe_time=1.0), {}, {}, "--probe-time is for a search"),
        (SearchFlags(find_precision=0.1), {}, {}, "--find-precision is for a search"),
        (SearchFlags(["x"]), {"requests": 5}, {}, "-n: --find-max decides itself"),
        (SearchFlags(["x"]), {"duration": 5.0}, {}, "-z: --find-max decides itself"),
        (SearchFlags(["x"]), {}, {"ramp": parse_ramp("1:2:3s")}, "--ramp: --find-max decides itself"),
        (SearchFlags(["x"]), {"rps": 0.0}, {}, "-r 0: a search needs a rate"),
    ],
)
def test_what_contradicts_a_search_is_refused(
    search: SearchFlags, load: dict[str, Any], pacing: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        searching_of(search, LoadFlags(**load), PacingFlags(**pacing), VerdictFlags())


def test_requests_that_run_out_are_refused() -> None:
    with pytest.raises(UsageError, match="--data-order once: a search sends as many requests as it takes"):
        searching_of(SearchFlags(["x"]), LoadFlags(), PacingFlags(), VerdictFlags(), "once")


def test_a_precision_is_a_percentage_above_nothing() -> None:
    assert parse_precision("2.5%") == 0.025
    for text in ("0", "0%", "5", "soon"):
        with pytest.raises(ValueError, match=text):
            parse_precision(text)
