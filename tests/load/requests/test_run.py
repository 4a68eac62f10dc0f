"""Runs whose calls differ: what is sent, again too, what is counted of each method, and how such a run ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import pytest

from lbctl.balance.service_methods import HedgingPolicy, RetryPolicy
from lbctl.errors import UsageError
from lbctl.load.plan import Plan, Repeating, Task
from lbctl.load.requests.content import Content, Variant, Varying
from lbctl.load.requests.supply import Supply
from lbctl.model import Code
from lbctl.wire.request import Request, Stream
from tests.fakes import ServerEnd, until
from tests.load.rig import paced, plan, request
from tests.load.stage import staged, task
from tests.wire import frames as h2

Sent = list[tuple[str, bytes]]


def numbered(count: int, failing: bool = False, methods: int = 1) -> Iterator[Content]:
    for number in range(count):
        yield Content((b"m%d" % number,), ((b"x-number", b"%d" % number),), b"k%d" % number, number % methods)
    if failing:
        raise UsageError("f: line 7: it is wrong")


def varied(
    load: Plan, contents: Iterator[Content], *, bases: Sequence[Request] = (), repeating: Repeating | None = None
) -> Task:
    variants = tuple(Variant(base.path, 1.0, base.timeout_ns) for base in bases)
    common = tuple(bases) or (replace(request(load.timeout_s), message=b""),)
    wanted = replace(task(load), varying=Varying(Supply(contents), variants), repeating=repeating or Repeating())
    return replace(wanted, bases_for=lambda _: common, request_for=lambda _: common[0])


def sent(end: ServerEnd) -> Sent:
    """The number and message of each request, as the server has them."""
    found = []
    for head, body in end.latest:
        messages = []
        while body:
            size = int.from_bytes(body[1:5], "big")
            messages.append(body[5 : 5 + size])
            body = body[5 + size :]
        found.append((head[b"x-number"].decode(), b"+".join(messages)))
    return found


def expected(*numbers: int) -> Sent:
    return [(str(number), b"m%d" % number) for number in numbers]


async def test_each_call_sends_its_own() -> None:
    async with staged(varied(plan(concurrency=2, requests=5), numbered(99))) as stage:
        await stage.drive(1)
        for count in (2, 2, 1):
            await stage.do(partial(stage.end(1).answer, count))
        report = await stage.over()
        assert (report.ok, report.end_reason) == (5, "completed")
        assert sent(stage.end(1)) == expected(0, 1, 2, 3, 4)


async def test_a_run_ends_with_the_last_content() -> None:
    async with staged(varied(plan(concurrency=2, requests=50), numbered(3))) as stage:
        await stage.drive(1)
        await stage.do(lambda: stage.end(1).answer(2))
        await stage.do(lambda: stage.end(1).answer(1))
        report = await stage.over()
        assert (report.issued, report.ok, report.end_reason) == (3, 3, "completed")


async def test_a_content_that_is_wrong_ends_the_run_and_what_is_in_flight_is_awaited() -> None:
    async with staged(varied(plan(concurrency=2, requests=50), numbered(3, failing=True))) as stage:
        await stage.drive(1)
        await stage.do(lambda: stage.end(1).answer(1))
        report = await stage.do(lambda: stage.end(1).answer(2))
        report = await stage.over()
        assert (report.issued, report.ok, report.end_reason) == (3, 3, "error")
        assert str(stage.run.failure) == "f: line 7: it is wrong"


@pytest.mark.parametrize("count", [0, 3])
async def test_an_open_loop_ends_with_the_last_content_and_drops_nothing(count: int) -> None:
    async with staged(varied(paced(1000.0, requests=50), numbered(count))) as stage:
        await stage.drive(1)
        for _ in range(8):
            stage.clock.advance(0.001)
            stage.alarm.ring()
            await stage.do(lambda: stage.end(1).answer(9))
        report = await stage.over()
        assert (report.issued, report.ok, report.dropped, report.end_reason) == (count, count, 0, "completed")
        assert sent(stage.end(1)) == expected(*range(count))


async def test_what_a_backend_did_not_process_is_sent_again_as_it_was() -> None:
    async with staged(varied(plan(concurrency=2, requests=2), numbered(9))) as stage:
        await stage.drive(1, 2)
        first = stage.end(1)
        lost = sent(first)
        await stage.do(first.goaway)
        await stage.do(lambda: stage.end(2).answer(9))
        await stage.do(lambda: stage.end(2).answer(9))
        report = await stage.over()
        assert (report.ok, report.retries) == (2, 1)
        assert lost[0] in sent(stage.end(2))
        assert sorted(sent(stage.end(2))) == expected(0, 1)


async def test_a_retry_sends_what_the_first_attempt_did() -> None:
    policy = RetryPolicy(3, 1_000_000, 1_000_000, 1.0, frozenset({Code.UNAVAILABLE}))
    load = varied(plan(concurrency=1, requests=1), numbered(9), repeating=Repeating(retry=policy))
    async with staged(load) as stage:
        await stage.drive(1)
        await stage.do(lambda: stage.end(1).answer(1, lambda stream: h2.trailers_only(stream, 14)))
        stage.clock.advance(0.1)
        await stage.until(lambda: len(stage.end(1).latest) == 2)
        assert sent(stage.end(1)) == expected(0, 0)
        assert [head.get(b"grpc-previous-rpc-attempts") for head, _ in stage.end(1).latest] == [None, b"1"]
        await stage.do(lambda: stage.end(1).answer(1))
        report = await stage.over()
        assert (report.ok, report.attempts) == (1, 2)


async def test_a_hedge_sends_what_the_first_attempt_did() -> None:
    policy = HedgingPolicy(2, 0, frozenset({Code.UNAVAILABLE}))
    load = varied(plan(concurrency=1, requests=1), numbered(9), repeating=Repeating(hedging=policy))
    async with staged(load) as stage:
        await stage.drive(1, 2)
        await until(lambda: stage.end(1).latest and stage.end(2).latest)
        assert [*sent(stage.end(1)), *sent(stage.end(2))] == expected(0, 0)
        stage.end(1).answer(1)
        report = await stage.over()
        assert (report.ok, report.attempts) == (1, 2)


async def test_calls_that_wait_for_a_backend_keep_what_they_send() -> None:
    async with staged(varied(plan(concurrency=3, requests=3), numbered(9))) as stage:
        await stage.drive(1)
        before = stage.end(1)
        await stage.do(lambda: before.goaway(0))  # nothing was processed, and there is nobody else
        await stage.until(lambda: stage.end(1) is not before and len(stage.end(1).latest) == 3)
        assert sorted(sent(stage.end(1))) == expected(0, 1, 2)
        await stage.do(lambda: stage.end(1).answer(3))
        assert (await stage.over()).ok == 3


async def test_methods_have_their_own_path_deadline_and_figures() -> None:
    base = replace(request(5.0), message=b"")
    bases = [replace(base, path="/pkg.Svc/One"), replace(base, path="/pkg.Svc/Two", timeout_ns=2_000_000_000)]
    load = varied(plan(concurrency=4, requests=4), numbered(9, methods=2), bases=bases)
    async with staged(load) as stage:
        await stage.drive(1)
        heads = [(head[b":path"], head[b"grpc-timeout"]) for head, _ in stage.end(1).latest]
        assert heads == [(b"/pkg.Svc/One", b"5000m"), (b"/pkg.Svc/Two", b"2000m")] * 2
        await stage.do(lambda: stage.end(1).answer(1))
        await stage.do(lambda: stage.end(1).answer(1, lambda stream: h2.trailers_only(stream, 5)))
        await stage.do(lambda: stage.end(1).answer(1))
        stage.clock.advance(2.5)
        report = await stage.until(lambda: stage.report().completed == 4)
        one, two = report.methods
        assert (one.method, one.requests, one.ok, dict(one.codes)) == ("/pkg.Svc/One", 2, 2, {Code.OK: 2})
        codes = {Code.NOT_FOUND: 1, Code.DEADLINE_EXCEEDED: 1}
        assert (two.requests, two.ok, two.errors, dict(two.codes)) == (2, 0, 2, codes)
        assert one.latency.total == 2


async def test_a_stream_sends_the_messages_of_its_content() -> None:
    stream = Stream(client=True, server=False, messages=(b"",), each_once=True)
    base = replace(request(5.0), message=b"", stream=stream)
    found = [Content((b"a", b"b"), ((b"x-number", b"0"),)), Content((b"c",), ((b"x-number", b"1"),))]
    load = varied(plan(concurrency=1, requests=2), iter(found), bases=[base])
    async with staged(load) as stage:
        await stage.drive(1)
        await stage.do(lambda: stage.end(1).answer(1))
        await stage.do(lambda: stage.end(1).answer(1))
        report = await stage.over()
        assert report.ok == 2
        assert sent(stage.end(1)) == [("0", b"a+b"), ("1", b"c")]


async def test_large_messages_take_the_general_way() -> None:
    big = b"x" * 100_000
    contents = iter([Content((big,), ((b"x-number", b"0"),)), Content((b"small",), ((b"x-number", b"1"),))])
    async with staged(varied(plan(concurrency=2, requests=2), contents)) as stage:
        await stage.drive(1)
        end = stage.end(1)
        await stage.do(lambda: end.say(h2.window_update(0, 1 << 20), h2.window_update(1, 1 << 20)))
        await stage.do(lambda: end.answer(2))
        report = await stage.over()
        assert report.ok == 2
        assert sorted(sent(end)) == [("0", big), ("1", b"small")]


async def test_a_run_of_one_request_goes_the_short_way() -> None:
    """Its calls have no content, and nothing stands between the picker and the connection."""
    async with staged(task(plan(concurrency=4, requests=4))) as stage:
        await stage.drive(1)
        (lane,) = stage.run.backends.lanes.values()
        assert lane.peer.target is lane.subchannel
        assert {body for _, body in stage.end(1).latest} == {h2.message(b"x")}
        await stage.do(lambda: stage.end(1).answer(4))
        assert (await stage.over()).ok == 4
