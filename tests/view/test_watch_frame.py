"""What the screen of a watch says of backends with several keys, and of those that gRPC clients do not call."""

from __future__ import annotations

from dataclasses import replace

from lbctl.view.theme import PLAIN, UNICODE
from lbctl.view.watch_frame import WatchUi, build_watch, in_rotation
from tests.view.sample_watch import watch_sample


def test_one_that_speaks_another_protocol_is_counted_apart() -> None:
    sample = watch_sample()
    web = replace(sample.rows[-1].instance, protocol="http")
    report = watch_sample(
        rows=(*sample.rows[:-1], replace(sample.rows[-1], instance=web, health=None, share=0.0, state="not_grpc"))
    )
    lines = build_watch(report, WatchUi(), 100, 20, PLAIN, UNICODE)
    assert in_rotation(report) == (2, 4)
    assert "BACKENDS 2/4 ready" in lines[1]
    assert "weight 9, 1 not gRPC, 1 draining" in lines[1]
    assert lines[7].split()[:5] == [UNICODE.aside, "10.0.0.16:50051", "2", "0.0%", "http"]


def test_the_key_of_a_backend_tells_how_many_more_there_are() -> None:
    sample = watch_sample()
    report = watch_sample(rows=(replace(sample.rows[0], keys=1_200), *sample.rows[1:]))
    lines = build_watch(report, WatchUi(), 180, 20, PLAIN, UNICODE)
    assert lines[3].rstrip().endswith("/services/demo.echo.v1.Echo/10.0.0.11:50051 and 1,199 more")
    assert lines[4].rstrip().endswith("10.0.0.12:50051")
