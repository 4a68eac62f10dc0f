"""The figures of a comparison for people at a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.clients import SUBJECT
from benchmarks.figures import Result, cpu, throughput
from benchmarks.scenario import Scenario

HEADING = (
    f"{'client':<14}{'CPU us/call':>12}{'low-high':>17}{'calls/s':>10}{'low-high':>18}"
    f"{'p50 ms':>9}{'p99 ms':>9}{'MiB':>6}{'server us':>11}{'lbctl: CPU':>13}{'calls/s':>9}"
)


def lines(result: Result) -> list[str]:
    """Lay out everything, a block for each scenario."""
    s = result.settings
    found = [
        f"server   {result.server}; {result.cores}",
        f"load     {s['in_flight']} in flight over {s['backends']} backends, {s['rounds']} interleaved rounds",
    ]
    for scenario in result.figures:
        found += ["", str(scenario), HEADING, *_rows(result, scenario)]
    found += ["", *(f"{name} {result.versions[name]}: {note}" for name, note in result.notes.items())]
    return found + [f"left out: {name}: {reason}" for name, reason in result.left_out.items()]


def _rows(result: Result, scenario: Scenario) -> Iterator[str]:
    for name, figures in result.figures[scenario].items():

        def middle(field: str, name: str = name) -> float:
            return result.median(scenario, name, lambda figure: float(getattr(figure, field))) or 0.0

        costs, speeds = sorted(f.cpu_us for f in figures), sorted(f.rps for f in figures)
        yield (
            f"{name:<14}{middle('cpu_us'):>12.2f}{f'{costs[0]:.2f}-{costs[-1]:.2f}':>17}"
            f"{middle('rps'):>10,.0f}{f'{speeds[0]:,.0f}-{speeds[-1]:,.0f}':>18}"
            f"{middle('p50_ms'):>9.2f}{middle('p99_ms'):>9.2f}{middle('peak_mib'):>6.0f}{middle('server_us'):>11.2f}"
            + _against(result, scenario, name)
        )


def _against(result: Result, scenario: Scenario, name: str) -> str:
    costs, speeds = result.ratio(scenario, name, cpu), result.ratio(scenario, name, throughput)
    if name == SUBJECT or costs is None or speeds is None:
        return ""
    return f"{costs:>12.2f}x{speeds:>8.2f}x"
