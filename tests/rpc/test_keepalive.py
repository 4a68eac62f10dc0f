"""A peer that says nothing, and one that does not read: when it is asked, and when it is given up."""

from __future__ import annotations

from dataclasses import replace

from lbctl.rpc.keepalive import DEAD_PEER, KEEPALIVE_TIMEOUT, Heartbeat
from lbctl.rpc.options import ConnectionOptions
from tests.fakes import quiet_loop, timers, turns, until
from tests.rpc.bench import CONNECTING, FAILURE, READY, REQUEST, Bench, OneCall, ends
from tests.wire import frames as h2

__all__ = ["quiet_loop"]

S = 1_000_000_000
NOW = 1000 * S


# ---- decisions -------------------------------------------------------------------------------------------------------


def test_keepalive_asks_after_its_time_of_silence_and_not_again_until_that_is_answered() -> None:
    beat = Heartbeat(10 * S, 20 * S)
    assert not beat.should_ask(NOW + 10 * S - 1, NOW)
    assert beat.should_ask(NOW + 10 * S, NOW)
    assert not beat.should_ask(NOW + 25 * S, NOW)
    assert not beat.should_ask(NOW + 21 * S, NOW + 12 * S)  # that was an answer
    assert beat.should_ask(NOW + 22 * S, NOW + 12 * S)


def test_a_peer_that_has_not_answered_in_time_is_given_up_and_one_that_says_anything_is_not() -> None:
    beat = Heartbeat(10 * S, 20 * S)
    assert beat.should_ask(NOW, NOW - 10 * S)
    assert beat.verdict(NOW + 20 * S - 1, NOW - 10 * S) == ""
    assert beat.verdict(NOW + 20 * S, NOW - 10 * S) == KEEPALIVE_TIMEOUT
    assert beat.verdict(NOW + 20 * S, NOW + 1) == ""
    assert beat.verdict(NOW + 90 * S, NOW + 1) == ""


def test_without_keepalive_nothing_is_asked_and_nothing_is_looked_for() -> None:
    beat = Heartbeat(0, 20 * S)
    assert not beat.should_ask(NOW + 10_000 * S, NOW)
    assert beat.next_look_ns(NOW, NOW) == 0
    assert beat.verdict(NOW + 10_000 * S, NOW) == ""


def test_the_next_look_is_when_there_may_be_something_to_decide() -> None:
    beat = Heartbeat(10 * S, 20 * S)
    assert beat.next_look_ns(NOW + 3 * S, NOW) == NOW + 10 * S
    assert beat.next_look_ns(NOW + 10 * S, NOW) == NOW + 20 * S  # no stream was open
    assert beat.should_ask(NOW + 10 * S, NOW)
    assert beat.next_look_ns(NOW + 10 * S, NOW) == NOW + 30 * S
    assert beat.next_look_ns(NOW + 11 * S, NOW + 11 * S) == NOW + 21 * S


def test_a_peer_under_whose_silence_calls_run_out_is_probed_once() -> None:
    beat = Heartbeat(0, 20 * S)
    assert not beat.should_probe(NOW + 2 * S, NOW, 2 * S)
    assert beat.should_probe(NOW + 2 * S + 1, NOW, 2 * S)
    assert not beat.should_probe(NOW + 5 * S, NOW, 2 * S)
    assert beat.next_look_ns(NOW + 5 * S, NOW) == NOW + 22 * S + 1
    assert beat.verdict(NOW + 22 * S + 1, NOW) == DEAD_PEER


def test_a_slow_peer_that_answers_probes_is_not_probed_so_often_that_it_takes_offence() -> None:
    beat = Heartbeat(0, 20 * S)
    probes = sum(beat.should_probe(NOW + n * S, NOW + (n - 1) * S, S // 2) for n in range(1, 1200))
    assert probes == 4  # in 20 minutes


# ---- on a connection -------------------------------------------------------------------------------------------------

ALIVE = ConnectionOptions(keepalive_s=10.0, keepalive_timeout_s=20.0)
SOON = ConnectionOptions(keepalive_s=0.01, keepalive_timeout_s=0.02)


async def test_a_silent_peer_is_asked_and_stays_if_it_answers() -> None:
    bench = Bench(options=SOON)
    await bench.connect()
    (call,) = await bench.send()
    bench.clock.advance(0.01)
    await until(lambda: bench.host.end.pings)
    bench.host.end.say(h2.ping(bench.host.end.pings[0], ack=True))
    bench.clock.advance(0.009)
    assert bench.subchannel.total_counters()["pings_sent"] == 1
    bench.host.end.answer()
    assert (call.end, bench.told[-1]) == ("OK", (READY, ""))
    await bench.aclose()


async def test_a_peer_that_does_not_answer_is_left_and_its_calls_say_why() -> None:
    bench = Bench(options=SOON)
    await bench.connect()
    calls = await bench.send(2)
    bench.clock.advance(0.01)
    await until(lambda: bench.host.end.pings)
    bench.host.mode = "hang"
    bench.clock.advance(0.02)
    await until(lambda: calls[0].end)
    assert ends(calls) == ["UNAVAILABLE keepalive timeout"] * 2
    assert bench.told[2:] == [(FAILURE, "keepalive timeout")]
    assert bench.subchannel.total_counters()["closed: keepalive timeout"] == 1
    await bench.aclose()


async def test_nothing_is_asked_while_no_call_is_open() -> None:
    bench = Bench(options=SOON)
    await bench.connect()
    for _ in range(5):
        bench.clock.advance(0.02)
        await until(lambda: looks(bench)[0] > 0)
    assert bench.host.end.pings == []
    await bench.aclose()


def looks(bench: Bench) -> list[int]:
    """How long until each connection is looked at, by the bench's clock."""
    return sorted(link._vigil._next_look._at_ns - bench.clock.now_ns() for link in bench.subchannel._links)


async def test_too_many_pings_doubles_the_time_for_the_next_connections_and_is_told() -> None:
    bench = Bench(options=replace(ALIVE, keepalive_s=15.0))
    await bench.connect()
    calls = await bench.send(1)
    bench.host.end.goaway(h2.LARGEST_WINDOW, h2.ENHANCE_YOUR_CALM, b"too_many_pings")
    await turns()
    reason = "GOAWAY ENHANCE_YOUR_CALM 'too_many_pings': keepalive every 30s from now on"
    assert bench.told[2:] == [(FAILURE, reason)]
    await bench.wake()
    assert bench.told[-1] == (READY, "")
    assert looks(bench) == [15 * S, 30 * S]
    bench.host.ends[0].answer()
    await turns()
    assert ends(calls) == ["OK"]
    await bench.aclose()


async def test_a_complaint_is_answered_by_waiting_before_the_next_connection() -> None:
    bench = Bench()
    await bench.connect()
    await bench.send(1)
    bench.host.end.answer()
    bench.host.end.goaway(code=h2.ENHANCE_YOUR_CALM, debug=b"calm down")
    await turns()
    assert (bench.host.dialled, len(bench.network.sleep.delays)) == (1, 1)
    assert bench.told[-1] == (FAILURE, "GOAWAY ENHANCE_YOUR_CALM 'calm down'")
    await bench.aclose()


# ---- dead peers ------------------------------------------------------------------------------------------------------


async def test_calls_that_end_only_by_deadline_make_a_silent_peer_suspect_and_dead_if_it_stays_silent() -> None:
    bench = Bench(request=replace(REQUEST, timeout_ns=S), options=ConnectionOptions(keepalive_timeout_s=0.02))
    await bench.connect()
    first = OneCall(deadline_ns=bench.clock.now_ns() + S)
    bench.subchannel.send(first)
    bench.clock.advance(1.1)
    second = OneCall(deadline_ns=bench.clock.now_ns() + S)
    bench.subchannel.send(second)
    bench.subchannel.expire(bench.clock.now_ns())
    assert first.end == "DEADLINE_EXCEEDED deadline exceeded"
    assert len(bench.host.end.pings) == 1
    bench.host.mode = "hang"
    bench.clock.advance(0.02)
    await until(lambda: second.end)
    assert second.end == "UNAVAILABLE dead peer"
    assert bench.subchannel.total_counters()["closed: dead peer"] == 1
    assert bench.told[-1][0] in (FAILURE, CONNECTING)
    await bench.aclose()


async def test_calls_that_end_by_deadline_while_others_are_answered_make_nobody_suspect() -> None:
    bench = Bench(request=replace(REQUEST, timeout_ns=S))
    await bench.connect()
    late = OneCall(deadline_ns=bench.clock.now_ns() + S)
    bench.subchannel.send(late)
    bench.clock.advance(0.5)
    bench.host.end.say(h2.window_update(0, 1))
    bench.clock.advance(0.6)
    await bench.send(1)
    bench.subchannel.expire(bench.clock.now_ns())
    assert late.end
    assert bench.host.end.pings == []
    await bench.aclose()


# ---- a peer that does not read ---------------------------------------------------------------------------------------


async def test_a_peer_that_reads_nothing_for_long_is_left() -> None:
    bench = Bench(options=ConnectionOptions(stall_s=0.02))
    await bench.connect()
    bench.host.end.transport.stalled = True
    calls = await bench.send(3)
    bench.host.mode = "hang"
    bench.clock.advance(0.02)
    await until(lambda: calls[0].end)
    told = "write stall: the peer has not read for 0.02s"
    assert ends(calls) == [f"UNAVAILABLE {told}"] * 3
    assert bench.told[2] == (FAILURE, told)
    assert bench.subchannel.total_counters()["closed: write stall"] == 1
    await bench.aclose()


async def test_a_peer_that_reads_little_is_waited_for_until_it_reads_nothing() -> None:
    bench = Bench(options=ConnectionOptions(stall_s=0.02))
    await bench.connect()
    (link,) = bench.subchannel._links
    bench.host.end.transport.stalled = True
    calls = await bench.send(3)
    bench.host.mode = "hang"
    for _ in range(3):
        bench.host.end.transport.read(1)
        bench.clock.advance(0.02)
        await until(lambda: link._vigil._stalled._at_ns > bench.clock.now_ns())
    assert ends(calls) == [""] * 3
    bench.clock.advance(0.02)
    await until(lambda: calls[0].end)
    assert ends(calls) == ["UNAVAILABLE write stall: the peer has not read for 0.02s"] * 3
    await bench.aclose()


async def test_a_slow_reader_is_waited_for_and_what_it_costs_is_counted() -> None:
    bench = Bench(options=ConnectionOptions(stall_s=3600.0))
    await bench.connect()
    end = bench.host.end
    end.transport.stalled = True
    calls = await bench.send(3)
    bench.clock.advance(2.0)
    assert bench.subchannel.gauges()[:4] == (1, 3, 0, 2 * S)
    end.transport.read_on()
    bench.clock.advance(5.0)
    assert bench.subchannel.gauges()[:4] == (1, 0, 0, 2 * S)
    end.answer(3)
    assert ends(calls) == ["OK"] * 3
    assert bench.subchannel.total_counters()["blocked_writes"] == 1
    assert not timers()
    await bench.aclose()
    assert bench.subchannel.gauges()[:4] == (0, 0, 0, 2 * S)  # also of connections that are gone


async def test_a_peer_that_asks_and_does_not_read_the_answers_is_left() -> None:
    bench = Bench()
    await bench.connect()
    end = bench.host.end
    end.transport.stalled = True
    (call,) = await bench.send()
    for _ in range(40):
        end.say(*[h2.ping(bytes([n]) * 8) for n in range(100)])
    await turns()
    assert call.end == "UNAVAILABLE write stall: the peer reads nothing and has to be told too much"
    assert end.transport.over
    await bench.aclose()
