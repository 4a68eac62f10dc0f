"""A subchannel's states, reconnects and end, on a network in memory."""

from __future__ import annotations

from random import Random

import pytest

from lbctl.rpc.backoff import Backoff
from lbctl.rpc.transport import Connectivity, Transport
from lbctl.wire.request import Request
from tests.fakes import quiet_loop, turns, until
from tests.rpc.bench import CONNECTING, FAILURE, IDLE, READY, SHUTDOWN, Bench, OneCall, ends
from tests.wire import frames as h2

__all__ = ["quiet_loop"]


# ---- states ----------------------------------------------------------------------------------------------------------


async def test_it_is_idle_until_it_is_told_to_connect_and_ready_once_the_peer_has_said_settings() -> None:
    bench = Bench()
    bench.host.settings = None
    assert bench.subchannel.state is IDLE
    await bench.connect()
    assert bench.told == [(CONNECTING, "")]
    bench.host.end.say(h2.settings())
    await turns()
    assert bench.told == [(CONNECTING, ""), (READY, "")]
    bench.subchannel.connect()  # it is
    await turns()
    assert bench.host.dialled == 1
    await bench.aclose()
    assert bench.subchannel.state is SHUTDOWN
    assert len(bench.told) == 2


async def test_states_are_told_in_order_and_never_twice() -> None:
    bench = Bench()
    bench.host.mode = "refuse"
    await bench.connect()
    await bench.wake()
    bench.host.mode = "accept"
    await bench.wake()
    bench.host.end.drop(ConnectionResetError())
    bench.host.mode = "refuse"
    await turns()
    await bench.wake()
    refused = "connection refused"
    assert bench.told == [
        (CONNECTING, ""),
        (FAILURE, refused),
        (CONNECTING, refused),
        (FAILURE, refused),
        (CONNECTING, refused),
        (READY, ""),
        (FAILURE, "connection reset by peer"),
        (CONNECTING, "connection reset by peer"),
        (FAILURE, refused),
    ]
    await bench.aclose()


async def test_it_says_what_it_is() -> None:
    bench = Bench()
    assert repr(bench.subchannel) == "<Subchannel 127.0.0.1:1 idle>"
    bench.host.mode = "refuse"
    await bench.connect()
    assert repr(bench.subchannel) == "<Subchannel 127.0.0.1:1 transient_failure: connection refused>"
    await bench.aclose()


# ---- backoff ---------------------------------------------------------------------------------------------------------


def test_delays_grow_to_two_minutes_with_a_fifth_of_jitter_from_the_given_random() -> None:
    backoff, plain = Backoff(Random(3)), Backoff(Random(3))
    delays = [backoff.next() for _ in range(20)]
    assert delays == [plain.next() for _ in range(20)]
    for failures, delay in enumerate(delays):
        middle = min(120.0, 1.6**failures)
        assert 0.8 * middle <= delay <= 1.2 * middle
    backoff.reset()
    assert 0.8 <= backoff.next() <= 1.2


def test_a_backend_that_is_down_for_days_is_tried_every_two_minutes() -> None:
    backoff = Backoff(Random(3))
    delays = [backoff.next() for _ in range(2000)]
    assert all(96 <= delay <= 144 for delay in delays[-1000:])


async def test_every_failed_attempt_waits_longer_and_a_connection_of_use_starts_anew() -> None:
    bench = Bench()
    bench.host.mode = "refuse"
    await bench.connect()
    for _ in range(4):
        await bench.wake()
    delays = bench.network.sleep.delays
    assert len(delays) == 5
    assert all(0.8 * 1.6**n <= delay <= 1.2 * 1.6**n for n, delay in enumerate(delays))
    bench.host.mode = "accept"
    await bench.wake()
    calls = await bench.send()
    bench.host.end.answer()
    bench.host.mode = "refuse"
    bench.host.end.drop()
    await turns()
    assert ends(calls) == ["OK"]
    assert bench.host.dialled == 7  # at once after one that was of use
    assert 0.8 <= delays[-1] <= 1.2
    await bench.aclose()


async def test_a_connection_that_lasted_is_replaced_at_once_and_one_that_did_not_after_a_delay() -> None:
    bench = Bench()
    await bench.connect()
    bench.clock.advance(1.0)
    bench.host.end.drop()
    await turns()
    assert (bench.host.dialled, bench.network.sleep.delays) == (2, [])
    bench.clock.advance(0.999)
    bench.host.end.drop()
    await turns()
    assert (bench.host.dialled, len(bench.network.sleep.delays)) == (2, 1)
    assert bench.told[-1] == (FAILURE, "connection closed by peer")
    await bench.aclose()


async def test_a_server_that_closes_every_connection_at_once_is_not_dialled_in_a_loop() -> None:
    bench = Bench()
    await bench.connect()
    for _ in range(5):
        bench.host.end.drop()
        await turns(50)
    assert (bench.host.dialled, len(bench.network.sleep.delays)) == (1, 1)
    await bench.wake()
    bench.host.end.drop()
    await turns(50)
    assert (bench.host.dialled, len(bench.network.sleep.delays)) == (2, 2)
    assert bench.network.sleep.delays[1] > bench.network.sleep.delays[0]
    await bench.aclose()


async def test_a_server_that_processes_nothing_and_says_goaway_is_not_dialled_in_a_loop() -> None:
    bench = Bench()
    await bench.connect()
    for _ in range(4):
        await bench.send()
        bench.host.end.goaway(0, debug=b"overloaded")
        await turns(50)
    assert bench.host.dialled == 2  # the first goes without a delay: so do servers that are replaced
    assert bench.told[-1] == (FAILURE, "GOAWAY NO_ERROR 'overloaded'")
    await bench.aclose()


async def test_an_idle_connection_that_the_server_tires_of_is_replaced_at_once() -> None:
    bench = Bench()
    await bench.connect()
    for _ in range(3):
        bench.clock.advance(60.0)
        bench.host.end.goaway()
        await turns()
    assert (bench.host.dialled, bench.network.sleep.delays) == (4, [])
    assert bench.told == [(CONNECTING, ""), (READY, "")]
    await bench.aclose()


@pytest.mark.parametrize(
    ("greeting", "reason"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "peer speaks HTTP/1.x, not HTTP/2"),
        (b"\x15\x03\x01\x00\x02\x02\x46", "peer speaks TLS, not plaintext HTTP/2"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "peer protocol error: peer does not speak HTTP/2"),
        (h2.ping(), "peer protocol error: first frame is not SETTINGS"),
        (h2.settings() + h2.goaway(0, h2.ENHANCE_YOUR_CALM, b"no"), "GOAWAY ENHANCE_YOUR_CALM 'no'"),
    ],
    ids=["http1", "tls", "ssh", "ping", "goaway"],
)
async def test_a_peer_that_is_not_what_we_look_for_is_named_and_left(greeting: bytes, reason: str) -> None:
    bench = Bench()
    bench.host.greeting = greeting
    await bench.connect()
    assert bench.told == [(CONNECTING, ""), (FAILURE, reason)]
    assert not bench.host.open
    await bench.aclose()


@pytest.mark.parametrize(
    ("mode", "reason"), [("accept", "no HTTP/2 SETTINGS within 0.01s"), ("hang", "no connection within 0.01s")]
)
async def test_an_attempt_is_given_up_after_the_connect_timeout(mode: str, reason: str) -> None:
    bench = Bench(connect_timeout_s=0.01)
    bench.host.mode, bench.host.settings = mode, None
    bench.subchannel.connect()
    await until(lambda: bench.network.sleep.delays)
    assert bench.told == [(CONNECTING, ""), (FAILURE, reason)]
    await turns()
    assert not bench.host.open
    await bench.aclose()


async def test_an_attempt_that_the_kernel_gave_up_says_so() -> None:
    bench = Bench()
    bench.host.mode = "hang"
    await bench.connect()
    bench.host.give_up()
    await turns()
    assert bench.told[-1] == (FAILURE, "connection timed out")
    await bench.aclose()


# ---- the end ---------------------------------------------------------------------------------------------------------


async def test_a_retired_one_finishes_its_calls_and_takes_no_new_ones() -> None:
    bench = Bench()
    await bench.connect()
    calls = await bench.send(2)
    bench.subchannel.retire()
    await turns()
    assert not bench.subchannel.is_over
    bench.host.end.answer(2)
    await turns()
    assert ends(calls) == ["OK", "OK"]
    assert bench.subchannel.is_over
    assert bench.host.end.farewell == h2.NO_ERROR
    await bench.wake()
    assert bench.host.dialled == 1
    bench.subchannel.connect()
    await turns()
    assert bench.host.dialled == 1
    await bench.aclose()


@pytest.mark.parametrize("mode", ["accept", "hang", "refuse"])
async def test_one_that_is_retired_while_it_connects_stops_to(mode: str) -> None:
    bench = Bench()
    bench.host.mode, bench.host.settings = mode, None
    await bench.connect()
    bench.subchannel.retire()
    await turns()
    assert bench.subchannel.is_over
    assert not bench.host.open
    await bench.wake()
    assert bench.host.dialled == 1
    await bench.aclose()


async def test_one_that_is_closed_before_it_began_to_connect_never_does() -> None:
    bench = Bench()
    bench.subchannel.connect()
    await bench.subchannel.aclose()
    assert bench.host.dialled == 0
    assert bench.subchannel.is_over


async def test_closing_says_goodbye_and_loses_what_is_in_flight() -> None:
    bench = Bench()
    await bench.connect()
    calls = await bench.send(2)
    await bench.aclose()
    assert ends(calls) == ["UNAVAILABLE connection closed"] * 2
    assert bench.host.end.farewell == h2.NO_ERROR


async def test_closing_ends_although_the_peer_never_reads() -> None:
    bench = Bench()
    await bench.connect()
    bench.host.end.transport.stalled = True
    calls = await bench.send(2)
    await bench.aclose()
    assert ends(calls) == ["UNAVAILABLE connection closed"] * 2
    assert bench.host.end.transport.over


async def test_what_connections_counted_is_kept_when_they_are_gone() -> None:
    bench = Bench()
    await bench.connect()
    await bench.send(1)
    bench.host.end.answer(1, lambda stream: h2.rst(stream, h2.INTERNAL_ERROR))
    bench.host.end.drop()
    await turns()
    await bench.send(1)
    bench.host.end.answer(1, lambda stream: h2.rst(stream, h2.INTERNAL_ERROR))
    counters = bench.subchannel.total_counters()
    assert (counters["connections"], counters["rst_received: INTERNAL_ERROR"], counters["settings"]) == (2, 2, 2)
    await bench.aclose()
    assert bench.subchannel.total_counters() == {
        **counters,
        "closed: by lbctl": 1,
        "bytes_out": counters["bytes_out"] + 17,
    }


async def test_settling_hands_over_and_writes_what_was_queued() -> None:
    bench = Bench(request=None)
    await bench.connect()
    call = OneCall()
    bench.subchannel.enqueue(call, Request("/pkg.Svc/Other", b"", "echo", 0))
    assert bench.host.end.heads == 0
    bench.subchannel.settle()
    assert bench.host.end.heads == 1
    bench.host.end.answer()
    assert call.end == "OK"
    await bench.aclose()


async def test_a_mistake_of_ours_while_connecting_is_not_swallowed() -> None:
    bench = Bench()

    def broken(subchannel: Transport, state: Connectivity, reason: str) -> None:
        raise RuntimeError("ours")

    bench.changed = broken  # type: ignore[method-assign]
    bench.subchannel.connect()
    task = bench.subchannel._connector._task
    await turns()
    assert task is not None
    with pytest.raises(RuntimeError, match="ours"):
        task.result()
    await bench.aclose()
