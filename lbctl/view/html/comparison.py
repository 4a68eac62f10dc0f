"""The page of several runs: one colour each, the same axes, and a table of the differences with their intervals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from lbctl.stats.comparison import BETTER, METRICS, WORSE, Comparison, Difference, Group, Metric
from lbctl.stats.histogram import Histogram
from lbctl.stats.regression import Limit, regressions
from lbctl.stats.rounds import Contest
from lbctl.view.compare_text import MEANING as ROUNDS_MEANING
from lbctl.view.comparison import MEANING, changed, figure, interval, regression_sentence, title_of
from lbctl.view.figures import stamp
from lbctl.view.html import axes, charts
from lbctl.view.html.axes import Axis
from lbctl.view.html.charts import legend
from lbctl.view.html.contest import command, facts, shares
from lbctl.view.html.markup import Child, Html, data, el, joined
from lbctl.view.html.page import page, section, whole
from lbctl.view.html.style import COLOURS
from lbctl.view.html.tables import table
from lbctl.view.html.times import box, nothing, span
from lbctl.view.output import as_json_line
from lbctl.view.run_document import run_document
from lbctl.view.text import plural

_LEAST_SPAN = 0.05  # of the drawing of intervals: smaller differences are not blown up beyond this
_MOST_SPAN = 1.0


def comparison_page(found: Comparison, limits: Sequence[Limit] = ()) -> str:
    """Return the page of saved runs, without the last line's end."""
    runs = [run for group in found.groups for run in group.runs]
    return page(
        "Comparison",
        _title(found, plural(len(runs), "run")),
        _verdict(found, limits),
        *_body(found, MEANING),
        _runs(found),
        scripts=[data(as_json_line(run_document(run.report)), run.name) for run in runs],
    )


def contest_page(found: Comparison, limits: Sequence[Limit], contest: Contest, document: str) -> str:
    """Return the page of a comparison by rounds, without the last line's end; ``document`` is what ``report`` reads."""
    number = f"{len(contest.contenders)} policies, {plural(contest.rounds, 'round')}"
    return page(
        "Comparison",
        _title(found, number, facts(contest)),
        _verdict(found, limits),
        *_body(found, ROUNDS_MEANING, shares(contest)),
        _runs(found, typed=False),
        command(contest),
        scripts=[data(document, contest.service)],
    )


def _body(found: Comparison, meaning: str, *between: Child) -> Iterator[Child]:
    notes = (el("p", _sentence(note), cls="is-warn") for note in found.notes)
    yield section("Figures", _figures(found), *notes)
    for index, (group, rows) in enumerate(found.against(), 1):
        yield _against(found, index, group, rows, meaning)
    yield from between
    yield from _charts(found)


def _swatch(index: int) -> Html:
    again = " again" if index >= COLOURS else ""
    return el("span", cls=f"swatch s{index % COLOURS}{again}")


def _named(index: int, group: Group) -> Html:
    return joined([_swatch(index), el("span", group.label)])


def _title(found: Comparison, what: str, about: Iterable[tuple[str, str]] = ()) -> Html:
    first = found.base.first
    methods = sorted({run.report.method for group in found.groups for run in group.runs})
    items = [el("li", _named(index, group)) for index, group in enumerate(found.groups)]
    items += [el("li", el("span", name), words) for name, words in about]
    return el(
        "header",
        el("h1", f"{what} of {first.service}"),
        el("p", ", ".join(methods), cls="method mono"),
        el("ul", *items, cls="facts"),
    )


def _verdict(found: Comparison, limits: Sequence[Limit]) -> Html:
    """What was asked of the comparison; without limits, what is certainly better or worse."""
    failed = list(regressions(found, tuple(limits)))
    if failed:
        lines = [f"{regression_sentence(each, found.base.label)}." for each in failed]
        head = el("p", el("strong", "Regression"), lines[0], cls="err")
        return el("section", head, *(el("p", line) for line in lines[1:]), cls="verdict err")
    lines = [f"{group.label} against {found.base.label}: {_summed_up(rows)}." for group, rows in found.against()]
    if limits:
        asked = ", ".join(limit.text for limit in limits)
        head = el("p", el("strong", "No regression"), f"by {asked}", cls="ok")
        return el("section", head, *(el("p", line) for line in lines), cls="verdict ok")
    return el("section", *(el("p", line) for line in lines), cls="verdict none")


def _summed_up(rows: Sequence[Difference]) -> str:
    parts = []
    for verdict in (BETTER, WORSE):
        names = [
            f"{title_of(each.metric)} {changed(each.metric, each.change.value)}"
            for each in rows
            if each.verdict == verdict
        ]
        if names:
            parts.append(f"{verdict} in {', '.join(names)}")
    return "; ".join(parts) or "no difference that its interval shows"


def _figures(found: Comparison) -> Html:
    metrics = _metrics()
    heads = [("Run", ""), ("Calls", "num"), *((title_of(metric), "num") for metric in metrics)]
    rows: list[list[Child]] = []
    for index, group in enumerate(found.groups):
        calls = f"{group.total(lambda report: report.completed):,}"
        times = f"{len(group.runs)} runs" if len(group.runs) > 1 else None
        name = joined([_named(index, group), el("small", times) if times else None])
        rows.append([name, calls, *(figure(metric, group.estimate(metric).value) for metric in metrics)])
    return table(heads, rows)


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def _metrics() -> list[Metric]:
    return list(METRICS.values())


def _against(found: Comparison, index: int, group: Group, rows: Sequence[Difference], meaning: str) -> Html:
    widest = {relative: _widest(rows, relative=relative) for relative in (True, False)}
    heads = [
        ("Metric", ""),
        (found.base.label, "num"),
        (group.label, "num"),
        ("Difference, 95% interval", "num"),
        ("", "range-of"),
        ("Verdict", ""),
    ]
    lines = [
        (
            title_of(each.metric),
            figure(each.metric, each.base.value),
            figure(each.metric, each.other.value),
            _change(each),
            _range(each, widest[each.metric.relative]),
            el("span", each.verdict, cls=_role(each.verdict)),
        )
        for each in rows
    ]
    title = f"{group.label} against {found.base.label}"
    head = el("h2", _swatch(index), el("span", title))
    last = index == len(found.groups) - 1
    return el("section", head, table(heads, lines), el("p", meaning, cls="muted") if last else None)


def _change(each: Difference) -> Html:
    """The difference, and its interval beside it, or below where it is narrow."""
    found = each.metric, each.change
    return joined([el("span", changed(each.metric, each.change.value)), el("span", interval(*found), cls="between")])


def _role(verdict: str) -> str:
    return {BETTER: "is-ok", WORSE: "is-err"}.get(verdict, "muted")


def _widest(rows: Sequence[Difference], *, relative: bool) -> float:
    """What half the width of the drawn intervals stands for: relative changes share one scale, shares another."""
    ends = [
        abs(end)
        for each in rows
        if each.metric.relative is relative
        for end in each.change
        if end is not None and each.change.low is not None
    ]
    least = _LEAST_SPAN if relative else _LEAST_SPAN / 10
    return min(max(max(ends, default=least), least), _MOST_SPAN)


def _range(each: Difference, widest: float) -> Html | None:
    """The interval around zero, in the colour of the verdict; what is beyond the drawing ends at its edge."""
    value, low, high = each.change
    if value is None or low is None or high is None:
        return None
    left, right = _place(low, widest), _place(high, widest)
    band = el("i", style=f"left:{left:.2%};width:{max(right - left, 0.0):.2%}")
    return el("span", band, el("b", style=f"left:{_place(value, widest):.2%}"), cls=f"range {_role(each.verdict)}")


def _place(value: float, widest: float) -> float:
    return min(max(0.5 + value / widest / 2, 0.0), 1.0)


def _merged(group: Group) -> Histogram:
    times = Histogram()
    for run in group.runs:
        if run.report.latency.total:
            times.merge(run.report.latency)
    return times


def _charts(found: Comparison) -> Iterator[Html]:
    times = [_merged(group) for group in found.groups]
    names = legend(
        *((f"s{n % COLOURS}{' again' * (n >= COLOURS)}", group.label) for n, group in enumerate(found.groups))
    )
    if not any(each.total for each in times):
        yield nothing("Latency")
        return
    yield el("div", _distributions(times, names, found), _percentiles(times, names, found), cls="pair")
    if any(len(run.report.samples) > 1 for group in found.groups for run in group.runs):
        yield el("div", _throughput(found, names), _p99(found, names), cls="pair")


def _cls(index: int, extra: str = "") -> str:
    return f"g{index % COLOURS}{' again' * (index >= COLOURS)}{extra}"


def _distributions(times: Sequence[Histogram], names: Html, found: Comparison) -> Html:
    x = span(*times)
    parts = []
    for each in times:
        bins = charts.bins(each, x) if each.total else []
        parts.append([((one.low * one.high) ** 0.5, one.calls / each.total) for one in bins])
    y = axes.linear(max(share for points in parts for _, share in points), lambda value: f"{value * 100:g}%")
    lines = [
        charts.line(points, x, y, _cls(index), group.label)
        for index, (points, group) in enumerate(zip(parts, found.groups, strict=True))
        if points
    ]
    drawn = charts.chart("calls by latency", x, y, *lines)
    return box("Latency", el("div", drawn, names), "part of the calls by how long they took")


def _percentiles(times: Sequence[Histogram], names: Html, found: Comparison) -> Html:
    x, y = axes.percentiles(max(each.total for each in times)), span(*times)
    lines = [
        charts.line(charts.by_percentile(each), x, y, _cls(index), group.label)
        for index, (each, group) in enumerate(zip(times, found.groups, strict=True))
        if each.total
    ]
    drawn = charts.chart("latency by percentile", x, y, *lines)
    return box("Latency by percentile", el("div", drawn, names), "% of calls that were as fast or faster")


def _over_time(found: Comparison, x: Axis, y: Axis, *, p99: bool) -> Iterator[Html]:
    """A line for each run; of repeated ones all are thin."""
    for index, group in enumerate(found.groups):
        faint = " faint" if len(group.runs) > 1 else ""
        for run in group.runs:
            points = [
                (each.t_s - each.seconds / 2, _p99_us(each.latency) if p99 else each.rps) for each in run.report.samples
            ]
            if points:
                yield charts.line(points, x, y, _cls(index, faint), f"{group.label}: {run.name}")


def _p99_us(times: object) -> float | None:
    value = getattr(times, "p99_ms", None)
    return None if value is None else value * 1e3


def _time_axis(found: Comparison) -> Axis:
    return axes.seconds(max(run.report.elapsed_s for group in found.groups for run in group.runs))


def _throughput(found: Comparison, names: Html) -> Html:
    x = _time_axis(found)
    y = axes.per_second(
        max(sample.rps for group in found.groups for run in group.runs for sample in run.report.samples)
    )
    drawn = charts.chart("throughput over time", x, y, *_over_time(found, x, y, p99=False))
    return box("Throughput", el("div", drawn, names), "calls per second")


def _p99(found: Comparison, names: Html) -> Html:
    title = "p99 over time"
    samples = [sample for group in found.groups for run in group.runs for sample in run.report.samples]
    known = [sample.latency.p99_ms * 1e3 for sample in samples if sample.latency is not None]
    if not known:
        return nothing(title)
    x, y = _time_axis(found), axes.times(min(known) * 0.9, max(known) * 1.1)
    drawn = charts.chart(title, x, y, *_over_time(found, x, y, p99=True))
    return box(title, el("div", drawn, names), "of the calls of each moment")


def _runs(found: Comparison, *, typed: bool = True) -> Html:
    """Where each run came from, and what was typed for it if that is not the same for all."""
    heads = [("File" if typed else "Run", ""), ("Started", ""), ("Seed", "num")]
    rows: list[list[Child]] = [
        [
            joined([_swatch(index), el("span", run.name, cls="mono")]),
            stamp(run.report.started_at).replace("T", " "),
            f"{run.report.seed}",
            *([el("code", whole(run.report.command)) if run.report.command else ""] if typed else []),
        ]
        for index, group in enumerate(found.groups)
        for run in group.runs
    ]
    return section("Runs", table([*heads, ("Command", "words")] if typed else heads, rows))
