"""The charts of a run: how long calls took, by percentile, and over time."""

from __future__ import annotations

from lbctl.stats.histogram import Histogram
from lbctl.stats.report import Report
from lbctl.view.distribution import START_S
from lbctl.view.event_panel import event_words
from lbctl.view.html import axes, charts
from lbctl.view.html.axes import Axis
from lbctl.view.html.charts import Mark
from lbctl.view.html.markup import Html, el
from lbctl.view.html.tables import moment
from lbctl.view.text import count, duration, part

_QUANTILES = (0.5, 0.9, 0.99)
_BACKENDS = 50  # lines; more are no lines any more
_EVENTS = 200
_HEADROOM = 1.2  # above columns, for the words of marks
_NONE = "No call ended well, or the file does not tell how long they took."


def box(title: str, drawn: Html, small: str = "") -> Html:
    """A chart with its title."""
    return el("section", el("h2", title, el("small", small) if small else None), drawn)


def nothing(title: str, why: str = _NONE) -> Html:
    """A box without its chart."""
    return box(title, el("p", why, cls="muted"))


def span(*times: Histogram) -> Axis:
    """An axis on which all of these have room."""
    known = [each for each in times if each.total]
    return axes.times(min(each.min_us for each in known), max(each.max_us for each in known))


def histogram_chart(report: Report) -> Html:
    """How many calls took how long."""
    times = report.latency
    if not times.total:
        return nothing("Latency")
    x = span(times)
    bins = charts.bins(times, x)
    y = axes.linear(_HEADROOM * max(each.calls for each in bins), lambda value: count(value, 6))
    titles = [
        f"{duration(each.low)} to {duration(each.high)}: {each.calls:,} calls, {part(each.calls, times.total)}"
        for each in bins
    ]
    marks = [Mark(value, f"p{q * 100:g}") for q, value in zip(_QUANTILES, times.quantiles(_QUANTILES), strict=True)]
    drawn = charts.chart("calls by latency", x, y, charts.columns(bins, x, y, titles), marks=marks)
    return box("Latency", drawn, "calls by how long they took")


def by_percentile_chart(report: Report) -> Html:
    """Which part of the calls took at most how long: all of them, and those of each backend."""
    times = report.latency
    title = "Latency by percentile"
    if not times.total:
        return nothing(title)
    rows = sorted(report.backends, key=lambda row: -row.latency.total)[:_BACKENDS]
    rows = [row for row in rows if row.latency.total]
    x, y = axes.percentiles(times.total), span(times)
    thin = [charts.line(charts.by_percentile(row.latency), x, y, "thin", row.address) for row in rows]
    drawn = charts.chart(title, x, y, *thin, charts.line(charts.by_percentile(times), x, y, "latency", "all backends"))
    named = charts.legend(("latency", "all"), ("thin", "each backend"))
    return box(title, el("div", drawn, named), "% of calls that were as fast or faster")


def over_time(report: Report) -> Html:
    """Throughput and latency as the run went on, with a line for each event."""
    samples = report.samples
    if len(samples) < 2:
        return nothing("Over time", "The run was too short to be drawn, or the file has no samples over time.")
    x = axes.seconds(max(report.elapsed_s, samples[-1].t_s))
    middles = [sample.t_s - sample.seconds / 2 for sample in samples]
    rates = list(zip(middles, (sample.rps for sample in samples), strict=True))
    failed = list(zip(middles, (sample.errors / max(sample.seconds, 1e-9) for sample in samples), strict=True))
    y = axes.per_second(max(value for _, value in rates))
    lines = [charts.area(rates, x, y), charts.line(rates, x, y, "", "calls per second")]
    if report.errors:
        lines.append(charts.line(failed, x, y, "err", "errors per second"))
    drawn = charts.chart("throughput over time", x, y, *_events(report, x), *lines)
    named = charts.legend(("", "calls"), *((("err", "errors"),) if report.errors else ()))
    first = box("Throughput", el("div", drawn, named), "calls per second")
    return el("div", first, _latency_over_time(report, x, middles), cls="pair")


def _latency_over_time(report: Report, x: Axis, middles: list[float]) -> Html:
    title = "Latency over time"
    found = [sample.latency for sample in report.samples]
    known = [each for each in found if each is not None]
    if not known:
        return nothing(title)
    y = axes.times(min(each.p50_ms for each in known) * 900, max(each.p99_ms for each in known) * 1100)
    p99 = [(at, None if each is None else each.p99_ms * 1e3) for at, each in zip(middles, found, strict=True)]
    p50 = [(at, None if each is None else each.p50_ms * 1e3) for at, each in zip(middles, found, strict=True)]
    lines = (charts.line(p50, x, y, "p50", "p50"), charts.line(p99, x, y, "latency", "p99"))
    drawn = charts.chart(title, x, y, *_events(report, x), *lines)
    return box(
        title, el("div", drawn, charts.legend(("latency", "p99"), ("p50", "p50"))), "of the calls of each moment"
    )


def _events(report: Report, x: Axis) -> list[Html]:
    names = {row.key: row.address for row in report.backends}
    return [
        charts.event_line(event.t_s, x, event.level, f"{moment(event.t_s)} {event_words(event, names)}")
        for event in report.events[:_EVENTS]
        if event.t_s > START_S or event.level in ("bad", "change")
    ]
