"""When calls come, as it is typed: every form, and what is no form or no run."""

from __future__ import annotations

import math
import re
from array import array
from pathlib import Path

import pytest

from lbctl.cli.arrival_files import arrivals, read_arrivals
from lbctl.cli.hammer_options import LoadFlags
from lbctl.cli.hammer_request import _plan
from lbctl.cli.pacing_options import (
    Arrival,
    PacingFlags,
    Ramp,
    Replay,
    parse_arrival,
    parse_ramp,
    parse_replay,
    parse_stages,
    parse_steps,
    parse_warmup,
)
from lbctl.cli.request_options import RequestFlags
from lbctl.errors import UsageError
from lbctl.load.pacing.curve import Stage
from lbctl.load.pacing.schedule import Warmup
from lbctl.load.plan import Plan

S = 10**9


def planned(load: LoadFlags | None = None, **pacing: object) -> Plan:
    return _plan(load or LoadFlags(), PacingFlags(**pacing), RequestFlags())  # type: ignore[arg-type]  # parsed values


def test_every_form_is_read() -> None:
    assert parse_arrival("constant") == Arrival()
    assert parse_arrival("poisson") == Arrival("poisson")
    assert parse_arrival("bursts:1k") == Arrival("bursts", 1000)
    assert parse_ramp("100:2k") == Ramp(100, 2000, None)
    assert parse_ramp("60/m:5:1m30s") == Ramp(1, 5, 90)
    assert parse_steps("100:300:100:10s") == tuple(Stage(10, rate, rate) for rate in (100, 200, 300))
    assert parse_stages("30s@1k, 10s@1k:5k,1m@0") == (Stage(30, 1000, 1000), Stage(10, 1000, 5000), Stage(60, 0, 0))
    assert parse_replay("a,b.txt") == Replay(Path("a,b.txt"), 1)
    assert parse_replay("a.txt,speed=0.5") == Replay(Path("a.txt"), 0.5)
    assert parse_warmup("500") == Warmup(requests=500)
    assert parse_warmup("1m30s") == Warmup(duration_s=90)


@pytest.mark.parametrize(
    ("parse", "text", "said"),
    [
        (parse_arrival, "burst", "'burst' is not constant, poisson or bursts:N (for example bursts:100)"),
        (parse_arrival, "bursts:0", "'0': must be 1 or more"),
        (parse_arrival, "poisson:3", "'poisson:3' is not constant, poisson or bursts:N (for example bursts:100)"),
        (parse_ramp, "100", "'100' is not FROM:TO or FROM:TO:TIME (for example 100:2k:30s)"),
        (parse_ramp, "0:0:5s", "'0:0:5s' never calls anybody"),
        (parse_ramp, "1:2:0s", "'0s': must be more than 0"),
        (parse_steps, "1:2:3", "'1:2:3' is not FROM:TO:STEP:TIME (for example 100:500:100:10s)"),
        (parse_steps, "1:2:0:1s", "'1:2:0:1s': a step of 0 leads nowhere"),
        (parse_steps, "1:100k:1:1s", "'1:100k:1:1s' has more than 10,000 steps"),
        (parse_stages, "30s", "'30s' is not TIME@RATE or TIME@FROM:TO (for example 30s@1k,10s@1k:5k)"),
        (parse_stages, "30s@1k,", "'' is not TIME@RATE or TIME@FROM:TO (for example 30s@1k,10s@1k:5k)"),
        (parse_stages, "30s@0", "'30s@0' never calls anybody"),
        (parse_stages, "30@1x", "'1x' is not a rate (for example 500, 10k, 500/s, 30/m)"),
        (parse_replay, "a,speed=0", "speed '0' is not a number from 0.001 to 1000"),
        (parse_replay, "a,speed=fast", "speed 'fast' is not a number from 0.001 to 1000"),
        (parse_warmup, "-3", "'-3' is neither a number of calls nor a time (for example 500 or 10s)"),
    ],
)
def test_what_is_no_form_is_told(parse: object, text: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)) as caught:
        parse(text)  # type: ignore[operator]  # a parser
    assert str(caught.value) == said


def test_a_ramp_without_a_time_takes_that_of_the_run() -> None:
    plan = planned(LoadFlags(duration=20.0), ramp=Ramp(10, 30, None))
    assert plan.schedule is not None
    assert plan.schedule.stages == (Stage(20, 10, 30),)
    assert (plan.requests, plan.duration_s) == (None, 20)


def test_a_ramp_that_is_shorter_goes_on_at_its_last_rate() -> None:
    plan = planned(LoadFlags(duration=20.0), ramp=Ramp(10, 30, 5.0))
    assert plan.schedule is not None
    assert plan.schedule.stages == (Stage(5, 10, 30), Stage(math.inf, 30, 30))


def test_a_ramp_down_to_nothing_ends_there() -> None:
    plan = planned(ramp=Ramp(10, 0, 4.0))
    assert (plan.requests, plan.duration_s) == (None, 4)


def test_stages_end_the_run_unless_something_ends_it_before() -> None:
    stages = (Stage(30, 5, 5), Stage(10, 9, 9))
    assert [
        (plan.requests, plan.duration_s)
        for plan in (
            planned(stages=stages),
            planned(LoadFlags(requests=50), stages=stages),
            planned(LoadFlags(duration=7.0), stages=stages),
            planned(LoadFlags(duration=70.0), stages=stages),
            planned(stages=stages, max_duration=6.0),
        )
    ] == [(None, 40), (50, 40), (None, 7), (None, 40), (None, 6)]


def test_the_longest_duration_leaves_the_number_of_calls_as_it_is() -> None:
    assert [
        (plan.requests, plan.duration_s)
        for plan in (
            planned(max_duration=6.0),
            planned(LoadFlags(requests=5, duration=9.0), max_duration=6.0),
            planned(LoadFlags(duration=4.0), max_duration=6.0),
        )
    ] == [(1000, 6), (5, 6), (None, 4)]


def test_a_recording_ends_with_its_last_call(tmp_path: Path) -> None:
    path = tmp_path / "arrivals.csv"
    path.write_text("time,method\n# comment\n\n12.5,Say\n12.75\tSay\n15 x\n")
    assert read_arrivals(path) == array("q", [0, S // 4, 5 * S // 2])
    plan = planned(replay=Replay(path, 2.0))
    assert (plan.requests, plan.duration_s, plan.schedule.seconds) == (3, None, 1.25)  # type: ignore[union-attr]
    assert planned(LoadFlags(requests=2), replay=Replay(path, 2.0)).requests == 2


def test_dates_are_times_and_order_is_made() -> None:
    lines = ["2026-01-31T12:00:01Z GET", "2026-01-31T12:00:00.250Z GET", "2026-01-31T13:00:02+01:00 GET"]
    assert arrivals(lines) == array("q", [0, 3 * S // 4, 7 * S // 4])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1.0\nsoon\n", "line 2: 'soon' does not begin with a time"),
        ("1.0\nnan\n", "line 2: 'nan' does not begin with a time"),
        ("0\n1e9\n", "last line: 1e+09s after the first is more than a year"),
    ],
)
def test_a_line_that_is_no_time_is_named(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "arrivals"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        read_arrivals(path)
    assert str(caught.value) == f"--replay: {path}, {said}"


def test_files_that_are_none_are_refused(tmp_path: Path) -> None:
    empty, binary = tmp_path / "empty", tmp_path / "binary"
    empty.write_text("time\n# nothing\n")
    binary.write_bytes(b"\xff\xfe\n")
    for path, said in (
        (tmp_path / "missing", f"cannot read {tmp_path / 'missing'}: no such file or directory"),
        (empty, f"{empty} has no times"),
        (binary, f"{binary} is not text"),
    ):
        with pytest.raises(UsageError) as caught:
            read_arrivals(path)
        assert str(caught.value) == f"--replay: {said}"


@pytest.mark.parametrize(
    ("load", "pacing", "said"),
    [
        (LoadFlags(rps=5.0), {"ramp": Ramp(1, 2, 3.0)}, "-r and --ramp both say when calls come"),
        (LoadFlags(), {"stages": (Stage(1, 1, 1),), "steps": (Stage(1, 1, 1),)}, "--steps and --stages both say"),
        (LoadFlags(), {"ramp": Ramp(1, 2, None)}, "--ramp: in which time?"),
        (LoadFlags(), {"arrival": Arrival("poisson")}, "--arrival is for an open loop"),
        (LoadFlags(), {"arrival": Arrival("poisson"), "replay": Replay(Path("x"), 1.0)}, "--arrival: the file of"),
        (LoadFlags(max_outstanding=3), {}, "--max-outstanding is for an open loop"),
    ],
)
def test_options_that_contradict_each_other_are_refused(load: LoadFlags, pacing: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said.replace("?", r"\?")):
        planned(load, **pacing)
