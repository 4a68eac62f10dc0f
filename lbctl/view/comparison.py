"""Runs side by side: as text, as a document, as rows; and the sentence of a regression."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap

from lbctl.stats.comparison import BETTER, METRICS, WORSE, Comparison, Difference, Group, Metric
from lbctl.stats.intervals import LEVEL, Estimate
from lbctl.stats.regression import Limit, Regression
from lbctl.view.figures import Document
from lbctl.view.output import as_csv
from lbctl.view.text import NONE, cell_len, duration, plural, rate
from lbctl.view.theme import PLAIN, UNICODE, Look

SCHEMA = "lbctl.comparison/v1"
MEANING = (
    "Intervals are of 95 %. That of one run is worked out from its own calls as if none had stood in another's way, so "
    "that two runs may differ by more; that of several is made of what they differ among themselves: resampled, and "
    "never narrower than Student's t allows. One verdict of twenty is chance."
)
_WIDTH = 80
_LEAST = 12  # cells of a label
_SHOWN = ("rps", "error_rate", "p50", "p90", "p99", "max", "max_delta")
_TITLES = {
    "rps": "RPS", "error_rate": "ERR%", "p50": "P50", "p90": "P90", "p99": "P99", "max": "MAX", "max_delta": "{delta}pp"
}  # fmt: skip


def comparison_text(found: Comparison, look: Look | None = None) -> str:
    """Return the tables, without the last line's end."""
    look = look or Look(PLAIN, UNICODE)
    parts = [_overview(found, look), *(against(found, group, rows, look) for group, rows in found.against())]
    parts.append([look.paint(look.style.muted, line) for line in wrap(MEANING, _WIDTH)])
    return "\n\n".join("\n".join(line.rstrip() for line in part) for part in parts)


def _label(group: Group, look: Look, width: int = 30) -> str:
    """The name of a group, as wide as there is room for."""
    return look.elide_middle(look.show(group.label), width)


def _overview(found: Comparison, look: Look) -> list[str]:
    runs = sum(len(group.runs) for group in found.groups)
    title = look.paint(look.style.bold, "Comparison")
    first = found.base.first
    lines = [f"{title}  {plural(runs, 'run')} of {look.show(first.method)} of {look.show(first.service)}"]
    heads = [_TITLES[name].format(delta=look.glyphs.delta) for name in _SHOWN]
    table = [["RUN", "RUNS", "CALLS", *heads]]
    for group in found.groups:
        figures = [figure(_metric(found, name), group.estimate(_metric(found, name)).value) for name in _SHOWN]
        calls = f"{group.total(lambda report: report.completed):,}"
        bare = (text.removesuffix("%").removesuffix("pp") for text in figures)
        table.append([look.show(group.label), f"{len(group.runs)}", calls, *bare])
    if runs == len(found.groups):
        table = [[row[0], *row[2:]] for row in table]
    room = _WIDTH - 2 - sum(2 + max(map(cell_len, column)) for column in list(zip(*table, strict=True))[1:])
    table = [[look.elide_middle(row[0], max(room, _LEAST)), *row[1:]] for row in table]
    rows = _aligned(table, look)
    lines += [look.paint(look.style.muted, rows[0]), *rows[1:]]
    for note in found.notes:
        lines += [look.paint(look.style.warn, line) for line in _note(look.show(note))]
    return lines


def _metric(found: Comparison, name: str) -> Metric:
    return next(each.metric for each in found.differences[0] if each.metric.name == name)


def _note(text: str) -> list[str]:
    return wrap(text, _WIDTH, initial_indent="  ! ", subsequent_indent="    ", break_on_hyphens=False)


def against(found: Comparison, group: Group, rows: Sequence[Difference], look: Look) -> list[str]:
    """Return the table of these differences of one group from the base."""
    title = f"{_label(group, look)} against {_label(found.base, look)}"
    table = [["METRIC", "BASE", "NOW", "DIFFERENCE", "INTERVAL", "VERDICT"], *(_row(each) for each in rows)]
    lines = _aligned(table, look, left=(0, 5))
    coloured = [
        line.replace(each.verdict, look.paint(verdict_role(each.verdict, look), each.verdict))
        for line, each in zip(lines[1:], rows, strict=True)
    ]
    return [look.paint(look.style.bold, title), look.paint(look.style.muted, lines[0]), *coloured]


def verdict_role(verdict: str, look: Look) -> str:
    """The colour of a verdict."""
    return {BETTER: look.style.ok, WORSE: look.style.err}.get(verdict, look.style.muted)


def _row(each: Difference) -> list[str]:
    metric = each.metric
    return [
        title_of(metric),
        figure(metric, each.base.value),
        figure(metric, each.other.value),
        changed(metric, each.change.value),
        interval(metric, each.change),
        each.verdict,
    ]


def _aligned(table: Sequence[Sequence[str]], look: Look, left: tuple[int, ...] = (0,)) -> list[str]:
    widths = [max(map(cell_len, column)) for column in zip(*table, strict=True)]
    return [
        "  "
        + "  ".join(
            look.left(cell, width) if place in left else " " * (width - cell_len(cell)) + cell
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in table
    ]


def title_of(metric: Metric) -> str:
    """The name of a metric, as people say it."""
    return {"p999": "p99.9", "error_rate": "error rate", "max_delta": "max delta"}.get(metric.name, metric.name)


def figure(metric: Metric, value: float | None) -> str:
    """Spell a figure with its unit."""
    if value is None:
        return NONE
    if metric.unit == "us":
        return duration(value)
    if metric.unit == "share":
        return f"{value * 100:.2f}{'pp' if metric.name == 'max_delta' else '%'}"
    return rate(value, 3)


def changed(metric: Metric, value: float | None) -> str:
    """Spell a difference: ``+8.9%``, of shares ``-0.15pp``."""
    return NONE if value is None else f"{_signed(metric, value)}{'%' if metric.relative else 'pp'}"


def interval(metric: Metric, change: Estimate) -> str:
    """Spell an interval without its unit; an end that cannot be told is a question mark."""
    if change.low is None and change.high is None:
        return NONE
    low, high = ("?" if end is None else _signed(metric, end) for end in (change.low, change.high))
    return f"{low} to {high}"


def _signed(metric: Metric, value: float) -> str:
    percent = value * 100
    digits = 1 if metric.relative else 2
    if abs(percent) < 0.5 * 10**-digits:
        return f"{0:.{digits}f}"
    if abs(percent) >= 9999.5:
        return f"{percent:+.0e}"
    return f"{percent:+,.{0 if abs(percent) >= 99.95 else digits}f}"


def regression_sentence(found: Regression, base: str) -> str:
    """Say what got worse, by how much, how sure that is, and what is allowed."""
    metric, difference = found.limit.metric, found.difference
    unit = "%" if metric.relative else "pp"
    allowed = f"{found.limit.most * 100:g}{unit} is allowed" if found.limit.most else "none is allowed"
    now, before = figure(metric, difference.other.value), figure(metric, difference.base.value)
    change = f"{changed(metric, difference.change.value)} ({interval(metric, difference.change)})"
    return f"{title_of(metric)} of {found.label} is {now}, {change} against {before} of {base}; {allowed}"


def comparison_document(found: Comparison, limits: Sequence[Limit] = ()) -> Document:
    """Return the document of ``report -o json`` of several runs."""
    from lbctl.stats.regression import regressions

    failed = list(regressions(found, tuple(limits)))
    return {
        "schema": SCHEMA,
        "level": LEVEL,
        "base": found.base.label,
        "groups": [_group(found, group) for group in found.groups],
        "differences": [
            {
                "group": group.label,
                "against": found.base.label,
                "metrics": {each.metric.name: _difference(each) for each in rows},
            }
            for group, rows in found.against()
        ],
        "limits": [limit.text for limit in limits],
        "regressions": [
            {"group": each.label, "limit": each.limit.text, "text": regression_sentence(each, found.base.label)}
            for each in failed
        ],
        "notes": list(found.notes),
    }


def _group(found: Comparison, group: Group) -> Document:
    metrics = [each.metric for each in found.differences[0]]
    first = group.first
    return {
        "label": group.label,
        "policy": first.policy,
        "service": first.service,
        "method": first.method,
        "command": first.command or None,
        "runs": [run.name for run in group.runs],
        "requests": group.total(lambda report: report.issued),
        "ok": group.total(lambda report: report.ok),
        "errors": group.total(lambda report: report.errors),
        "metrics": {metric.name: _estimate(metric, group.estimate(metric)) for metric in metrics},
    }


def _estimate(metric: Metric, found: Estimate) -> Document:
    """Times in milliseconds, rates per second, shares 0..1."""
    scale = 1e-3 if metric.unit == "us" else 1.0
    unit = {"us": "ms", "per_s": "1/s", "share": "share"}[metric.unit]
    ends = {name: None if end is None else round(end * scale, 6) for name, end in found._asdict().items()}
    return {**ends, "unit": unit}


def _difference(each: Difference) -> Document:
    """Parts of the base's figure (0.1 is 10 % more), or of shares the difference of the shares."""
    ends = {name: None if end is None else round(end, 6) for name, end in each.change._asdict().items()}
    return {**ends, "kind": "relative" if each.metric.relative else "absolute", "verdict": each.verdict}


_COLUMNS = (
    "group", "runs", "metric", "unit", "value", "low", "high", "change", "change_low", "change_high", "change_kind",
    "verdict",
)  # fmt: skip


def comparison_csv(found: Comparison, *, headers: bool = True) -> str:
    """Spell a row for each group and metric; the base has no changes."""
    return as_csv(_COLUMNS, _records(found), headers=headers)


def _records(found: Comparison) -> Iterator[Sequence[object]]:
    if not found.groups:
        return
    for metric in METRICS.values():
        yield (*_values(found.base, metric), *(None,) * 5)
    for group, rows in found.against():
        for each in rows:
            change = _difference(each)
            ends = (change["value"], change["low"], change["high"])
            yield (*_values(group, each.metric), *ends, change["kind"], each.verdict)


def _values(group: Group, metric: Metric) -> Sequence[object]:
    found = _estimate(metric, group.estimate(metric))
    return (group.label, len(group.runs), metric.name, found["unit"], found["value"], found["low"], found["high"])
