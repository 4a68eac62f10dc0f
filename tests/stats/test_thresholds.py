"""Expressions about a run: understood strictly, judged on every backend they are about, never passed unmeasured."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lbctl.model import Code
from lbctl.stats.histogram import Histogram
from lbctl.stats.outcome import Outcome
from lbctl.stats.report import BackendRow, Report, Starts
from lbctl.stats.thresholds import Abort, parse_threshold
from tests.view.sample import sample


def times(**counts_by_ms: int) -> Histogram:
    """Durations by their milliseconds: ``times(ms5=3)`` is three of 5 ms."""
    histogram = Histogram()
    for name, count in counts_by_ms.items():
        histogram.record(int(name.removeprefix("ms")) * 1000, count)
    return histogram


def backend(number: int, latency: Histogram, *, errors: int = 0, expected: float = 100.0) -> BackendRow:
    row = sample(1).backends[0]
    return replace(
        row,
        key=f"/services/echo/{number}",
        address=f"10.0.0.{number}:50051",
        picks=latency.total + errors,
        expected=expected,
        ok=latency.total,
        errors=errors,
        in_flight=0,
        codes={Code.OK: latency.total, Code.UNAVAILABLE: errors},
        latency=latency,
    )


def run(*rows: BackendRow, **changes: object) -> Report:
    """A finished run over these backends, its sums those of the rows."""
    everything = Histogram()
    for row in rows:
        everything.merge(row.latency)
    ok, errors = sum(row.ok for row in rows), sum(row.errors for row in rows)
    report = replace(
        sample(1, end_reason="completed"),
        backends=rows,
        latency=everything,
        service_time=everything,
        ok=ok,
        errors=errors,
        issued=ok + errors,
        completed=ok + errors,
        attempts=ok + errors,
        in_flight=0,
        elapsed_s=2.0,
        codes={Code.OK: ok, Code.UNAVAILABLE: errors},
    )
    return replace(report, **changes)  # type: ignore[arg-type]


TWO = (backend(1, times(ms5=90, ms20=10)), backend(2, times(ms5=80, ms40=13), errors=7))


def judged(expr: str, report: Report) -> tuple[bool, float | None]:
    found = parse_threshold(expr).judge(report)
    return found.ok, None if found.value is None else round(found.value, 6)


@pytest.mark.parametrize(
    ("expr", "ok", "value"),
    [
        ("max<50ms", True, 40.0),
        ("max<40ms", False, 40.0),
        ("max<=40ms", True, 40.0),
        ("max<=0.04s", True, 40.0),
        ("max<40001us", True, 40.0),
        ("min>=5ms", True, 5.0),
        ("mean<1s", True, round(sum((170 * 5, 10 * 20, 13 * 40)) / 193, 6)),
        ("service.max<40ms", False, 40.0),
        ("latency.max<50ms", True, 40.0),
        ("errors<10", True, 7.0),
        ("errors<1%", False, 3.5),
        ("errors==7", True, 7.0),
        ("error_rate<=3.5%", True, 3.5),
        ("error_rate < 3.5 %", False, 3.5),
        ("success_rate>=96.5%", True, 96.5),
        ("code.UNAVAILABLE<5", False, 7.0),
        ("code.DEADLINE_EXCEEDED<1", True, 0.0),
        ("code.UNAVAILABLE<4%", True, 3.5),
        ("rps>99", True, 100.0),
        ("rps>1k", False, 100.0),
        ("rps>=100/s", True, 100.0),
        ("dropped<1", True, 0.0),
        ("retries<1%", True, 0.0),
        ("amplification<=1", True, 1.0),
        ("backends==2", True, 2.0),
        ("requests>=200", True, 200.0),
    ],
)
def test_figures_of_the_run_are_compared_in_their_unit(expr: str, ok: bool, value: float) -> None:
    assert judged(expr, run(*TWO)) == (ok, value)


@pytest.mark.parametrize(("expr", "rank_ms"), [("p50<6ms", 5), ("p92<30ms", 20), ("p94<30ms", 40), ("p99.9<1s", 40)])
def test_percentiles_are_those_of_the_histogram(expr: str, rank_ms: int) -> None:
    found = parse_threshold(expr).judge(run(*TWO))
    assert found.value == pytest.approx(rank_ms, rel=0.005)


def test_of_every_backend_the_worst_is_told() -> None:
    report = run(*TWO)
    slow = parse_threshold("backend.max<30ms").judge(report)
    assert slow == Outcome("backend.max<30ms", ok=False, value=40.0, unit="ms", limit=30.0, backend="10.0.0.2:50051")
    few = parse_threshold("backend.ok>=93").judge(report)
    assert (few.ok, few.value, few.backend) == (True, 93, "10.0.0.2:50051")


def test_one_backend_is_named_by_its_address_or_its_key() -> None:
    report = run(*TWO)
    assert judged("backend[10.0.0.1:50051].error_rate<1%", report) == (True, 0.0)
    assert judged("backend[/services/echo/2].error_rate<1%", report) == (False, 7.0)
    six = replace(TWO[0], address="[::1]:50051")
    assert judged("backend[[::1]:50051].max<1s", run(six)) == (True, 20.0)


def test_a_backend_that_the_run_did_not_have_fails_with_the_nearest_name() -> None:
    found = parse_threshold("backend[10.0.0.3:50051].p99<1s").judge(run(*TWO))
    assert (found.ok, found.value, found.backend) == (False, None, "10.0.0.3:50051")
    assert found.reason.startswith("the run had no such backend; did you mean 10.0.0.")


def test_a_backend_without_a_good_call_fails_and_one_that_was_owed_none_has_no_part() -> None:
    dead = backend(3, Histogram(), errors=4)
    found = parse_threshold("backend.p99<1s").judge(run(*TWO, dead))
    assert (found.ok, found.value, found.backend, found.reason) == (False, None, dead.address, "no call ended OK")
    starved = backend(3, Histogram(), expected=40.0)
    assert not parse_threshold("backend.p99<1s").judge(run(*TWO, starved)).ok
    drained = backend(3, Histogram(), expected=0.0)
    assert parse_threshold("backend.p99<1s").judge(run(*TWO, drained)).ok
    assert parse_threshold("backend.p99<1s").judge(run(drained)).reason == "no backend was sent anything"


@pytest.mark.parametrize(
    ("expr", "reason"),
    [
        ("p99<1h", None),
        ("p99<9m", "no call ended OK"),
        ("first_byte.p99<1s", "no call ended OK"),
        ("wait.p99<1s", "no call was written"),
        ("error_rate<1%", "no call ended"),
        ("start.p99<1ms", "a closed loop has no plan to start by"),
        ("gap.p99<1ms", "the method does not stream"),
        ("amplification<2", "no call was made"),
        ("chi2_p>0.001", "smooth_wrr does not pick by chance; max_delta is about any policy"),
    ],
)
def test_what_was_not_measured_never_holds(expr: str, reason: str | None) -> None:
    if reason is None:
        with pytest.raises(ValueError, match="does not fit p99"):
            parse_threshold(expr)
        return
    found = parse_threshold(expr).judge(run())
    assert (found.ok, found.value, found.reason) == (False, None, reason)


def test_an_open_loop_has_starts() -> None:
    report = run(*TWO, starts=Starts(3, times(ms1=197, ms2=3)))
    assert judged("start.max<1ms", report) == (False, 2.0)
    assert judged("late_starts<1%", report) == (False, 1.5)


def test_shares_against_the_expected_ones() -> None:
    report = run(*TWO)
    off = replace(report, balance=replace(report.balance, max_delta=0.104, p_value=0.2, max_over_expected=1.41))
    assert judged("max_delta<2pp", off) == (False, 10.4)
    assert judged("chi2_p>0.001", off) == (True, 0.2)
    assert judged("max_over_expected<1.5", off) == (True, 1.41)
    assert judged("backend.share<60%", report) == (True, 50.0)
    assert judged("backend.delta<1pp", report) == (True, 0.0)
    assert judged("backend.over_expected<=1", report) == (True, 1.0)


def test_where_no_share_can_be_stated_none_is_compared() -> None:
    report = run(*TWO)
    note = "no share can be stated beforehand where picks follow feedback"
    guide = replace(report, balance=replace(report.balance, stated=False, note=note))
    found = parse_threshold("max_delta<50pp").judge(guide)
    assert (found.ok, found.value, found.reason) == (False, None, note)
    assert not parse_threshold("backend.delta<50pp").judge(guide).ok


@pytest.mark.parametrize(
    ("expr", "said"),
    [
        ("p99", "'p99' is not METRIC<LIMIT (for example p99<50ms, error_rate<1%, max_delta<2pp, rps>500)"),
        ("", "'' is not METRIC<LIMIT"),
        ("p9x<1ms", "unknown metric 'p9x'; did you mean p99?"),
        ("error_rte<1%", "unknown metric 'error_rte'; did you mean error_rate?"),
        ("backend.p9x<1ms", "unknown metric of backends 'p9x'; did you mean p99?"),
        ("foo<1", "unknown metric 'foo'; there is p99, mean, max, error_rate"),
        ("code.UNAVAILBLE<1", "there is no gRPC code 'UNAVAILBLE'; did you mean code.UNAVAILABLE?"),
        ("p999<1ms", "p999: a percentile is above 0 and below 100; did you mean p99.9?"),
        ("p0<1ms", "p0: a percentile is above 0 and below 100; min and max are the ends"),
        ("p100<1ms", "p100: a percentile is above 0 and below 100; min and max are the ends"),
        ("p99<5", "'5' does not fit p99, which is a time: 5ms (or us, s)"),
        ("error_rate<1", "'1' does not fit error_rate, which is a percentage: 1%"),
        ("errors<5ms", "'5ms' does not fit errors, which is a plain number, or a percentage of the calls: 5"),
        ("rps>5%", "'5%' does not fit rps, which is a plain number: 5"),
        ("max_delta<2%", "'2%' does not fit max_delta, which is in percentage points: 2pp"),
        ("chi2_p>2", "'chi2_p>2': chi2_p is never above 1"),
        ("error_rate<101%", "'error_rate<101%': error_rate is never above 100%"),
        ("p99<-5ms", "'-5ms' is not a number with a unit"),
        ("errors<" + "9" * 400, "'999"),
        ("p99<1.2.3ms", "'1.2.3ms' is not a number with a unit"),
        ("p99<ms", "'ms' is not a number with a unit"),
        ("p99=5ms", "'p99=5ms': = is no comparison; equal is =="),
        ("p99<>5ms", "'p99<>5ms': <> is no comparison; there is < <= > >= =="),
        ("p99==5ms", "'p99==5ms': == is for counts; use <= or >="),
        ("backend[].p99<1ms", "'backend[].p99' is not backend[ADDRESS].METRIC"),
        ("1ms<p99<5ms", "'1ms<p99<5ms' is not METRIC<LIMIT"),
    ],
)
def test_what_cannot_be_understood_is_refused_in_words(expr: str, said: str) -> None:
    with pytest.raises(ValueError, match="^" + re.escape(said)):
        parse_threshold(expr)


def test_a_condition_is_true_as_soon_as_it_is_for_one_backend() -> None:
    report = run(*TWO)
    found = Abort(parse_threshold("backend.error_rate>5%"), calls=50).reached(report)
    assert found is not None
    assert (found.ok, found.value, found.backend) == (False, 7.0, "10.0.0.2:50051")
    assert Abort(parse_threshold("error_rate>5%")).reached(report) is None


def test_a_condition_waits_for_its_time_and_for_enough_calls() -> None:
    report = run(*TWO)
    condition = parse_threshold("error_rate>1%")
    assert Abort(condition, after_s=2.5).reached(report) is None
    assert Abort(condition, after_s=2.0).reached(report) is not None
    assert Abort(condition, calls=201).reached(report) is None
    # The calls of the backend itself count: two of three failed say little.
    few = run(TWO[0], backend(2, times(ms5=1), errors=2))
    assert Abort(parse_threshold("backend.error_rate>50%")).reached(few) is None


def test_a_condition_that_stayed_false_says_how_close_it_came() -> None:
    found = Abort(parse_threshold("backend.max>50ms")).judge(run(*TWO))
    assert (found.ok, found.value, found.backend) == (True, 40.0, "10.0.0.2:50051")
    assert Abort(parse_threshold("p99>1s")).judge(run()) == Outcome(
        "p99>1s", ok=True, value=None, unit="ms", limit=1000.0, reason="no call ended OK"
    )


_WORDS = (
    "p99",
    "p",
    "errors",
    "backend.",
    "backend[",
    "]",
    "code.",
    "OK",
    "<",
    ">=",
    "=",
    "5",
    ".",
    "ms",
    "%",
    "pp",
    " ",
)


@given(st.one_of(st.text(max_size=30), st.lists(st.sampled_from(_WORDS), max_size=8).map("".join)))
def test_whatever_is_typed_is_understood_or_refused_and_what_is_understood_can_be_judged(text: str) -> None:
    try:
        threshold = parse_threshold(text)
    except ValueError:
        return
    found = threshold.judge(run(*TWO))
    assert found.ok <= (found.value is not None)
    assert parse_threshold(found.expr).judge(run(*TWO)) == found
