"""--max-errors, --name and --tag, on a real run: exit status and document."""

from __future__ import annotations

import pytest

from tests.e2e.runs import hammer
from tests.scripted import ScriptedServer, answering
from tests.wire import frames as h2

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

RAW = ("test.Echo/Say", "--binary-file", "/dev/null", "-o", "json")


async def test_too_many_errors_end_a_run_with_5_and_its_result() -> None:
    async with ScriptedServer(answering(lambda stream: h2.trailers_only(stream, 14))) as server:
        done = await hammer("--backends", str(server.endpoint), *RAW, "-z", "60s", "-c", "4", "--max-errors", "200",
                            "--name", "nightly", "--tag", "build=7", "--tag", "env=ci")  # fmt: skip
    document = done.document
    assert done.status == 5
    assert (document["end_reason"], document["stopped_by"]) == ("max_errors", "--max-errors 200")
    assert document["errors"] >= 200
    assert document["duration_s"] < 50
    assert (document["name"], document["tags"]) == ("nightly", {"build": "7", "env": "ci"})
    assert "error: --max-errors 200: " in done.err
    assert "most of them UNAVAILABLE" in done.err


async def test_a_run_that_was_over_before_anybody_looked_fails_all_the_same() -> None:
    async with ScriptedServer(answering(lambda stream: h2.trailers_only(stream, 14))) as server:
        done = await hammer("--backends", str(server.endpoint), *RAW, "-n", "3", "-c", "1", "--max-errors", "3")
    assert (done.status, done.document["errors"]) == (5, 3)


async def test_errors_that_were_answered_count_if_asked_and_have_times_of_their_own() -> None:
    async with ScriptedServer(answering(lambda stream: h2.trailers_only(stream, 14))) as server:
        usual = await hammer("--backends", str(server.endpoint), *RAW, "-n", "20", "-c", "2")
        counted = await hammer("--backends", str(server.endpoint), *RAW, "-n", "20", "-c", "2", "--count-errors")
    assert usual.document["latency_ms"] is None
    found = usual.document["error_latency_ms"]["UNAVAILABLE"]
    assert (found["count"], found["at_least"], found["max"] > 0) == (20, False, True)
    assert usual.document["backends"][0]["error_latency_ms"].keys() == {"UNAVAILABLE"}
    assert counted.document["load"]["count_errors"]
    times = counted.document["error_latency_ms"]["UNAVAILABLE"]
    assert counted.document["latency_ms"] == {name: times[name] for name in counted.document["latency_ms"]}
    assert counted.document["backends"][0]["latency_ms"] == counted.document["latency_ms"]


async def test_a_time_out_is_a_lower_bound_and_counts_as_no_answer() -> None:
    async with ScriptedServer(answering(lambda stream: b"")) as server:
        done = await hammer("--backends", str(server.endpoint), *RAW, "-n", "2", "-t", "50ms", "--count-errors")
    found = done.document["error_latency_ms"]["DEADLINE_EXCEEDED"]
    assert (found["count"], found["at_least"], found["min"] >= 50) == (2, True, True)
    assert done.document["latency_ms"] is None


async def test_a_correction_is_of_an_open_loop_only() -> None:
    done = await hammer("--backends", "127.0.0.1:1", *RAW, "--no-latency-correction")
    assert done.status == 2
    assert "--no-latency-correction is for an open loop" in done.err


async def test_a_share_of_errors_needs_a_hundred_calls() -> None:
    async with ScriptedServer(answering(lambda stream: h2.trailers_only(stream, 14))) as server:
        done = await hammer("--backends", str(server.endpoint), *RAW, "-n", "99", "-c", "1", "--max-errors", "1%")
    assert (done.status, done.document["end_reason"]) == (0, "completed")
