"""The registry's snapshots become connections, ready marks and events."""

from __future__ import annotations

import asyncio

import pytest

from lbctl.model import Endpoint, Event
from lbctl.rpc.transport import Connectivity
from tests.load.rig import Rig, instance, plan
from tests.wire import frames as h2


def told(rig: Rig) -> list[tuple[str, str | None, str]]:
    """The events since the last time somebody asked."""
    events, rig.events[:] = list(rig.events), []
    return [(event.kind, event.backend, event.text) for event in events]


async def test_the_first_snapshot_is_told_by_the_caller_and_later_ones_by_backend() -> None:
    rig = Rig(plan(concurrency=2), "round_robin")
    await rig.begin(1)
    assert told(rig) == []
    await rig.apply(instance(1), instance(2, 5))
    assert told(rig) == [("joined", "127.0.0.1:2", "joined, weight 5")]
    await rig.do(lambda: rig.end(1).answer(2))
    assert rig.end(2).heads == 1
    await rig.aclose()


async def test_a_backend_that_leaves_gets_no_new_calls_finishes_its_old_ones_and_is_disconnected() -> None:
    rig = Rig(plan(concurrency=4), "round_robin")
    await rig.begin(1, 2)
    left = rig.end(1)
    await rig.apply(instance(2))
    assert told(rig) == [("left", "127.0.0.1:1", "left the registry")]
    assert (left.is_open, len(left.waiting), left.farewell) == (True, 2, None)
    await rig.do(lambda: left.answer(1))
    assert (left.is_open, len(left.waiting), len(rig.end(2).waiting)) == (True, 1, 3)
    await rig.do(lambda: left.answer(1))
    assert (left.is_open, left.farewell) == (False, h2.NO_ERROR)
    assert (rig.tally.ok, rig.tally.errors, len(rig.end(2).waiting)) == (2, 0, 4)
    assert rig.backends.count == 1
    await rig.aclose()


async def test_calls_that_wait_for_a_slot_of_a_backend_that_leaves_are_sent_elsewhere_at_once() -> None:
    rig = Rig(plan(concurrency=6), "round_robin")
    rig.host(1).settings = {h2.MAX_CONCURRENT_STREAMS: 1}
    await rig.begin(1, 2)
    assert (rig.end(1).heads, rig.end(2).heads) == (1, 3)
    await rig.apply(instance(2))
    assert (rig.end(1).heads, rig.end(2).heads, rig.engine.given_back) == (1, 5, 2)
    await rig.aclose()


async def test_a_backend_that_leaves_and_does_not_read_holds_no_call_back() -> None:
    rig = Rig(plan(concurrency=2), "round_robin")
    rig.host(1).settings = {h2.MAX_CONCURRENT_STREAMS: 0}
    await rig.begin(1, 2)
    rig.end(1).transport.stalled = True
    await rig.apply(instance(2))
    assert rig.end(2).heads == 2
    rig.end(1).transport.read_on()
    await rig.aclose()


async def test_an_idle_backend_that_leaves_is_disconnected_at_once() -> None:
    rig = Rig(plan(concurrency=1), "pick_first")
    await rig.begin(1, 2)
    await rig.apply(instance(1))
    assert not rig.end(2).is_open
    assert rig.end(2).farewell == h2.NO_ERROR
    await rig.aclose()


async def test_the_same_key_at_another_address_is_one_that_left_and_one_that_joined() -> None:
    rig = Rig(plan(concurrency=2))
    await rig.begin(1)
    await rig.apply(instance(1, host=2))
    assert told(rig) == [
        ("left", "127.0.0.1:1", "left the registry"),
        ("joined", "127.0.0.1:2", "joined, weight 1"),
    ]
    await rig.do(lambda: rig.end(1).answer(2))
    assert (rig.end(1).heads, rig.end(2).heads) == (2, 2)
    lanes = list(rig.backends.lanes.values())
    assert [(lane.state, lane.peer.picks) for lane in lanes] == [("left", 2), ("ready", 2)]
    await rig.aclose()


async def test_a_backend_that_returns_goes_on_in_its_row() -> None:
    rig = Rig(plan(concurrency=1), "round_robin")
    await rig.begin(1, 2)
    first = rig.end(1)
    while not first.waiting:
        await rig.do(lambda: rig.end(2).answer(1))
    await rig.apply(instance(2))
    await rig.do(lambda: first.answer(1))
    await rig.apply(instance(1), instance(2))
    while not rig.end(1).waiting:
        await rig.do(lambda: rig.end(2).answer(1))
    await rig.do(lambda: rig.end(1).answer(1))
    assert rig.end(1) is not first
    lane = rig.backends.lanes[instance(1).identity]
    assert len(rig.backends.lanes) == 2
    assert (lane.row.ok, lane.peer.picks, lane.left_s) == (2, 2, None)
    assert told(rig) == [("left", "127.0.0.1:1", "left the registry"), ("joined", "127.0.0.1:1", "joined, weight 1")]
    await rig.aclose()


async def test_a_backend_that_returns_without_ever_having_been_ready_has_one_row() -> None:
    rig = Rig(plan(concurrency=1))
    rig.host(2).mode = "refuse"
    await rig.begin(1, 2)
    await rig.apply(instance(1))
    rig.host(2).mode = "accept"
    await rig.apply(instance(1), instance(2))
    assert [lane.row.address for lane in rig.backends.lanes.values()] == ["127.0.0.1:1", "127.0.0.1:2"]
    await rig.aclose()


async def test_a_new_weight_counts_at_once_and_is_told() -> None:
    rig = Rig(plan(concurrency=7), "smooth_wrr")
    await rig.begin(1, 2)
    await rig.apply(instance(1, 5), instance(2, 1))
    assert told(rig) == [("weight", "127.0.0.1:1", "weight 1 -> 5 (registry)")]
    before = rig.end(1).heads, rig.end(2).heads
    await rig.do(lambda: (rig.end(1).answer(4), rig.end(2).answer(2)))
    assert (rig.end(1).heads - before[0], rig.end(2).heads - before[1]) == (5, 1)
    await rig.aclose()


async def test_an_unchanged_snapshot_changes_nothing() -> None:
    rig = Rig(plan(concurrency=2))
    await rig.begin(1)
    await rig.apply(instance(1))
    assert (told(rig), rig.host(1).dialled) == ([], 1)
    await rig.aclose()


async def test_a_status_in_the_registry_takes_a_backend_out_and_back() -> None:
    rig = Rig(plan(concurrency=2), "round_robin")
    await rig.begin(1, 2)
    await rig.apply(instance(1, status="disabled"), instance(2))
    await rig.do(lambda: rig.end(1).answer(1))
    assert (rig.end(1).heads, rig.end(2).heads) == (1, 2)
    await rig.apply(instance(1), instance(2))
    assert told(rig) == [
        ("health", "127.0.0.1:1", "disabled (registry)"),
        ("health", "127.0.0.1:1", "enabled (registry)"),
    ]
    await rig.aclose()


# ---- connections -----------------------------------------------------------------------------------------------------


async def test_a_lost_connection_and_its_return_are_told_once_each() -> None:
    rig = Rig(plan(concurrency=1))
    await rig.begin(1)
    rig.host(1).mode = "refuse"
    await rig.do(lambda: rig.end(1).drop(ConnectionResetError()))
    for _ in range(3):
        await rig.do(rig.network.sleep.wake)
    rig.host(1).mode = "accept"
    await rig.do(rig.network.sleep.wake)
    assert told(rig) == [
        ("health", "127.0.0.1:1", "connection reset by peer"),
        ("health", "127.0.0.1:1", "connection refused"),
        ("health", "127.0.0.1:1", "connected"),
    ]
    await rig.aclose()


async def test_a_backend_that_refuses_is_told_once_and_tried_again_and_again() -> None:
    rig = Rig(plan(concurrency=1))
    rig.host(1).mode = "refuse"
    await rig.begin(1)
    for _ in range(4):
        await rig.do(rig.network.sleep.wake)
    assert rig.host(1).dialled == 5
    assert told(rig) == [("health", "127.0.0.1:1", "connection refused")]
    assert rig.backends.failures() == {"127.0.0.1:1": "connection refused"}
    await rig.aclose()


async def test_levels_tell_good_news_from_bad() -> None:
    rig = Rig(plan(concurrency=1))
    rig.host(1).mode = "refuse"
    await rig.begin(1)
    rig.host(1).mode = "accept"
    await rig.do(rig.network.sleep.wake)
    levels = [(event.text, event.level) for event in rig.events]
    assert levels == [("connection refused", "bad"), ("connected", "good")]
    assert all(isinstance(event, Event) for event in rig.events)
    await rig.aclose()


async def test_a_backend_that_goes_up_and_down_all_the_time_is_told_once() -> None:
    rig = Rig(plan(concurrency=1))
    await rig.begin(1)
    for _ in range(5):
        await rig.do(lambda: rig.end(1).answer(1))
        await rig.do(rig.end(1).drop)
        await rig.do(rig.network.sleep.wake)
    assert rig.host(1).dialled == 6
    assert told(rig) == [
        ("health", "127.0.0.1:1", "connection closed by peer"),
        ("health", "127.0.0.1:1", "connected"),
    ]
    await rig.aclose()


def http(stream: int) -> bytes:
    return h2.headers(stream, (":status", "404"), ("content-type", "text/html"), end=True)


async def test_a_backend_whose_first_replies_are_not_grpc_is_doubted_once() -> None:
    rig = Rig(plan(concurrency=1))
    await rig.begin(1, 2)
    for _ in range(60):
        await rig.do(lambda: rig.end(1).answer(1, http))
        await rig.do(lambda: rig.end(2).answer(1))
    ((kind, address, text),) = told(rig)
    assert (kind, address, text.startswith("not a gRPC endpoint? ")) == ("health", "127.0.0.1:1", True)
    one, two = rig.backends.lanes.values()
    assert (one.reason, two.reason) == (text, "")
    await rig.aclose()


async def test_a_few_replies_that_are_not_grpc_do_not_make_a_stranger() -> None:
    rig = Rig(plan(concurrency=1))
    await rig.begin(1)
    for number in range(60):
        await rig.do(lambda how=http if number % 3 == 1 or number > 20 else h2.reply: rig.end(1).answer(1, how))  # type: ignore[misc]
    (lane,) = rig.backends.lanes.values()
    assert (told(rig), lane.reason) == ([], "")
    await rig.aclose()


async def test_calls_cancelled_at_the_end_are_nothing_to_tell() -> None:
    rig = Rig(plan(concurrency=200))
    await rig.begin(1)
    await rig.do(rig.cancel)
    assert (rig.tally.cancelled, told(rig)) == (200, [])
    await rig.aclose()


async def test_streams_that_lbctl_cuts_off_count_whatever_their_calls_ended_as() -> None:
    rig = Rig(plan(concurrency=60))
    await rig.begin(1)
    oversize = b"\0" + (5 << 20).to_bytes(4, "big")
    for _ in range(2):
        await rig.do(lambda: rig.end(1).answer(60, lambda sid: h2.okh(sid) + h2.data(sid, oversize)))
    (lane,) = rig.backends.lanes.values()
    assert (lane.resets.total, rig.tally.errors) == (120, 120)
    assert told(rig) == [
        ("health", "127.0.0.1:1", "120 calls were cancelled within 30s: servers take that for an attack")
    ]
    await rig.aclose()


async def test_many_cancelled_calls_are_told_once() -> None:
    rig = Rig(plan(concurrency=50, timeout_s=1.0))
    await rig.begin(1)
    for _ in range(6):
        await rig.expire(1.0)
    assert told(rig) == [
        ("health", "127.0.0.1:1", "100 calls were cancelled within 30s: servers take that for an attack")
    ]
    await rig.aclose()


async def test_a_replaced_connection_is_no_event() -> None:
    rig = Rig(plan(concurrency=2))
    await rig.begin(1)
    await rig.do(lambda: rig.end(1).goaway(h2.LARGEST_WINDOW))
    assert rig.host(1).dialled == 2
    assert told(rig) == []
    await rig.aclose()


@pytest.mark.parametrize("mode", ["accept", "refuse"])
async def test_settled_waits_until_every_backend_is_connected_or_cannot_be(mode: str) -> None:
    rig = Rig(plan(concurrency=1))
    await rig.apply()
    await asyncio.wait_for(rig.backends.settled(), 1)  # no backend at all
    rig.host(2).mode = "hang"
    await rig.apply(instance(1), instance(2))
    waiting = asyncio.ensure_future(rig.backends.settled())
    await rig.do(lambda: None)
    assert not waiting.done()
    assert rig.backends.failures() == {"127.0.0.1:2": ""}
    rig.host(3).mode = mode
    await rig.apply(instance(1), instance(3))  # the one that hangs leaves
    await rig.do(lambda: None)
    assert waiting.done()
    assert list(rig.backends.failures()) == ([] if mode == "accept" else ["127.0.0.1:3"])
    await rig.aclose()


# ---- draining by hand ------------------------------------------------------------------------------------------------


async def test_a_drained_backend_stays_connected_and_gets_no_calls_until_it_is_put_back() -> None:
    rig = Rig(plan(concurrency=2), "round_robin")
    await rig.begin(1, 2)
    one = instance(1)
    await rig.do(lambda: rig.backends.drain(one.key, one.address))
    await rig.do(lambda: (rig.end(1).answer(1), rig.end(2).answer(1)))
    assert (rig.end(1).heads, rig.end(2).heads, rig.end(1).is_open) == (1, 3, True)
    lane = rig.backends.lanes[one.identity]
    assert lane.state == "drained"
    await rig.do(lambda: rig.backends.drain(one.key, one.address))
    assert lane.state == "ready"
    await rig.do(lambda: rig.end(2).answer(2))
    assert rig.end(1).heads == 2
    assert told(rig) == [
        ("drain", "127.0.0.1:1", "drained in this client"),
        ("drain", "127.0.0.1:1", "no longer drained in this client"),
    ]
    await rig.aclose()


async def test_draining_one_key_of_an_address_leaves_the_other() -> None:
    rig = Rig(plan(concurrency=2), "round_robin")
    await rig.apply(instance(1), instance(2, host=1))
    one = instance(1)
    rig.backends.drain(one.key, one.address)
    rig.backends.drain("/services/echo/unknown", one.address)
    assert [lane.state for lane in rig.backends.lanes.values()] == ["drained", "ready"]
    await rig.aclose()


async def test_calls_wait_when_everything_is_drained() -> None:
    rig = Rig(plan(concurrency=2))
    await rig.begin(1)
    one = instance(1)
    await rig.do(lambda: rig.backends.drain(one.key, one.address))
    await rig.do(lambda: rig.end(1).answer(2))
    assert (rig.end(1).heads, rig.engine.in_flight) == (2, 2)
    await rig.do(lambda: rig.backends.drain(one.key, one.address))
    assert rig.end(1).heads == 4
    await rig.aclose()


async def test_a_backend_that_comes_and_goes_a_hundred_times_leaves_nothing_behind() -> None:
    rig = Rig(plan(concurrency=2), "round_robin")
    await rig.begin(1)
    for _ in range(100):
        await rig.apply(instance(1), instance(2))
        await rig.apply(instance(1))
    await rig.do(lambda: [end.answer(10) for end in rig.host(2).ends] and None)
    await rig.apply(instance(1), instance(2))
    assert len(rig.backends._subchannels) <= 3
    assert len(rig.engine._holders) <= 3
    assert rig.backends.lanes[instance(2).identity].subchannel.state is Connectivity.READY
    assert rig.backends.lanes[instance(2).identity].instance.endpoint == Endpoint("127.0.0.1", 2)
    await rig.aclose()
