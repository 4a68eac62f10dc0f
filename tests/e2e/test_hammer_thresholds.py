"""--threshold, --abort-on and --ci, as a job in a CI has them: exit status, result, annotations, files."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from junitparser import JUnitXml

from tests.e2e.conftest import Standing
from tests.e2e.runs import Ended, events_of, hammer, running
from tests.scripted import ScriptedServer, answering
from tests.wire import frames as h2

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

RAW = ("test.Echo/Say", "--binary-file", "/dev/null", "-o", "json")
UNAVAILABLE = 14


def failing(stream: int) -> bytes:
    return h2.trailers_only(stream, UNAVAILABLE)


async def at(server: ScriptedServer, *options: str) -> Ended:
    return await hammer("--backends", str(server.endpoint), *RAW, *options)


async def test_a_run_that_holds_its_thresholds_is_0(demo: Standing) -> None:
    exprs = ("p99<60s", "error_rate<1%", "max_delta<2pp", "backend.errors<1", "rps>1", "code.OK>=300", "backends==3")
    options = [option for expr in exprs for option in ("--threshold", expr)]
    done = await hammer("echo", "-n", "300", *options, "-o", "json", etcd=demo.etcd)
    document = done.document
    assert done.status == 0
    assert [(each["expr"], each["ok"]) for each in document["thresholds"]] == [(expr, True) for expr in exprs]
    assert document["thresholds"][-1] == {"expr": "backends==3", "value": 3, "unit": "", "limit": 3, "ok": True}
    assert document["thresholds"][0]["value"] == document["latency_ms"]["p99"]


async def test_a_run_that_does_not_is_1_and_says_which_and_where(demo: Standing) -> None:
    first = demo.backends[0]
    done = await hammer(
        "echo", "-n", "90", "--policy", "round_robin", "--threshold", "errors<1", "--threshold", "backend.ok<30",
        "--threshold", f"backend[{first}].requests<=30", "--threshold", "chi2_p>0.001", "-o", "json", etcd=demo.etcd,
    )  # fmt: skip
    assert done.status == 1
    assert [each["ok"] for each in done.document["thresholds"]] == [True, False, True, False]
    broken = done.document["thresholds"][1]
    assert (broken["value"], broken["backend"] in demo.backends) == (30, True)
    reason = "round_robin does not pick by chance; max_delta is about any policy"
    assert done.document["thresholds"][3] | {"limit": 0} == {
        "expr": "chi2_p>0.001", "value": None, "unit": "", "limit": 0, "ok": False, "reason": reason,
    }  # fmt: skip
    assert done.err.endswith(
        f"error: --threshold backend.ok<30: 30 at {broken['backend']}\n  --threshold chi2_p>0.001: {reason}\n"
    )


@pytest.mark.parametrize(
    ("option", "expr", "said"),
    [
        ("--threshold", "p9x<1ms", "unknown metric 'p9x'\nhint: did you mean p99?"),
        ("--abort-on", "errors>1,soon", "'errors>1,soon': 'soon' is neither after=TIME nor calls=N"),
    ],
)
async def test_what_cannot_be_understood_is_2_before_anything_is_sent(option: str, expr: str, said: str) -> None:
    done = await hammer("--backends", "127.0.0.1:1", *RAW, option, expr)
    assert (done.status, done.out) == (2, "")
    assert said in done.err
    assert option in done.err


async def test_a_condition_ends_a_run_within_a_second_or_two_and_is_1() -> None:
    async with ScriptedServer(answering(failing)) as server:
        done = await at(server, "-z", "60s", "-c", "2", "--abort-on", "errors>=3", "--abort-on", "p99>1s")
    document = done.document
    assert (done.status, document["end_reason"], document["stopped_by"]) == (1, "aborted", "--abort-on errors>=3")
    assert document["duration_s"] < 30
    first, second = document["abort_on"]
    assert (first["ok"], second["ok"], second["value"], second["reason"]) == (False, True, None, "no call ended OK")
    assert 3 <= first["value"] <= document["errors"]
    assert events_of(document, "log") == [(None, f"--abort-on errors>=3: {first['value']:,}")]
    assert done.err.endswith(f"error: --abort-on errors>=3: {first['value']:,}\n")


async def test_a_short_run_in_which_a_condition_was_true_is_1_too() -> None:
    async with ScriptedServer(answering(failing)) as server:
        done = await at(server, "-n", "3", "--abort-on", "errors>=3")
        few = await at(server, "-n", "3", "--abort-on", "error_rate>50%", "--threshold", "ok>0", "--exit-zero")
    assert (done.status, done.document["end_reason"]) == (1, "completed")
    # Three calls are not enough for a rate.
    assert (few.status, few.document["abort_on"][0]["ok"]) == (0, True)
    assert few.err.endswith("warning: --threshold ok>0: 0\n")


async def test_a_signal_keeps_its_status_and_thresholds_are_told(demo: Standing) -> None:
    options = ("-z", "60s", "--ui", "plain", "--interval", "100ms", "-c", "3", "-o", "json")
    async with running("hammer", "echo", *options, "--threshold", "ok<1", etcd=demo.etcd) as run:
        await run.hears("hammer 0")
        run.send(signal.SIGINT)
        done = await run.ended()
    assert done.status == 130
    assert done.document["thresholds"][0]["ok"] is False
    assert "warning: --threshold ok<1: " in done.err


async def test_github_is_told_beside_data_and_a_junit_file_is_written(demo: Standing, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    done = await hammer(
        "-q", "--ci", "--ci", "junit=r.xml", "echo", "-n", "30", "--threshold", "errors<1", "--threshold", "ok<30",
        "-o", "json", etcd=demo.etcd, cwd=tmp_path,
        environ={"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(page)},
    )  # fmt: skip
    assert (done.status, done.document["ok"]) == (1, 30)
    commands = [line for line in done.err.splitlines() if line.startswith("::")]
    assert commands[0] == "::error title=lbctl hammer echo%3A ok<30::30 (grpc.health.v1.Health/Check, smooth_wrr)"
    assert commands[-1].startswith("::notice title=lbctl hammer echo::3 of 4 checks passed; 30 calls in ")
    assert "| **FAIL** | --threshold ok\\<30 | 30 |" in page.read_text(encoding="utf-8")
    (suite,) = JUnitXml.fromfile(str(tmp_path / "r.xml"))
    assert (suite.tests, suite.failures) == (4, 1)


async def test_a_run_that_cannot_begin_leaves_results_that_say_why(tmp_path: Path) -> None:
    done = await hammer("--backends", "127.0.0.1:1", *RAW, "--ci", "junit=r.xml", "--ci", "github", cwd=tmp_path)
    assert done.status == 5
    (suite,) = JUnitXml.fromfile(str(tmp_path / "r.xml"))
    assert (suite.tests, suite.errors) == (1, 1)
    assert "::error title=lbctl hammer test.Echo::the only backend of " in done.err
