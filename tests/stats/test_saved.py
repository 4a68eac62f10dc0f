"""A run that was saved and read again is the run that it was: its text is the same to the letter."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import MISSING, fields, replace
from typing import Any

import pytest

from lbctl.model import Code
from lbctl.stats.drift import Drift
from lbctl.stats.failed_times import FailedTimes
from lbctl.stats.histogram import Histogram
from lbctl.stats.outcome import Outcome
from lbctl.stats.report import BackendRow, Machine, MethodRow, Recounted, Repeated, Report, Sent, Wait, Warmed
from lbctl.stats.samples import Sample, Times
from lbctl.stats.saved import NotARun, lacking, report_from
from lbctl.stats.searched import Probe, RateSearch
from lbctl.view.run_document import run_document
from lbctl.view.summary import summary
from tests.view.goldens import REPORTS
from tests.view.sample import explained, open_loop, sample, streaming, troubled


def again(report: Report) -> Report:
    """The run after a trip through a file."""
    return report_from(document(report))


def document(report: Report) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(run_document(report), allow_nan=False))
    return found


@pytest.mark.parametrize("name", REPORTS)
def test_a_saved_run_says_what_it_said_at_its_end(name: str) -> None:
    report = replace(REPORTS[name](), command="lbctl hammer echo 'a b' -H 'k: v'")
    for verbose in (False, True):
        assert summary(again(report), verbose=verbose) == summary(report, verbose=verbose)


@pytest.mark.parametrize("name", REPORTS)
def test_a_saved_run_is_saved_again_as_the_same_document(name: str) -> None:
    once = document(REPORTS[name]())
    assert document(report_from(once)) == once


def test_samples_and_the_words_of_the_command_come_back() -> None:
    samples = (
        Sample(1.0, 1.0, 10, 8, 1, 1, 2, 3, 4, Times(1.0, 2.0, 3.0, 4.5)),
        Sample(2.0, 1.0, 0, 0, 0, 0, 0, 0, 4, None),
    )
    found = again(sample(3, samples=samples, command="lbctl hammer echo", stopped_by="SIGTERM"))
    assert found.samples == samples
    assert (found.command, found.stopped_by) == ("lbctl hammer echo", "SIGTERM")


def test_two_addresses_under_one_key_keep_their_own_times() -> None:
    report = sample(3)
    first, second, third = report.backends
    moved = replace(second, key=first.key)
    found = again(replace(report, backends=(first, moved, third))).backends
    assert [row.latency.state() for row in found] == [row.latency.state() for row in (first, moved, third)]


def old(report: Report) -> dict[str, Any]:
    """The document as it was before there were histograms and samples in it."""
    found = document(report)
    for name in ("histograms", "samples", "command", "stopped_by", "at_end"):
        del found[name]
    del found["balance"]["stated"]
    for event in found["events"]:
        del event["level"]
    for row in found["backends"]:
        del row["expected"]
    return found


def test_a_run_of_an_older_lbctl_is_read_and_what_it_lacks_is_named() -> None:
    report = sample(3, end_reason="completed")
    found = report_from(old(report))
    assert lacking(found) == ("histograms", "samples over time")
    assert (found.ok, found.errors, found.elapsed_s) == (report.ok, report.errors, report.elapsed_s)
    assert [row.expected for row in found.backends] == pytest.approx(
        [row.expected for row in report.backends], rel=1e-5
    )
    assert "  latency   - (not in the file)" in summary(found)


def test_a_run_that_lacks_nothing_says_so() -> None:
    whole = sample(3, samples=(Sample(1.0, 1.0, 1, 1, 0, 0, 0, 0, 0, None),))
    assert lacking(again(whole)) == ()


def damaged(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    found = document(sample(3))
    change(found)
    return found


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        ([], "the document: an object is needed, not a list"),
        ("x", "the document: an object is needed, not 'x'"),
        ({}, "it is no run of lbctl hammer: it has no schema lbctl.run/v1"),
        ({"schema": "lbctl.run/v2"}, "schema lbctl.run/v2 is not known, only lbctl.run/v1: a newer lbctl wrote it"),
        (
            {"schema": "lbctl.services/v1"},
            "it is no run of lbctl hammer, its schema is 'lbctl.services/v1' and not lbctl.run/v1",
        ),
        (damaged(lambda run: run.pop("seed")), "seed is missing"),
        (damaged(lambda run: run.update(ok=True)), "ok: a whole number is needed, not true"),
        (damaged(lambda run: run.update(ok=-1)), "ok: a whole number is needed, not -1"),
        (damaged(lambda run: run.update(duration_s="2")), "duration_s: a number is needed, not '2'"),
        (damaged(lambda run: run.update(duration_s=float("nan"))), "duration_s: a number is needed, not nan"),
        (damaged(lambda run: run.update(started_at="now")), "started_at: 'now' is no time"),
        (damaged(lambda run: run.update(started_at="2026-01-01")), "started_at: '2026-01-01' has no time zone"),
        (damaged(lambda run: run["codes"].update(GOOD=1)), "codes: 'GOOD' is no gRPC status code"),
        (damaged(lambda run: run["backends"][1].update(picks=None)), "backends[1].picks is missing"),
        (damaged(lambda run: run.update(backends={})), "backends: a list is needed, not an object"),
        (
            damaged(lambda run: run["error_groups"][0].update(origin="moon")),
            "error_groups[0].origin: 'moon' is not one of server, http, transport, client",
        ),
        (
            damaged(lambda run: run["histograms"]["latency"].update(count=1)),
            "histograms.latency: no state of a histogram: its counts contradict each other",
        ),
    ],
)  # fmt: skip
def test_a_document_that_is_no_run_says_what_is_the_matter(found: object, reason: str) -> None:
    with pytest.raises(NotARun) as raised:
        report_from(found)
    assert str(raised.value) == reason


def test_no_damage_of_one_value_is_more_than_an_unreadable_run() -> None:
    """Whatever stands in a place, the run is read or refused with words: nothing else comes out of it."""
    report = streaming()
    whole = document(replace(report, backends=report.backends[:1], latency=Histogram(), ok=0))
    whole["histograms"] = {"latency": whole["histograms"]["latency"]}
    text = json.dumps(whole)
    for place in places(whole):
        values: tuple[object, ...] = (None, -1, "x", [], {"x": None}, 10**400)
        for value in values:
            found = json.loads(text)
            set_at(found, place, value)
            with suppress(NotARun):
                report_from(found)


def places(found: Any, here: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:  # noqa: ANN401
    """The first of each list, every member of each object."""
    inner: list[tuple[str | int, Any]] = []
    if isinstance(found, dict):
        inner += found.items()
    elif isinstance(found, list):
        inner += list(enumerate(found))[:1]
    return [*([here] if here else []), *(place for name, each in inner for place in places(each, (*here, name)))]


def set_at(found: Any, place: tuple[str | int, ...], value: object) -> None:  # noqa: ANN401
    for name in place[:-1]:
        found = found[name]
    found[place[-1]] = value


ROUNDED = {"backends", "balance", "methods", "starts", "streams", "wire", "generator"}  # or with histograms inside
OF_A_MOMENT = {"paused", "stopping", "grace_s", "warming", "given_up"}  # of a run that goes on, or said when it ended


def test_every_part_of_a_report_is_saved() -> None:
    """Whoever adds a field to a report adds it to the document and to its reader, or says here why not."""
    report = whole()
    found = again(report)
    for field in fields(Report):
        if field.name in OF_A_MOMENT:
            continue
        given, came = getattr(report, field.name), getattr(found, field.name)
        if field.default is not MISSING:
            assert given != field.default, f"{field.name}: this test needs a value of its own"
        if isinstance(given, Histogram):
            assert came.state() == given.state()
        elif field.name not in (*ROUNDED, "failed_times"):
            assert came == given, field.name
    assert found.generator.machine == report.generator.machine
    assert states(found) == states(report)
    assert [states(row) for row in found.backends] == [states(row) for row in report.backends]
    assert [row.method for row in found.methods] == [row.method for row in report.methods]


def states(found: Report | BackendRow) -> dict[Code, object]:
    return {code: times.state() for code, times in found.failed_times.items()}


def failing() -> FailedTimes:
    found = FailedTimes()
    found.record(Code.UNAVAILABLE, 1200)
    found.record(Code.DEADLINE_EXCEEDED, 20_000_000)
    return found


def whole() -> Report:
    """A run that has everything."""
    outcome = Outcome("p99<50ms", True, 25.2, "ms", 50.0)
    return replace(
        troubled(),
        command="lbctl hammer echo",
        stopped_by="SIGTERM",
        hash_key="seq",
        described_by="files",
        rps=500.0,
        starts=open_loop().starts,
        streams=streaming().streams,
        explanation=explained().explanation,
        repeated=Repeated("retry", 3, 5, waiting=2, codes={Code.UNAVAILABLE: 5}),
        retries=8,
        retried={"refused": 2, "goaway": 1, "policy": 5},
        waits={"slot": Wait(3, 0.25)},
        guards={"breaker": {"failures": "3"}},
        turned_away={"consecutive": 4},
        samples=(Sample(1.0, 1.0, 10, 8, 1, 1, 2, 3, 4, Times(1.0, 2.0, 3.0, 4.5)),),
        warmed=Warmed(100, 1, 2.5),
        recounted=Recounted(2, 50, 3, 1.5),
        sent=Sent(1.25, 17),
        methods=(MethodRow("pkg.Svc/Get", 3.0, 4, 1, 1, {Code.OK: 4, Code.UNAVAILABLE: 1}, Histogram()),),
        search=searched(outcome),
        thresholds=(outcome,),
        generator=replace(troubled().generator, machine=Machine(0.9, 0.5, 0.1, 0.05, 3, 1, 0.002, 0.001)),
        failed_times=failing(),
        backends=tuple(replace(row, failed_times=failing()) for row in troubled().backends),
        name="nightly",
        tags={"build": "7", "branch": "main"},
        drift=Drift("rising", 2.1, 3.4, 0.001, 3.0, 12.5),
        abort_on=(replace(outcome, backend="127.0.0.1:1", reason="x"),),
    )


def searched(outcome: Outcome) -> RateSearch:
    probe = Probe(100.0, 99.5, 500, 498, 1, 1, 2, 1.5, 20.25, 0.25, 0.01, "fails", "p99<50ms is 60ms", True, (outcome,))
    return RateSearch(("p99<50ms", "error_rate<1%"), 5.0, 0.05, "failed", None, 100.0, (probe,))


def test_an_empty_histogram_is_empty_again() -> None:
    found = again(sample(3, latency=Histogram(), ok=0))
    assert found.latency.total == 0
    assert "no call ended well" in summary(found)
