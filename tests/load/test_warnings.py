from __future__ import annotations

import pytest

from lbctl.balance.policies.table import POLICIES
from lbctl.load.warnings import (
    milliseconds,
    on_cancelled,
    on_concurrency,
    on_connections,
    on_drift,
    on_drops,
    on_refusals,
    on_starts,
    on_tail,
    on_waits,
)
from lbctl.stats.drift import TOO_FEW, Drift
from lbctl.stats.histogram import Histogram
from lbctl.stats.report import Sent, Starts, Wait, Wire
from lbctl.stats.samples import Sample
from lbctl.stats.tally import BackendTally
from lbctl.view.text import duration


def starts(late: int, total: int) -> Starts:
    delays = Histogram()
    delays.record(20, total)
    return Starts(late, delays)


def test_a_run_that_went_as_planned_has_nothing_to_say() -> None:
    assert list(on_drops(0)) == []
    assert list(on_starts(None)) == []
    assert list(on_starts(starts(50, 1000))) == []
    assert list(on_starts(starts(3, 3))) == []  # the first ones of a run
    assert list(on_waits({}, 100)) == []
    assert list(on_connections(Wire(), 0, many=False)) == []


def test_dropped_calls_and_late_starts_are_said() -> None:
    assert list(on_drops(1)) == ["1 call was dropped, too many in flight when due; the rate was not kept"]
    assert list(on_drops(1200)) == ["1,200 calls were dropped, too many in flight when due; the rate was not kept"]
    assert list(on_starts(starts(600, 1000))) == [
        "60% of the calls were started more than 1ms late: the times include that"
    ]


def piled(*in_flight: int) -> list[Sample]:
    return [Sample(t_s, 1.0, 1, 1, 0, 0, 0, 0, number, None) for t_s, number in enumerate(in_flight, 1)]


def test_a_latency_that_changed_is_said_with_what_it_means() -> None:
    assert list(on_drift(None, [], is_open=False)) == []
    assert list(on_drift(TOO_FEW, [], is_open=False)) == []
    assert list(on_drift(Drift("steady", 2.0, 2.1, 0.3), [], is_open=False)) == []
    assert list(on_drift(Drift("falling", 3.4, 2.1, 0.001), [], is_open=True)) == [
        "latency fell over the run, 3.4ms at p50 in its first half and 2.1ms in its second: the percentiles are those"
        " of a mixture; a longer --warmup helps if it settles"
    ]
    assert list(on_drift(Drift("steady", 2.1, 2.1, 0.5, 3.0, 12.4), [], is_open=False)) == [
        "the first 3s were a warm-up, 12ms at p50 and 2.1ms after it: --warmup 3s leaves them out"
    ]


def test_an_open_loop_whose_calls_pile_up_says_so() -> None:
    rising = Drift("rising", 2.1, 340.0, 0.001)
    mixture = (
        "latency rose over the run, 2.1ms at p50 in its first half and 340ms in its second: the percentiles are those"
        " of a mixture"
    )
    assert list(on_drift(rising, piled(10, 12, 200, 340), is_open=True)) == [
        f"{mixture}; calls in flight rose from 11 to 270: the rate is more than the service can take"
    ]
    assert list(on_drift(rising, piled(10, 12, 11, 13), is_open=True)) == [mixture]
    assert list(on_drift(rising, piled(10, 12, 200, 340), is_open=False)) == [mixture]


@pytest.mark.parametrize("ms", [1.0, 9.94, 9.96, 39.7, 999.4, 999.6, 1250.0, 9994.0, 12_500.0])
def test_times_are_written_as_the_screen_writes_them(ms: float) -> None:
    assert milliseconds(ms) == duration(ms * 1e3)


@pytest.mark.parametrize(
    ("share", "words"), [(0.37, "37%"), (0.012, "1.2%"), (0.0999, "10.0%"), (0.1, "10%"), (0.0099, "")]
)
def test_waiting_for_a_slot_is_said_when_it_matters_and_how_to_get_more(share: float, words: str) -> None:
    found = list(on_waits({"slot": Wait(10, share)}, 100))
    sentence = f"stream limit 100 reached: {words} of the time was waiting for a slot; --connections N opens more"
    assert found == ([sentence] if words else [])


def test_other_waits_are_said_in_words_of_their_own() -> None:
    waits = {cause: Wait(1, 0.5) for cause in ("peer", "window", "connection", "rotation")}
    assert list(on_waits(waits, None)) == [
        "50% of the time was waiting for the server's flow-control window to send a request",
        "50% of the time was waiting for a server that did not read",
        "50% of the time was waiting for a backend back in the rotation; --when-all-out panic uses all",
        "50% of the time was waiting for a connection",
    ]


def test_calm_after_many_resets_is_reset_flood_protection() -> None:
    wire = Wire(goaways={"ENHANCE_YOUR_CALM": 2, 'ENHANCE_YOUR_CALM "too_many_pings"': 1})
    (sentence,) = on_connections(wire, 340, many=True)
    assert sentence.startswith("2 connections were ended by reset-flood protection: 340 calls of one backend")
    assert "--no-rst" in sentence


def test_calm_for_other_reasons_is_not() -> None:
    pings = Wire(goaways={'ENHANCE_YOUR_CALM "too_many_pings"': 1})
    assert list(on_connections(pings, 40, many=False)) == []
    assert list(on_connections(Wire(goaways={"ENHANCE_YOUR_CALM": 1}), 0, many=False)) == []


def test_many_resets_are_said_before_a_server_minds() -> None:
    (sentence,) = on_connections(Wire(), 100, many=True)
    assert sentence.endswith("and servers may take that for an attack")


def test_refused_streams_are_worth_a_sentence_from_one_in_a_hundred_calls_on() -> None:
    refusing = Wire(rst_received={"REFUSED_STREAM": 1_200, "CANCEL": 5}, stream_limit=100)
    told = "1,200 streams were refused by servers; --max-streams N opens fewer at once than the 100 they allow"
    assert list(on_refusals(refusing, 120_000)) == [told]
    assert list(on_refusals(refusing, 120_001)) == []
    assert list(on_refusals(Wire(rst_received={"CANCEL": 5}), 10)) == []


@pytest.mark.parametrize("policy", ["least_conn", "least_active", "least_request", "p2c"])
def test_fewer_calls_in_flight_than_backends_tell_a_policy_nothing_that_goes_by_them(policy: str) -> None:
    (sentence,) = on_concurrency(POLICIES[policy], 2, 3)
    assert sentence.startswith(f"concurrency 2 is below the 3 backends: {policy} cannot tell idle ones apart")
    assert list(on_concurrency(POLICIES[policy], 3, 3)) == []
    assert list(on_concurrency(POLICIES[policy], 0, 3)) == []  # no bound


@pytest.mark.parametrize("policy", ["round_robin", "smooth_wrr", "p2c_ewma", "peak_ewma", "fastest", "prequal"])
def test_policies_that_go_by_more_than_calls_in_flight_do_not_need_many(policy: str) -> None:
    assert list(on_concurrency(POLICIES[policy], 1, 30)) == []


def test_calls_that_outlasted_the_grace_time_are_said_and_where_they_were() -> None:
    slow, quick = (BackendTally(address, address) for address in ("10.0.0.1:1", "10.0.0.2:1"))
    slow.cancelled, quick.cancelled = 19, 1
    assert list(on_cancelled(0, [slow], 5.0)) == []
    assert list(on_cancelled(20, [quick, slow], 5.0)) == [
        "20 calls were cancelled without an answer after 5s of grace (19 of them at 10.0.0.1:1): latency leaves them"
        " out, although they took longer; --grace waits longer, a shorter -t makes errors of them"
    ]
    assert next(on_cancelled(1, [], 0.5)).startswith("1 call was cancelled without an answer after 0.5s of grace: ")


def test_a_run_that_waited_long_for_its_last_calls_says_what_its_rate_was_before() -> None:
    assert list(on_tail(None, 2.5)) == []
    assert list(on_tail(Sent(2.0, 0), 2.5)) == []  # all that was sent was in flight at once
    assert list(on_tail(Sent(0.05, 10), 0.2)) == []
    assert list(on_tail(Sent(9.5, 900), 10.0)) == []
    assert list(on_tail(Sent(2.0, 361), 2.5)) == [
        "nothing was sent in the last 500ms of 2.50s, which waited for calls in flight: the rate is that of the whole"
        " time, 180.5/s until then"
    ]
