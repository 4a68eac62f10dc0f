"""--find-max as a user types it: result, table, exit status, and what a Ctrl-C leaves."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.e2e.conftest import Standing
from tests.e2e.runs import hammer, lbctl, running

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

SHORT = ("--probe-time", "200ms", "--warmup", "1")


async def test_the_highest_rate_is_found_and_saved_with_its_curve(demo: Standing, tmp_path: Path) -> None:
    """How many calls a probe has depends on nothing but its rate."""
    options = ("--find-max", "requests<45", "--find-max", "error_rate<99%", "-r", "50", "--find-precision", "20%")
    done = await hammer("echo", *options, *SHORT, "-o", "json", "--save", "s.json", etcd=demo.etcd, cwd=tmp_path)
    document = done.document
    search = document["search"]
    assert done.status == 0
    assert (search["best_rps"], search["bracket"]) == (200, [200, 237.8])
    tried = {probe["rps"]: probe["requests"] for probe in search["probes"]}  # some of them more than once
    assert tried == {50: 10, 100: 20, 200: 40, 400: 80, 282.8: 57, 237.8: 48}
    assert (document["requests"], document["load"]["rps"], document["warmup"]["requests"]) == (40, 200, 1)
    assert "probe 3: 200/s holds" in done.err
    shown = await lbctl("report", "s.json", cwd=tmp_path)
    assert "Rate search  requests<45 and error_rate<99%\n" in shown.out
    assert "everything below is of the run at 200/s" in shown.out


async def test_where_even_the_lowest_rate_fails_the_status_is_1(demo: Standing) -> None:
    done = await hammer("echo", "--find-max", "requests<1", "-r", "20", *SHORT, "-o", "json", etcd=demo.etcd)
    assert (done.status, done.document["search"]["ended"], done.document["search"]["best_rps"]) == (1, "failed", None)
    assert "error: --find-max requests<1 and error_rate<1%: even 20/s does not hold: requests 4" in done.err


async def test_a_search_that_is_interrupted_tells_what_it_knows(demo: Standing) -> None:
    options = ("--find-max", "requests<1000000", "-r", "5", *SHORT, "-o", "json", "--ui", "plain")
    async with running("hammer", "echo", *options, etcd=demo.etcd) as run:
        await run.hears("probe 2: 10/s holds")
        run.send(signal.SIGINT)
        done = await run.ended()
    search = done.document["search"]
    assert (done.status, search["ended"]) == (130, "interrupted")
    assert search["best_rps"] >= 10


async def test_what_a_search_decides_itself_is_refused(demo: Standing) -> None:
    done = await hammer("echo", "--find-max", "p99<1s", "-n", "5", etcd=demo.etcd)
    assert (done.status, done.out) == (2, "")
    assert "-n: --find-max decides itself which calls to send" in done.err
