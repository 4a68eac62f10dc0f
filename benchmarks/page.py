"""Writes figures into pages of docs/explanation, between markers; the words around them are written by hand."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.clients import SUBJECT
from benchmarks.figures import Pick, Result, cpu, throughput
from benchmarks.measured import ROOT
from benchmarks.scenario import MEANING, Scenario, bytes_text

PAGE = ROOT / "docs" / "explanation" / "performance.md"


def put(section: str, lines: Sequence[str], page: Path = PAGE) -> Path:
    """Replace what stands between the markers of a section; raises SystemExit where the page has none."""
    begin, end = f"<!-- begin {section} -->", f"<!-- end {section} -->"
    text = page.read_text()
    if begin not in text or end not in text:
        raise SystemExit(f"{page} has no section {section}")
    before, _, rest = text.partition(begin)
    page.write_text("\n".join((before + begin, *lines, end)) + rest.partition(end)[2])
    return page.relative_to(ROOT)


def write(result: Result, machine: Mapping[str, str], command: str, date: str) -> Path:
    """Put the tables of a comparison on the page."""
    return put("compare", list(_lines(result, machine, command, date)))


def provenance(command: str, date: str, machine: Mapping[str, str], versions: Mapping[str, str]) -> Iterator[str]:
    """Where and how figures were made."""
    yield f"Made by `{command}` on {date}."
    yield ""
    yield f"- {machine['cores']} cores ({machine['processor']}), {machine['kernel']}, {machine['python']}"
    yield f"- load average before it began: {machine['load']} (above 1 other programs ran, and spoil the figures)"
    named = ", ".join(f"{name} {version}" for name, version in versions.items())
    if named:
        yield f"- {named}"


Cell = Callable[[Result, Scenario, str], str]


def _lines(result: Result, machine: Mapping[str, str], command: str, date: str) -> Iterator[str]:
    s = result.settings
    yield from provenance(command, date, machine, result.versions)
    yield f"- {result.server}; {result.cores}"
    yield f"- {s['in_flight']} calls in flight over {s['backends']} backends; medians of {s['rounds']} rounds"
    for title, cell in TABLES.items():
        yield from ("", f"### {title}", "", *_table(result, cell))
    yield from ("", *(f"- **{replies}**: {meaning}" for replies, meaning in MEANING.items()))
    yield from (f"- **{name}**: {note}" for name, note in result.notes.items())
    yield from (f"- left out: {name}: {_plain(reason)}" for name, reason in result.left_out.items())


def _table(result: Result, cell: Cell) -> Iterator[str]:
    names = result.names()
    yield f"| replies | message | connections per backend | {' | '.join(names)} |"
    yield "|---|---:|---:|" + "---:|" * len(names)
    for scenario in result.figures:
        row = " | ".join(cell(result, scenario, name) for name in names)
        yield f"| {scenario.replies} | {bytes_text(scenario.size)} | {scenario.connections} | {row} |"


def _with_ratio(of: Pick, form: str) -> Cell:
    def cell(result: Result, scenario: Scenario, name: str) -> str:
        value, ratio = result.median(scenario, name, of), result.ratio(scenario, name, of)
        if value is None:
            return ""
        return f"{value:{form}}" if name == SUBJECT or ratio is None else f"{value:{form}} ({ratio:.2f})"

    return cell


def _latency(result: Result, scenario: Scenario, name: str) -> str:
    p50 = result.median(scenario, name, lambda figure: figure.p50_ms)
    p99 = result.median(scenario, name, lambda figure: figure.p99_ms)
    return "" if p50 is None or p99 is None else f"{p50:.2f} / {p99:.2f}"


def _peak(result: Result, scenario: Scenario, name: str) -> str:
    value = result.median(scenario, name, lambda figure: figure.peak_mib)
    return "" if value is None else f"{value:.0f}"


TABLES = {
    "CPU per call, µs, user + system (in brackets: lbctl's as a multiple of it)": _with_ratio(cpu, ".2f"),
    "Calls/s (in brackets: lbctl's as a multiple of it)": _with_ratio(throughput, ",.0f"),
    "Latency, ms, p50 / p99, as each tool reports it": _latency,
    "Peak memory, MiB": _peak,
}


def _plain(text: str) -> str:
    return re.sub(r"[|<>`\s]+", " ", text)
