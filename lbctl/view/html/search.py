"""A search for the highest rate on a page: the curve, what lbctl asked for and what came of it, and every probe."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Final

from lbctl.stats.outcome import Outcome
from lbctl.stats.searched import FAILS, HOLDS, LIMITED, Probe, RateSearch
from lbctl.view.html import axes, charts
from lbctl.view.html.axes import Axis
from lbctl.view.html.charts import Mark
from lbctl.view.html.markup import Child, Html, el, joined
from lbctl.view.html.tables import table
from lbctl.view.html.times import box
from lbctl.view.text import duration, error_rate, percent, plural, rate

_MS: Final = "ms"
_KINDS: Final = {HOLDS: ("●", "is-ok", "holds"), FAILS: ("×", "is-err", "fails"), LIMITED: ("▲", "is-warn", "limited")}
_ROOM: Final = 1.08  # beyond the outermost probe
_HEADROOM: Final = 1.5  # above times, for the word of the rate that was found
_HEADS: Final = (
    *((title, "num") for title in ("Rate", "Done", "p50", "p99", "Errors", "Dropped", "Busy")),
    ("Verdict", ""),
    ("Why", "words"),
)


def rate_search(search: RateSearch) -> Html:
    """The section of a search."""
    what = " and ".join(search.objective)
    head = el("h2", "Rate search", el("small", what))
    probes = [probe for found in search.by_rate.values() for probe in found]
    parts: list[Child] = [head]
    if probes:
        parts.append(table(_HEADS, [_cells(probe) for probe in probes]))
    if search.low is not None and len(probes) > 1:
        parts.append(el("p", f"All else on this page is of the run at {rate(search.low, 4)}/s.", cls="muted"))
    section = el("section", *parts)
    if len(search.by_rate) < 2:
        return section
    return joined([section, *_pairs([*_curves(search), _throughput(search)])])


def _pairs(drawn: Sequence[Html]) -> Iterator[Html]:
    """Two charts beside each other."""
    for place in range(0, len(drawn), 2):
        yield el("div", *drawn[place : place + 2], cls="pair")


def _cells(probe: Probe) -> Sequence[Child]:
    glyph, cls, word = _KINDS.get(probe.verdict, ("", "", probe.verdict))
    return (
        rate(probe.rate, 4),
        rate(probe.done, 3),
        _time(probe.p50_ms),
        _time(probe.p99_ms),
        error_rate(probe.errors, probe.ok + probe.errors),
        f"{probe.dropped:,}",
        f"{percent(probe.busy)}%",
        el("span", f"{glyph} {word}".strip(), cls=cls),
        probe.reason,
    )


def _time(ms: float | None) -> str:
    return duration(None if ms is None else ms * 1e3)


def _curves(search: RateSearch) -> Iterator[Html]:
    """A chart for each expression that has more to show than one value."""
    for place, expr in enumerate(search.objective):
        found = [(probe, probe.outcomes[place]) for probe in search.probes if place < len(probe.outcomes)]
        known = [(probe, outcome) for probe, outcome in found if outcome.value is not None]
        if len({outcome.value for _, outcome in known}) > 1:
            yield _curve(search, expr, known)


def _curve(search: RateSearch, expr: str, known: Sequence[tuple[Probe, Outcome]]) -> Html:
    first = known[0][1]
    values = [_scaled(outcome) for _, outcome in known]
    limit = _scaled(first, first.limit)
    y = _values(first.unit, [*values, limit])
    x = _rates(search)
    by_rate: dict[float, list[float]] = {}
    for (probe, _), value in zip(known, values, strict=True):
        by_rate.setdefault(probe.rate, []).append(value)
    curve = charts.line([(at, fmean(by_rate[at])) for at in sorted(by_rate)], x, y, "curve", expr)
    dots = [
        charts.dot(probe.rate, value, x, y, *_KINDS.get(probe.verdict, ("●", "", ""))[:2], _words(probe, outcome))
        for (probe, outcome), value in zip(known, values, strict=True)
    ]
    level = charts.level(limit, y, f"limit: {expr}")
    drawn = charts.chart(f"{expr} by rate", x, y, curve, level, marks=_found(search), over=dots)
    return box(expr, el("div", drawn, _legend(search, limit=True)), "by calls per second that were asked for")


def _scaled(found: Outcome, value: float | None = None) -> float:
    """A value as axes have it: times in microseconds."""
    plain = (found.value or 0.0) if value is None else value
    return plain * 1e3 if found.unit == _MS else plain


def _values(unit: str, values: Sequence[float]) -> Axis:
    if unit == _MS:
        return axes.times(min(each for each in values if each > 0) / _ROOM, max(values) * _HEADROOM)
    return axes.linear(max(values) * _ROOM, lambda value: f"{value:g}{unit}")


def _rates(search: RateSearch) -> Axis:
    return axes.per_second(max(search.by_rate) * _ROOM)


def _found(search: RateSearch) -> list[Mark]:
    return [] if search.low is None else [Mark(search.low, f"{rate(search.low, 4)}/s")]


def _words(probe: Probe, found: Outcome | None = None) -> str:
    """What a probe says when the pointer is on it."""
    figure = f"{found.expr.split('<')[0].split('>')[0].rstrip('=')} {found.figure}, " if found is not None else ""
    why = f": {probe.reason}" if probe.reason else ""
    return f"{rate(probe.rate, 4)}/s, {figure}{plural(probe.requests, 'call')}, {probe.verdict}{why}"


def _throughput(search: RateSearch) -> Html:
    """What was asked for and what was done: where the dots leave the line, something is full."""
    x = _rates(search)
    y = axes.per_second(max(max(probe.done, probe.rate) for probe in search.probes) * _ROOM)
    asked = charts.line([(0.0, 0.0), (x.high, min(x.high, y.high))], x, y, "thin", "as asked")
    dots = [
        charts.dot(probe.rate, probe.done, x, y, *_KINDS.get(probe.verdict, ("●", "", ""))[:2], _words(probe))
        for probe in search.probes
    ]
    drawn = charts.chart("calls done by rate", x, y, asked, marks=_found(search), over=dots)
    named = _legend(search, ("thin", "as many as were asked for"))
    return box("Throughput", el("div", drawn, named), "calls done per second, by those asked for")


def _legend(search: RateSearch, *lines: tuple[str, str], limit: bool = False) -> Html:
    seen = {probe.verdict for probe in search.probes}
    named = [
        el("span", el("span", glyph, cls=cls), f" {word}") for key, (glyph, cls, word) in _KINDS.items() if key in seen
    ]
    strokes = [el("span", el("span", cls=f"swatch {cls}"), word) for cls, word in lines]
    strokes += [el("span", el("span", cls="swatch limit"), "limit")] if limit else []
    return el("div", *named, *strokes, cls="legend")
