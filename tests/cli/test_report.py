"""``lbctl report`` as it is typed: what it reads, what it prints, and when it is content."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from jsonschema import Draft202012Validator

from lbctl.stats.histogram import Histogram
from lbctl.stats.regression import parse_limits
from lbctl.stats.report import Report
from lbctl.stats.samples import Sample, Times
from lbctl.view import compare_output
from lbctl.view.compare_output import settled
from lbctl.view.html.page import run_page
from lbctl.view.output import as_json, as_json_line, as_yaml
from lbctl.view.outputs import OUTPUTS, Manner, written
from lbctl.view.run_document import run_document
from lbctl.view.sample_lines import all_lines
from lbctl.view.summary import summary
from lbctl.view.theme import PLAIN, UNICODE, Look
from tests.cli.conftest import Lbctl
from tests.view.sample import STARTED, sample
from tests.view.sample_contest import contest_sample

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "reference" / "comparison.schema.json").read_text("utf-8"))
SAMPLE = Sample(12.0, 12.0, 6292, 6280, 12, 0, 0, 0, 0, Times(1.8, 4.0, 20.0, 100.0))
RUN = replace(sample(3, end_reason="completed", in_flight=0), command="lbctl hammer echo -n 6292", samples=(SAMPLE,))


def slowed(factor: float, **changes: object) -> Report:
    """The run with calls that took longer."""
    rng, times = Random(factor), Histogram()
    for _ in range(RUN.ok):
        times.record(int(2000 * factor * rng.lognormvariate(0, 0.3)))
    return replace(RUN, latency=times, **changes)  # type: ignore[arg-type]  # whatever the caller names


def saved(name: str, report: Report) -> str:
    Path(name).write_text(as_json(run_document(report)) + "\n", encoding="utf-8")
    return name


def test_one_file_is_the_summary_again(lbctl: Lbctl) -> None:
    said = lbctl("report", saved("run.json", RUN), "-q")
    assert (said.status, said.err) == (0, "")
    assert said.out == summary(RUN)


@pytest.mark.parametrize("output", OUTPUTS)
def test_a_file_is_written_in_every_format_of_a_run(lbctl: Lbctl, output: str) -> None:
    said = lbctl("report", saved("run.json", RUN), "-o", output)
    assert said.status == 0
    assert said.out == written(RUN, output, Manner()) + "\n"


@pytest.mark.parametrize("form", ["document", "line", "lines", "list", "page", "yaml"])
def test_every_form_that_a_run_is_written_in_is_read(lbctl: Lbctl, form: str) -> None:
    document = run_document(RUN)
    content = {
        "document": "\ufeff" + as_json(document),
        "line": as_json_line(document),
        "lines": "\n".join(all_lines(RUN)) + "\n",
        "list": f"[{as_json_line(document)}]",
        "page": run_page(RUN),
        "yaml": as_yaml(document),
    }[form]
    Path("run").write_text(content, encoding="utf-8")
    assert lbctl("report", "run", "-q").out == summary(RUN)


def test_a_run_is_read_from_standard_input(lbctl: Lbctl, monkeypatch: pytest.MonkeyPatch) -> None:
    given = io.TextIOWrapper(io.BytesIO(as_json(run_document(RUN)).encode()), encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", given)
    assert lbctl("report", "-", "-q").out == summary(RUN)
    assert lbctl("report", "-", "--baseline", "-").status == 2


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it is empty"),
        (b"\xff\xfe", "it is not text in UTF-8"),
        (b"hello", "it is not JSON: expecting value, line 1"),
        (b'{"schema": "lbctl.run/v9"}', "schema lbctl.run/v9 is not known, only lbctl.run/v1: a newer lbctl wrote it"),
        (b'{"schema": "x"}', "it is no run of lbctl hammer, its schema is 'x' and not lbctl.run/v1"),
        (b'{"schema": "lbctl.run/v1"}', "load is missing"),
        (b'{"schema": "lbctl.comparison/v9"}', "schema lbctl.comparison/v9 is not known: a newer lbctl wrote it"),
        (
            b'{"count": 1, "latencyDistribution": [], "statusCodeDistribution": {"OK": 1}, "options": {}}',
            "it is what ghz writes, or hammer -o ghz-json: that does not tell what each backend got",
        ),
        (b"[]", "it is a list without a run in it"),
        (b"<html></html>", "it is a page without a run in it, or one that lbctl did not make"),
        (b'{"schema":"lbctl.sample/v1"}\n' * 2, "its last line is no run: the file ends before its run did"),
        (b'{"schema":"lbctl.sample/v1"}\n{"schema":"lbc', "it is not JSON: unterminated string starting at, line 1"),
        (b"schema: lbctl.run/v1\n  x: [", "it is not YAML, see line 2"),
        (b"[" * 100_000, "it is not JSON that can be read: nested too deeply, or a number too long"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_run_is_named_with_the_reason(lbctl: Lbctl, content: bytes, reason: str) -> None:
    Path("x.json").write_bytes(content)
    said = lbctl("report", "x.json")
    assert (said.status, said.out) == (2, "")
    assert said.err == f"error: x.json: {reason}\nhint: hammer --save FILE, or -o json, writes what report reads\n"


def test_a_file_that_is_not_there_is_not_found_and_a_folder_is_no_file(lbctl: Lbctl) -> None:
    said = lbctl("report", "x.json")
    assert (said.status, said.err) == (4, "error: x.json: no such file\nhint: hammer --save FILE writes one\n")
    said = lbctl("report", ".")
    assert (said.status, said.err) == (2, "error: .: is a directory\nhint: see: lbctl report --help\n")


def test_what_an_older_file_lacks_is_noted(lbctl: Lbctl) -> None:
    document = run_document(RUN)
    del document["histograms"], document["samples"]
    Path("old.json").write_text(as_json(document), encoding="utf-8")
    said = lbctl("report", "old.json")
    assert said.status == 0
    assert said.err == (
        "note: old.json has no histograms and samples over time, an older lbctl saved it: "
        "what is made of them is left out\n"
    )
    assert lbctl("report", "old.json", "-q").err == ""
    said = lbctl("report", *["old.json"] * 5)
    assert said.err.startswith("note: old.json, old.json, old.json and 2 more have no histograms and ")


def test_several_files_are_compared_as_text_and_as_a_document(lbctl: Lbctl) -> None:
    files = saved("a.json", slowed(1.0)), saved("b.json", slowed(1.3))
    said = lbctl("report", *files)
    assert said.status == 0
    assert (
        said.out.startswith("Comparison  2 runs of demo.echo.v1.Echo/Say of /services/echo\n") or "2 runs" in said.out
    )
    assert "b against a\n" in said.out
    assert max(map(len, said.out.splitlines())) <= 80
    found = json.loads(lbctl("report", *files, "-o", "json").out)
    Draft202012Validator(SCHEMA).validate(found)
    assert found["base"] == "a"
    p50 = found["differences"][0]["metrics"]["p50"]
    assert p50["verdict"] == "worse"
    assert p50["low"] < 0.3 < p50["high"]
    assert found["groups"][0]["metrics"]["p50"]["value"] == pytest.approx(2.0, rel=0.05)


def test_no_line_of_a_comparison_is_wider_than_80_cells_whatever_runs_are_called(lbctl: Lbctl) -> None:
    many = replace(slowed(1.0), completed=12_345_678, ok=12_345_678, policy_options={"window": "a-long-value" * 4})
    files = saved("a.json", many), saved("b.json", replace(many, policy_options={"window": "another-value" * 4}))
    said = lbctl("report", *files)
    assert max(map(len, said.out.splitlines())) <= 80
    assert "smooth_" in said.out or "weighted" in said.out


def test_the_rows_of_a_comparison_are_csv(lbctl: Lbctl) -> None:
    files = saved("a.json", slowed(1.0)), saved("b.json", slowed(1.3))
    head, *rows = lbctl("report", *files, "-o", "csv").out.splitlines()
    assert head.startswith("group,runs,metric,unit,value,low,high,change,")
    assert len(rows) == 2 * 11
    assert all(len(row.split(",")) == len(head.split(",")) for row in rows)


def test_a_page_of_a_comparison_is_compared_again(lbctl: Lbctl) -> None:
    files = saved("a.json", slowed(1.0)), saved("b.json", slowed(1.3))
    assert lbctl("report", *files, "-o", "html", "--out", "both.html") == (0, "", "")
    assert lbctl("report", "both.html").out == lbctl("report", *files).out


def test_formats_of_one_run_are_refused_for_several(lbctl: Lbctl) -> None:
    files = saved("a.json", RUN), saved("b.json", RUN)
    said = lbctl("report", *files, "-o", "hdr")
    assert (said.status, said.out) == (2, "")
    assert said.err == "error: -o: hdr is of one run, and there are 2\nhint: use one of: text, json, yaml, csv, html\n"


def test_a_regression_is_status_1_and_a_sentence(lbctl: Lbctl) -> None:
    base, slow = saved("base.json", slowed(1.0)), saved("slow.json", slowed(1.3))
    said = lbctl("report", slow, "--baseline", base, "--fail-on-regression")
    assert said.status == 1
    assert "slow against base\n" in said.out
    assert said.err.startswith("error: p99 of slow is ")
    assert said.err.endswith(" of base; 10% is allowed\n")
    assert lbctl("report", slow, "--baseline", base, "--fail-on-regression", "p99<60%").status == 0
    assert lbctl("report", base, "--baseline", slow, "--fail-on-regression").status == 0
    document = json.loads(lbctl("report", slow, "--baseline", base, "-o", "json", "--fail-on-regression=p50").out)
    Draft202012Validator(SCHEMA).validate(document)
    assert [each["limit"] for each in document["regressions"]] == ["p50"]


def test_the_option_alone_takes_no_file_for_its_limit(lbctl: Lbctl) -> None:
    base, slow = saved("base.json", slowed(1.0)), saved("slow.json", slowed(1.3))
    assert lbctl("report", "--fail-on-regression", base, slow).status == 1


def test_what_cannot_be_judged_is_warned_of_and_is_no_regression(lbctl: Lbctl) -> None:
    few = replace(RUN, latency=Histogram())
    said = lbctl("report", saved("a.json", slowed(1.0)), saved("b.json", few), "--fail-on-regression")
    assert said.status == 0
    assert "warning: p99 of b cannot be judged: not judged\n" in said.err


def test_usage_mistakes_are_told(lbctl: Lbctl) -> None:
    run = saved("run.json", RUN)
    said = lbctl("report", run, "--fail-on-regression")
    assert (said.status, said.err.splitlines()[0]) == (2, "error: --fail-on-regression needs a run to compare with")
    said = lbctl("report", run, "--fail-on-regression", "p98<1%")
    assert said.status == 2
    assert "no metric p98\nhint: did you mean p99? see: lbctl report --help\n" in said.err
    said = lbctl("report", run, "--out", "no/such/folder")
    message = "error: --out: cannot write no/such/folder: no such file or directory\n"
    assert (said.status, said.err) == (2, f"{message}hint: see: lbctl report --help\n")
    assert lbctl("report").status == 2


@pytest.mark.parametrize(
    "command",
    [
        ("report", "run.json"),
        ("hammer", "--backends", "127.0.0.1:1", "pkg.Service/Method", "--binary-file", os.devnull),
    ],
    ids=lambda command: str(command[0]),
)
def test_a_page_is_not_written_to_a_terminal(command: tuple[str, ...]) -> None:
    saved("run.json", RUN)
    master, slave = pty.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "lbctl", *command, "-o", "html"],
            stdout=slave,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    finally:
        os.close(slave)
        os.close(master)
    assert done.returncode == 2
    assert done.stderr.decode() == (
        "error: -o html is a page for a browser, and standard output is a terminal\nhint: add: > run.html\n"
    )


_TRIALS = tuple(replace(each, report=replace(each.report, samples=(SAMPLE,))) for each in contest_sample(12).trials)
CONTEST = settled(replace(contest_sample(12), command="lbctl compare a b", started_at=STARTED, trials=_TRIALS))
CONTEST_FORMATS = ("text", "json", "yaml", "csv", "html")


@pytest.mark.parametrize("output", CONTEST_FORMATS)
def test_a_saved_comparison_is_shown_as_compare_showed_it(lbctl: Lbctl, output: str) -> None:
    shown = compare_output.written(CONTEST, (), output, Look(PLAIN, UNICODE)) + "\n"
    Path("compared.json").write_text(compare_output.saved(CONTEST), encoding="utf-8")
    assert lbctl("report", "compared.json", "-o", output) == (0, shown, "")
    if output == "html":
        Path("compared.html").write_text(shown, encoding="utf-8")
        again = lbctl("report", "compared.html")
        assert again.out == compare_output.written(CONTEST, (), "text", Look(PLAIN, UNICODE)) + "\n"


def test_limits_of_a_saved_comparison_are_shown_and_only_those_asked_for_are_judged(lbctl: Lbctl) -> None:
    Path("compared.json").write_text(compare_output.saved(CONTEST, parse_limits("p99>10%,rps")), encoding="utf-8")
    said = lbctl("report", "compared.json", "-o", "json")
    assert (said.status, json.loads(said.out)["limits"]) == (0, ["p99>10%", "rps"])
    assert len(json.loads(said.out)["regressions"]) == 1
    said = lbctl("report", "compared.json", "--fail-on-regression", "p99>10%")
    assert said.status == 1
    assert said.err.startswith("error: p99 of consistent_hash is 8.4ms, +29.9% ")
    said = lbctl("report", "compared.json", "--fail-on-regression", "p99>10%", "--exit-zero")
    assert said.status == 0
    assert said.err.startswith("warning: p99 of consistent_hash is 8.4ms, +29.9% ")


def test_runs_of_a_saved_comparison_are_compared_with_others(lbctl: Lbctl) -> None:
    cut = replace(CONTEST.trials[0], report=replace(CONTEST.trials[0].report, end_reason="interrupted"))
    contest = replace(CONTEST, trials=(cut, *CONTEST.trials[1:]))
    Path("compared.json").write_text(compare_output.saved(contest), encoding="utf-8")
    found = json.loads(lbctl("report", "compared.json", saved("run.json", RUN), "-o", "json").out)
    Draft202012Validator(SCHEMA).validate(found)
    assert [(each["policy"], len(each["runs"])) for each in found["groups"]] == [
        ("p2c_ewma", 3), ("random", 3), ("consistent_hash", 3), ("smooth_wrr", 2), ("smooth_wrr", 1)
    ]  # fmt: skip
    said = lbctl("report", "run.json", "--baseline", "compared.json")
    assert (said.status, said.err.splitlines()[0]) == (
        2,
        "error: --baseline: these are runs of several policies, consistent_hash, p2c_ewma, random, smooth_wrr, and no "
        "repetitions",
    )


def test_a_comparison_without_its_runs_is_refused(lbctl: Lbctl) -> None:
    Path("x.json").write_text(compare_output.written(CONTEST, (), "json", Look(PLAIN, UNICODE)), encoding="utf-8")
    said = lbctl("report", "x.json")
    assert said.status == 2
    assert said.err.startswith(
        "error: x.json: it is a comparison without its runs: compare --save FILE, and -o html, keep them\n"
    )
    Path("y.json").write_text(compare_output.saved(CONTEST), encoding="utf-8")
    assert "error: -o: hdr is of one run, and there are 12" in lbctl("report", "y.json", "-o", "hdr").err
