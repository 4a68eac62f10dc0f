"""Pages load nothing, run nothing, escape everything, and hold the runs that they show."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from pathlib import PurePath

import pytest

from lbctl.commands.report import content_of
from lbctl.model import Code, Event, Origin
from lbctl.stats.comparison import Run, compare
from lbctl.stats.grouping import grouped
from lbctl.stats.histogram import Histogram
from lbctl.stats.outcome import Outcome
from lbctl.stats.regression import parse_limits
from lbctl.stats.report import ErrorGroup, Report
from lbctl.stats.samples import Sample, Times
from lbctl.stats.searched import Probe, RateSearch
from lbctl.view.html.axes import linear, percentiles, seconds, times
from lbctl.view.html.charts import bins, by_percentile
from lbctl.view.html.comparison import comparison_page
from lbctl.view.html.markup import Html, data, el, text
from lbctl.view.html.page import run_page
from lbctl.view.run_document import run_document
from lbctl.view.summary import summary
from tests.view.goldens import REPORTS
from tests.view.sample import sample

NASTY = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(2)><!--\u202eevil\u2028\x1b[2J\x00&lt;]]>"
SAMPLES = tuple(
    Sample(n + 1.0, 1.0, 100, 99, 1, 0, 0, 0, 5, None if n == 2 else Times(1.0 + n, 2.0 + n, 5.0 + n, 9.0 + n))
    for n in range(5)
)
VOID = {"meta", "link", "br"}
TAGS = {
    "html", "head", "body", "main", "header", "section", "footer", "div", "span", "p", "h1", "h2", "ul", "li", "dl",
    "dt", "dd", "strong", "small", "code", "pre", "table", "thead", "tbody", "tr", "th", "td", "i", "b", "u", "details",
    "summary", "style", "script", "title", "meta", "link", "svg", "g", "line", "path", "rect",
}  # fmt: skip


class Page(HTMLParser):
    """Every element of a page, whose ends must match their beginnings."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, words: str) -> None:
        if self._open[-1:] not in (["script"], ["style"]):
            self.words += words

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def hostile() -> Report:
    """A run every text of which wants to be more than text."""
    report = sample(3, end_reason="interrupted")
    rows = tuple(
        replace(row, key=NASTY + row.key, address=f"{NASTY}{n}", reason=NASTY) for n, row in enumerate(report.backends)
    )
    return replace(
        report,
        service=NASTY,
        method=NASTY,
        policy=NASTY,
        policy_options={NASTY: NASTY},
        hash_key=NASTY,
        command=f"lbctl hammer {NASTY}",
        stopped_by=NASTY,
        backends=rows,
        error_groups=(ErrorGroup(Code.INTERNAL, Origin.SERVER, NASTY, 3, {NASTY: 3}),),
        events=(Event(1.0, "log", NASTY, NASTY, "bad"), Event(2.0, "log", None, NASTY, NASTY)),
        balance=replace(report.balance, note=NASTY, worst=rows[0].address),
        generator=replace(report.generator, warnings=(NASTY,)),
        samples=SAMPLES,
        thresholds=(Outcome(NASTY, False, 1.0, NASTY, 2.0, NASTY, NASTY),),
        search=searched(NASTY, reason=NASTY).search,
    )


def searched(expr: str = "p99<20ms", *, ended: str = "found", reason: str = "p99 31ms") -> Report:
    """A run that a search found, after probes at three rates."""

    def probe(rate: float, p99_ms: float, verdict: str, why: str = "") -> Probe:
        errors = Outcome("error_rate<1%", True, 0.0, "%", 1.0)
        return Probe(
            rate, min(rate, 300.0), int(rate), int(rate), 0, 0, 0, 2.0, p99_ms, 0.2, 0.0, verdict, why,
            outcomes=(Outcome(expr, verdict == "holds", p99_ms, "ms", 20.0), errors),
        )  # fmt: skip

    probes = (
        probe(100.0, 5.0, "holds"), probe(400.0, 31.0, "fails", reason), probe(200.0, 12.0, "holds"),
        probe(300.0, 25.0, "limited", "generator 93% busy"),
    )  # fmt: skip
    found = RateSearch((expr, "error_rate<1%"), 5.0, 0.05, ended, 200.0, 300.0, probes)
    return replace(sample(3, end_reason="duration", in_flight=0), samples=SAMPLES, search=found)


NAMES = (*REPORTS, "hostile", "compared")


@cache
def page_of(name: str) -> str:
    """A page of each kind, made when it is first asked for."""
    if name == "compared":
        runs = [Run(NASTY, hostile()), Run("b.json", replace(sample(3), samples=SAMPLES)), Run("c.json", sample(3))]
        return comparison_page(compare(grouped(runs)), parse_limits("p99<10%"))
    return run_page(hostile() if name == "hostile" else replace(REPORTS[name](), samples=SAMPLES))


@pytest.mark.parametrize("name", NAMES)
def test_a_page_loads_and_runs_nothing(name: str) -> None:
    page = Page(page_of(name))
    assert {tag for tag, _ in page.elements} <= TAGS
    for script in page.all("script"):
        assert script["type"] == "application/json"
    for _, attributes in page.elements:
        assert not [key for key in attributes if key.startswith("on") or key in ("src", "srcset", "xlink:href")]
        assert attributes.get("href") in (None, "data:,")
    assert "url(" not in page_of(name)
    assert "@import" not in page_of(name)
    (policy,) = [each["content"] for each in page.all("meta") if each.get("http-equiv") == "Content-Security-Policy"]
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


@pytest.mark.parametrize("name", NAMES)
def test_nothing_in_a_page_is_hidden_or_turned_around(name: str) -> None:
    assert "".join(char for char in page_of(name) if not char.isprintable() and char != "\n") == ""


@pytest.mark.parametrize("name", REPORTS)
def test_a_page_holds_its_run_whole(name: str) -> None:
    report = replace(REPORTS[name](), samples=SAMPLES)
    (found,) = content_of("x.html", page_of(name).encode()).runs
    assert run_document(found.report) == run_document(report)
    assert summary(found.report) == summary(report)


def test_a_page_of_hostile_text_shows_it_and_holds_it() -> None:
    (found,) = content_of("x.html", page_of("hostile").encode()).runs
    assert found.report.service == NASTY
    assert found.report.error_groups[0].message == NASTY
    assert "<script>alert(1)</script>" in Page(page_of("hostile")).words
    assert "\\u202eevil" in Page(page_of("hostile")).words


def test_a_comparison_holds_all_of_its_runs() -> None:
    found = content_of("x.html", page_of("compared").encode()).runs
    assert [run.report.service for run in found] == [NASTY, "echo", "echo"]
    assert [run.name for run in found[1:]] == ["b.json", "c.json"]


def test_a_page_has_its_parts_in_the_order_in_which_they_are_asked_for() -> None:
    page = run_page(replace(sample(3, end_reason="completed", in_flight=0), samples=SAMPLES, command="lbctl x"))
    assert re.findall(r"<h2>([^<]+)", page) == [
        "Distribution",
        "Latency",
        "Latency by percentile",
        "Throughput",
        "Latency over time",
        "Errors",
        "Events",
        "Command",
    ]
    before, _, _ = page.partition("<h2>")
    places = [
        before.index(each) for each in ("<h1>echo", 'class="verdict', ">Requests<", ">Throughput<", ">p50<", ">Max<")
    ]
    assert places == sorted(places)


def test_a_run_without_times_or_samples_says_so_instead_of_drawing() -> None:
    page = Page(run_page(sample(3, ok=0, latency=Histogram(), samples=())))
    assert "No call ended well, or the file does not tell how long they took." in page.words
    assert "The run was too short to be drawn, or the file has no samples over time." in page.words


def test_a_share_bar_has_a_mark_where_the_share_was_expected() -> None:
    report = sample(3, in_flight=0)
    page = Page(run_page(report))
    marks = [each["style"] for each in page.all("b") if each.get("title", "") and "expected" in str(each["title"])]
    due = [row.expected / sum(row.expected for row in report.backends) for row in report.backends]
    assert marks == [f"left:{share / max(due):.2%}" for share in due]


def test_every_event_of_weight_is_a_line_with_its_words() -> None:
    changed = Event(3.2, "weight", None, "weight 2 -> 3", "change")
    report = replace(sample(3), samples=SAMPLES, elapsed_s=20.0, events=(changed,))
    assert run_page(report).count("<title>3.2s weight 2 -&gt; 3</title>") == 2


def test_a_long_command_is_there_whole() -> None:
    command = "lbctl hammer echo -d '" + "x" * 3000 + "'"
    assert command in Page(run_page(sample(3, command=command))).words


def test_markup_escapes_what_is_not_markup() -> None:
    assert el("p", "<b>", Html("<i></i>"), title='"', cls="x") == '<p class="x" title="&quot;">&lt;b&gt;<i></i></p>'
    assert text("a\x1bb") == "a\\x1bb"
    assert data("{}", '"') == '<script type="application/json" class="lbctl-run" data-name="&quot;">{}</script>'
    assert "<" not in data('"</script>"', "")[1:-9].partition(">")[2]


def test_axes_are_round_and_values_stand_where_they_belong() -> None:
    axis = linear(937, lambda value: f"{value:g}")
    assert [label for _, label in axis.ticks] == ["0", "250", "500", "750", "1000"]
    assert axis.at(500) == 0.5
    assert [label for _, label in linear(0, lambda value: f"{value:g}").ticks] == ["0", "1"]
    assert [label for _, label in times(300, 80_000).ticks] == ["300us", "1.0ms", "3.0ms", "10ms", "30ms"]
    assert times(100, 10_000).at(1000) == pytest.approx(0.5)
    assert [label for _, label in percentiles(10_000).ticks] == ["0", "50", "90", "99", "99.9", "99.99"]
    assert percentiles(10_000).at(0.99) == pytest.approx(0.5)
    assert [label for _, label in seconds(60).ticks] == ["0s", "20s", "40s", "60s"]


def test_columns_add_up_and_the_percentile_line_ends_at_the_slowest_call() -> None:
    found = sample(3).latency
    assert sum(each.calls for each in bins(found, times(found.min_us, found.max_us))) == found.total
    line = by_percentile(found)
    assert line == sorted(line)
    assert line[0] == (0.0, found.min_us)
    assert line[-1][1] == found.max_us
    assert dict(line)
    near = min(line, key=lambda point: abs(point[0] - 0.9))
    assert near[1] == pytest.approx(found.quantile(near[0]), rel=0.02)


def test_one_call_is_enough_for_every_chart() -> None:
    one = Histogram()
    one.record(1234)
    Page(run_page(sample(1, latency=one, samples=SAMPLES[:1])))
    Page(run_page(sample(1, latency=one, samples=SAMPLES[:2])))


def test_groups_beyond_the_colours_are_dashed() -> None:
    runs = [Run(f"{n}.json", replace(sample(1), seed=n)) for n in range(9)]
    page = comparison_page(compare(grouped(runs, each=True)))
    assert "line g0 again" in page
    assert PurePath("8.json").stem in Page(page).words


def test_a_search_shows_its_curve_with_what_held_and_the_rate_that_was_found() -> None:
    page = run_page(searched())
    words = " ".join(Page(page).words.split())
    assert "Highest rate200/s holds, 300/s does not" in words
    assert "All else on this page is of the run at 200/s." in words
    dots = re.findall(r'class="dot ([a-z-]+)" style="left:([\d.]+)%;bottom:([\d.]+)%" title="([^"]*)">(.)<', page)
    assert [(role, glyph) for role, *_, glyph in dots] == [
        ("is-ok", "●"), ("is-err", "×"), ("is-ok", "●"), ("is-warn", "▲")
    ] * 2  # fmt: skip
    (left, _), (right, highest) = ((float(dots[place][1]), float(dots[place][2])) for place in (0, 1))
    assert right == pytest.approx(4 * left, abs=0.05)  # 100/s and 400/s, on an axis from 0
    assert highest == max(float(each[2]) for each in dots[:4])
    assert dots[1][3] == "400/s, p99 31ms, 400 calls, fails: p99 31ms"
    done = [float(each[2]) for each in dots[4:]]
    assert done[1] == done[3]  # 400/s were asked for, and 300/s done
    assert page.count('class="level"') == 1  # of the errors there is nothing to draw
    (again,) = content_of("x.html", page.encode()).runs
    assert again.report.search == searched().search


@pytest.mark.parametrize(
    ("ended", "kind"), [("found", "warn"), ("at_least", "warn"), ("failed", "err"), ("interrupted", "warn")]
)
def test_a_search_that_found_nothing_is_a_failure(ended: str, kind: str) -> None:
    page = run_page(searched(ended=ended))
    assert f'<section class="verdict {kind}">' in page


def test_a_search_of_one_probe_has_no_curve() -> None:
    report = searched()
    assert report.search is not None
    page = run_page(replace(report, search=replace(report.search, probes=report.search.probes[:1])))
    assert "Rate search" in page
    assert 'class="dot' not in page
    none = run_page(replace(report, search=replace(report.search, probes=(), low=None, ended="interrupted")))
    assert "interrupted before anything was known" in none
