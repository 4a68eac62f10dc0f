"""What programs of others make of a run: each output is read by a reader that is not ours."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pytest
import yaml

from lbctl.stats.histogram import Histogram
from lbctl.view.outputs import OUTPUTS, Manner
from tests.view.sample import sample
from tests.view.sample_outputs import REPORTS, run, text
from tests.view.test_document import row, validate


@pytest.mark.parametrize("output", OUTPUTS)
def test_every_output_can_be_made_of_every_run_and_ends_without_an_empty_line(output: str) -> None:
    for report in REPORTS:
        found = text(output, report)
        assert found
        assert not found.endswith("\n")


def test_json_and_yaml_say_the_same_and_spell_long_parts_in_few_lines() -> None:
    document = validate(json.loads(text("json")), "run")
    assert yaml.safe_load(text("yaml")) == document
    lines = text("json").split("\n")
    assert sum(line.startswith('    {"t_s"') for line in lines) == 2
    assert sum(line.startswith('    "backends": {"/services/echo/') for line in lines) == 1
    assert document["histograms"]["latency"]["count"] == 9
    assert [each["ok"] for each in document["samples"]] == [3, 6]


# csv


def test_csv_has_a_row_for_each_backend() -> None:
    first, second = csv.DictReader(io.StringIO(text("csv")))
    assert (first["address"], first["weight"], first["picks"], first["ok"], first["errors"]) == (
        "127.0.0.1:50061",
        "5",
        "4",
        "4",
        "0",
    )
    assert (first["share"], first["expected_share"], first["rps"]) == ("0.4", "0.5", "2.0")
    assert (first["min_ms"], first["p50_ms"], first["max_ms"], first["left_s"]) == ("1.0", "2.0035", "10.0", "")
    assert (second["errors"], second["p99_ms"]) == ("1", "0.5")


def test_csv_of_samples_has_a_row_for_each_and_both_leave_the_header_out_on_request() -> None:
    rows = list(csv.DictReader(io.StringIO(text("csv-samples"))))
    assert [(each["t_s"], each["requests"], each["ok"], each["in_flight"]) for each in rows] == [
        ("1.0", "5", "3", "1"),
        ("2.0", "5", "6", "0"),
    ]
    for output in ("csv", "csv-samples"):
        bare = text(output, manner=Manner(headers=False))
        assert bare == text(output).split("\n", 1)[1]


def test_csv_of_a_backend_that_answered_nothing_has_empty_times_not_zeros() -> None:
    silent = replace(run(), backends=(row(50061, 1, 2, 2.0, Histogram(), errors=2),))
    (only,) = csv.DictReader(io.StringIO(text("csv", silent)))
    assert (only["ok"], only["p50_ms"], only["max_ms"]) == ("0", "", "")


# jsonl


def test_jsonl_of_a_run_that_is_over_has_its_samples_and_events_in_order_and_the_run_last() -> None:
    report = replace(sample(3, end_reason="completed", in_flight=0), samples=run().samples)
    lines = [json.loads(line) for line in text("jsonl", report).split("\n")]
    assert [line["schema"] for line in lines[-2:]] == ["lbctl.event/v1", "lbctl.run/v1"]
    assert [line["t_s"] for line in lines[:-1]] == sorted(line["t_s"] for line in lines[:-1])
    for line in lines:
        validate(line, line["schema"].removeprefix("lbctl.").removesuffix("/v1"))
    assert sum(line["schema"] == "lbctl.sample/v1" for line in lines) == 2
    assert sum(line["schema"] == "lbctl.event/v1" for line in lines) == len(report.events)
