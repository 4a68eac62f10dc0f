"""What is told of the messages of streams that go on."""

from __future__ import annotations

from dataclasses import replace

from lbctl.balance.policies.table import POLICIES
from lbctl.load.plan import Plan, Task
from lbctl.wire.request import Stream
from tests.load.rig import request
from tests.load.stage import staged
from tests.wire import frames as h2

_STREAM = Stream(client=False, server=True, messages=(b"x",))


def streaming_task() -> Task:
    wanted = replace(request(), stream=_STREAM)
    return Task("echo", "pkg.Svc/Method", POLICIES["round_robin"], 7, Plan(1, 1, None, 5.0), lambda _: wanted)


async def test_messages_of_a_stream_are_counted_as_they_arrive() -> None:
    async with staged(streaming_task()) as stage:
        await stage.drive(1)
        end = stage.end(1)
        await stage.do(lambda: end.say(h2.okh(1), h2.msg(1)))
        report = await stage.do(lambda: end.say(h2.msg(1), h2.msg(1)))
        assert report.streams is not None
        assert (report.completed, report.streams.received, report.streams.arrived) == (0, 0, 2)
        await stage.do(lambda: end.say(h2.trailers(1)))
        report = await stage.over()
        assert report.streams is not None
        assert (report.ok, report.streams.received, report.streams.arrived) == (1, 3, 3)
