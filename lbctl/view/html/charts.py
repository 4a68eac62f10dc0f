"""Charts: an SVG that stretches to the room it has, and labels beside it that keep their size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from math import log10
from typing import Final, NamedTuple

from lbctl.stats.histogram import Histogram
from lbctl.view.html.axes import Axis
from lbctl.view.html.markup import Html, el, joined

_SIDE: Final = 1000  # units of the drawing, either way
_BINS: Final = 48
_POINTS: Final = 240
_APART: Final = 0.13  # labels of marks that are closer stand in lines below each other


class Mark(NamedTuple):
    """A line across the chart at a value of the horizontal axis, with a word."""

    at: float
    word: str


class Bin(NamedTuple):
    """Calls that took from ``low`` to ``high`` microseconds."""

    low: float
    high: float
    calls: int


def chart(label: str, x: Axis, y: Axis, *drawn: Html, marks: Sequence[Mark] = (), over: Sequence[Html] = ()) -> Html:
    """A chart: what is drawn over a grid, labels on both axes, marks with their words; ``over`` is not stretched."""
    grid = [el("line", cls="grid", x1=0, x2=_SIDE, y1=_down(y, value), y2=_down(y, value)) for value, _ in y.ticks]
    lines = [el("line", cls="at", x1=_right(x, each.at), x2=_right(x, each.at), y1=0, y2=_SIDE) for each in marks]
    svg = el(
        "svg",
        *(*grid, *drawn, *lines),
        viewBox=f"0 0 {_SIDE} {_SIDE}",
        preserveAspectRatio="none",
        role="img",
        aria_label=label,
    )
    ups = [el("span", words, style=f"bottom:{y.at(value):.2%}") for value, words in y.ticks]
    along = [el("span", words, cls=_edge(x.at(value)), style=f"left:{x.at(value):.2%}") for value, words in x.ticks]
    plot = el("div", svg, *over, *_mark_words(x, marks), cls="plot")
    return el("div", el("div", *ups, cls="y"), plot, el("div", *along, cls="x"), cls="chart")


def _edge(place: float) -> str:
    """Labels at the right end end there."""
    return "end" if place > 0.96 else ""


def _mark_words(x: Axis, marks: Sequence[Mark]) -> Iterable[Html]:
    before, line = -1.0, 0
    for mark in sorted(marks):
        place = x.at(mark.at)
        line = line + 1 if place - before < _APART else 0
        before = place
        side = " left" if place > 0.85 else ""
        yield el("span", mark.word, cls=f"mark{side}", style=f"left:{place:.2%};top:{line * 14}px")


def _right(x: Axis, value: float) -> str:
    return f"{x.at(value) * _SIDE:.1f}"


def _down(y: Axis, value: float) -> str:
    return f"{(1 - y.at(value)) * _SIDE:.1f}"


def line(points: Iterable[tuple[float, float | None]], x: Axis, y: Axis, cls: str, title: str = "") -> Html:
    """A line through points; None is a gap in it."""
    parts: list[str] = []
    pen = "M"
    for at, value in points:
        if value is None:
            pen = "M"
            continue
        parts.append(f"{pen}{_right(x, at)} {_down(y, value)}")
        pen = "L"
    if len(parts) == 1:
        parts.append("h0.1")
    return el("path", *([el("title", title)] if title else []), cls=f"line {cls}".strip(), d=Html("".join(parts)))


def level(value: float, y: Axis, title: str) -> Html:
    """A dashed line at a value of the vertical axis."""
    place = _down(y, value)
    return el("g", el("title", title), el("line", cls="level", x1=0, x2=_SIDE, y1=place, y2=place))


def dot(at: float, value: float, x: Axis, y: Axis, glyph: str, cls: str, title: str) -> Html:
    """A sign at a place; it keeps its form whatever the chart is stretched to."""
    where = f"left:{x.at(at):.2%};bottom:{y.at(value):.2%}"
    return el("span", glyph, cls=f"dot {cls}".strip(), style=where, title=title)


def area(points: Sequence[tuple[float, float | None]], x: Axis, y: Axis) -> Html:
    """What is below a line."""
    known = [(at, value) for at, value in points if value is not None]
    if not known:
        return Html("")
    edge = "L".join(f"{_right(x, at)} {_down(y, value)}" for at, value in known)
    return el(
        "path", cls="area", d=Html(f"M{_right(x, known[0][0])} {_SIDE}L{edge}L{_right(x, known[-1][0])} {_SIDE}Z")
    )


def columns(bins: Sequence[Bin], x: Axis, y: Axis, titles: Sequence[str]) -> Html:
    """A column for each bin."""
    return joined(
        el(
            "rect",
            el("title", title),
            cls="column",
            x=_right(x, each.low),
            y=_down(y, each.calls),
            width=f"{max((x.at(each.high) - x.at(each.low)) * _SIDE - 1.5, 1.0):.1f}",
            height=f"{y.at(each.calls) * _SIDE:.1f}",
        )
        for each, title in zip(bins, titles, strict=True)
        if each.calls
    )


def event_line(at: float, x: Axis, level: str, title: str) -> Html:
    """A line where something happened; its words show when the pointer is near it."""
    place = _right(x, at)
    ends = {"x1": place, "x2": place, "y1": 0, "y2": _SIDE}
    hit = el("line", cls="hit", **ends)
    return el("g", el("title", title), el("line", cls=f"event {level}", **ends), hit)


def bins(times: Histogram, x: Axis) -> list[Bin]:
    """The counts of a histogram in steps of equal width on a logarithmic axis; they add up to all of it."""
    low, high = log10(x.low), log10(x.high)
    edges = [10 ** (low + (high - low) * n / _BINS) for n in range(_BINS + 1)]
    counts = [0] * _BINS
    for us, count in times.steps():
        place = (log10(max(us, 1e-3)) - low) / (high - low) * _BINS
        counts[min(max(int(place), 0), _BINS - 1)] += count
    return [Bin(edges[n], edges[n + 1], counts[n]) for n in range(_BINS)]


def by_percentile(times: Histogram) -> list[tuple[float, float]]:
    """Points of the line of a histogram by percentile: the part of calls that was faster, and microseconds."""
    steps = times.steps()
    if not steps:
        return []
    running = list(accumulate(count for _, count in steps))
    found = [(0.0, float(times.min_us))]
    last = times.total
    for (us, _), reached in zip(steps, running, strict=True):
        q = 1 - 1 / last if reached == last and last > 1 else reached / last
        found.append((min(q, 1 - 1 / max(last, 2)), min(max(us, times.min_us), times.max_us)))
    found[-1] = (found[-1][0], float(times.max_us))
    return _thinned(found)


def _thinned(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """So many points that none is missed, equally spaced in nines."""
    if len(points) <= _POINTS:
        return points
    kept = [points[0]]
    step = log10(1 / max(1 - points[-1][0], 1e-12)) / _POINTS
    for point in points[1:-1]:
        if log10(1 / max(1 - point[0], 1e-12)) - log10(1 / max(1 - kept[-1][0], 1e-12)) >= step:
            kept.append(point)
    return [*kept, points[-1]]


def legend(*entries: tuple[str, str]) -> Html:
    """Words behind a stroke of their line, by the class of the swatch."""
    return el(
        "div", *(el("span", el("span", cls=f"swatch {cls}".strip()), words) for cls, words in entries), cls="legend"
    )
