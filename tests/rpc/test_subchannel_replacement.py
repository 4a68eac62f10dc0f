"""What becomes of calls while one connection of a subchannel is replaced by the next."""

from __future__ import annotations

from lbctl.model import Code, Reply
from lbctl.rpc.options import ConnectionOptions
from lbctl.wire.limits import Limits
from tests.fakes import quiet_loop, turns, until
from tests.rpc.bench import CONNECTING, FAILURE, READY, Bench, OneCall, ends
from tests.wire import frames as h2

__all__ = ["quiet_loop"]


async def test_calls_begun_after_goaway_wait_for_the_new_connection_and_old_ones_finish_on_the_old() -> None:
    bench = Bench()
    await bench.connect()
    old_calls = await bench.send(2)
    old = bench.host.end
    bench.host.settings = None
    old.goaway(h2.LARGEST_WINDOW)
    new_calls = await bench.send(3)
    assert bench.host.end is not old
    assert bench.host.end.heads == 0
    bench.host.end.say(h2.settings())
    await turns()
    assert (bench.host.end.heads, bench.told) == (3, [(CONNECTING, ""), (READY, "")])
    old.answer(2)
    bench.host.end.answer(3)
    await turns()
    assert ends(old_calls + new_calls) == ["OK"] * 5
    assert (old.is_open, old.farewell, bench.host.end.is_open) == (False, h2.NO_ERROR, True)
    assert bench.subchannel.total_counters()["connections"] == 2
    await bench.aclose()


async def test_calls_that_wait_for_a_replacement_that_cannot_be_made_are_returned() -> None:
    bench = Bench()
    await bench.connect()
    bench.host.mode = "hang"
    bench.host.end.goaway(h2.LARGEST_WINDOW)
    calls = await bench.send(2)
    assert ends(calls) == ["", ""]
    bench.host.give_up()
    await turns()
    assert ends(calls) == ["returned", "returned"]
    assert bench.told[-1] == (FAILURE, "connection timed out")
    await bench.aclose()


async def test_a_replacement_that_takes_long_is_waited_for_outside_the_rotation() -> None:
    bench = Bench(patience_s=0.0)
    await bench.connect()
    (call,) = await bench.send()
    old = bench.host.end
    bench.host.settings = None
    old.goaway(h2.LARGEST_WINDOW, debug=b"max_age")
    await until(lambda: bench.subchannel.state is CONNECTING)
    assert bench.told[-1] == (CONNECTING, "GOAWAY NO_ERROR 'max_age'")
    bench.host.end.say(h2.settings())
    await turns()
    assert bench.told[-1] == (READY, "")
    old.answer()
    await turns()
    assert call.end == "OK"
    await bench.aclose()


async def test_calls_parked_too_long_are_returned() -> None:
    bench = Bench(patience_s=0.01)
    await bench.connect()
    bench.host.settings = None
    bench.host.end.goaway(h2.LARGEST_WINDOW)
    calls = await bench.send(2)
    await until(lambda: calls[0].end)
    assert ends(calls) == ["returned", "returned"]
    await bench.aclose()


async def test_a_deadline_ends_calls_on_every_connection_and_between_them() -> None:
    bench = Bench()
    await bench.connect()
    sent = OneCall(deadline_ns=bench.clock.now_ns() + 10)
    bench.subchannel.send(sent)
    bench.flusher.flush()
    old = bench.host.end
    bench.host.mode = "hang"
    old.goaway(h2.LARGEST_WINDOW)
    early, late = (OneCall(deadline_ns=bench.clock.now_ns() + ns) for ns in (10, 11))
    bench.subchannel.send(early)
    bench.subchannel.enqueue(late)
    bench.subchannel.expire(bench.clock.now_ns() + 9)
    assert ends([sent, early, late]) == ["", "", ""]
    bench.subchannel.expire(bench.clock.now_ns() + 10)
    assert ends([sent, early, late]) == ["DEADLINE_EXCEEDED deadline exceeded", "returned", ""]
    await turns()
    assert not old.is_open  # nothing was left on it
    await bench.aclose()
    assert late.end == "returned"


async def test_a_cancel_ends_calls_on_every_connection_and_between_them() -> None:
    bench = Bench()
    await bench.connect()
    sent = await bench.send(2)
    bench.host.mode = "hang"
    bench.host.end.goaway(h2.LARGEST_WINDOW)
    parked = await bench.send(1)
    bench.subchannel.cancel(Reply(Code.CANCELLED, reason="enough"))
    assert ends(sent + parked) == ["CANCELLED enough", "CANCELLED enough", "returned"]
    await bench.aclose()


async def test_a_call_that_a_new_connection_decides_at_once_ends_at_once() -> None:
    bench = Bench()
    await bench.connect()
    bench.host.settings = {h2.MAX_HEADER_LIST_SIZE: 10}
    bench.host.end.goaway(h2.LARGEST_WINDOW)
    calls = await bench.send(1)
    assert calls[0].end.startswith("INTERNAL request headers of ")
    await bench.aclose()


async def test_a_peer_that_says_something_else_in_every_goaway_cannot_fill_the_counters() -> None:
    bench = Bench()
    await bench.connect()
    for number in range(300):
        (call,) = await bench.send()
        bench.host.end.answer()
        bench.host.end.goaway(debug=b"connection %d" % number)
        await turns()
        assert ends([call]) == ["OK"]
    counters = bench.subchannel.total_counters()
    goaways = {name: count for name, count in counters.items() if name.startswith("goaway: ")}
    assert sum(goaways.values()) == 300
    assert len(counters) < 250
    assert counters["goaway: (other)"] > 100
    assert counters["closed: after GOAWAY"] == 300
    await bench.aclose()


def limited(calls: int) -> ConnectionOptions:
    return ConnectionOptions(limits=Limits(max_requests=calls))


async def test_the_successor_of_a_connection_that_is_soon_used_up_is_ready_before_it_is_needed() -> None:
    bench = Bench(options=limited(6))
    await bench.connect()
    old = bench.host.end
    first = await bench.send(3)
    old.answer(2)
    await turns()
    new = bench.host.end
    assert (new is old, new.is_open) == (False, True)
    first += await bench.send(3)  # the last ones it may take
    assert (old.heads, new.heads) == (6, 0)
    old.answer(4)
    await turns()
    second = await bench.send(1)
    assert (old.is_open, new.heads) == (False, 1)
    new.answer(1)
    await turns()
    assert ends(first + second) == ["OK"] * 7
    assert bench.told == [(CONNECTING, ""), (READY, "")]
    await bench.aclose()


async def test_a_successor_that_cannot_be_made_leaves_the_connection_in_use_alone() -> None:
    bench = Bench(options=limited(4))
    await bench.connect()
    old = bench.host.end
    bench.host.mode = "refuse"
    calls = await bench.send(3)
    old.answer(3)
    await turns()
    assert bench.told == [(CONNECTING, ""), (READY, "")]
    bench.host.mode = "accept"
    calls += await bench.send(1)
    assert old.heads == 4
    await bench.wake()
    old.answer(1)
    await turns()
    calls += await bench.send(1)
    bench.host.end.answer(1)
    await turns()
    assert ends(calls) == ["OK"] * 5
    await bench.aclose()


async def test_a_successor_that_is_lost_before_its_turn_is_not_used() -> None:
    bench = Bench(options=limited(4))
    await bench.connect()
    old = bench.host.end
    calls = await bench.send(3)
    old.answer(3)
    await turns()
    lost = bench.host.end
    lost.goaway(h2.LARGEST_WINDOW)
    await turns()
    assert (lost is old, lost.is_open, bench.subchannel.state) == (False, False, READY)
    calls += await bench.send(1)
    old.answer(1)
    await turns()
    calls += await bench.send(1)
    bench.host.end.answer(1)
    await turns()
    assert ends(calls) == ["OK"] * 5
    await bench.aclose()
