"""What was measured, and what follows from it: medians over the rounds, ratios within a round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median

from benchmarks.clients import NAMES, SUBJECT
from benchmarks.machine import Cores
from benchmarks.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Figure:
    """One client in one round of one scenario."""

    cpu_us: float  # user + system time per call
    rps: float
    server_us: float  # the server's CPU per call
    peak_mib: float
    p50_ms: float  # as the client itself reports it
    p99_ms: float


Pick = Callable[[Figure], float]


@dataclass(slots=True)
class Result:
    """Everything that was measured; what was not is in ``left_out`` with its reason."""

    server: str
    cores: Cores
    settings: dict[str, int | float]
    notes: dict[str, str] = field(default_factory=dict)  # client: what to know of it
    versions: dict[str, str] = field(default_factory=dict)
    figures: dict[Scenario, dict[str, list[Figure]]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    failed: bool = False

    def names(self) -> list[str]:
        """The clients with any figure, in the order of the tables."""
        return [name for name in NAMES if any(name in cell for cell in self.figures.values())]

    def median(self, scenario: Scenario, name: str, of: Pick) -> float | None:
        """A client's median over the rounds, or None where it has no figures."""
        figures = self.figures.get(scenario, {}).get(name)
        return median(of(figure) for figure in figures) if figures else None

    def ratio(self, scenario: Scenario, peer: str, of: Pick) -> float | None:
        """How many times a peer's figure ours is: the median over the rounds."""
        cell = self.figures.get(scenario, {})
        pairs = zip(cell.get(SUBJECT, ()), cell.get(peer, ()), strict=False)
        ratios = [of(ours) / of(theirs) for ours, theirs in pairs]
        return median(ratios) if ratios else None


def cpu(figure: Figure) -> float:
    """User + system microseconds per call."""
    return figure.cpu_us


def throughput(figure: Figure) -> float:
    """Calls per second."""
    return figure.rps


def document(result: Result, machine: dict[str, str], command: str, date: str) -> dict[str, object]:
    """Build the JSON document: every single figure, the medians, the ratios."""
    return {
        "schema": "lbctl.bench.compare/v1",
        "command": command,
        "date": date,
        "machine": machine,
        "server": result.server,
        "cores": {"client": result.cores.client, "server": result.cores.server},
        "settings": result.settings,
        "versions": result.versions,
        "cells": [
            {
                "replies": scenario.replies.value,
                "size": scenario.size,
                "connections": scenario.connections,
                "clients": {name: _row(result, scenario, name) for name in cell},
            }
            for scenario, cell in result.figures.items()
        ],
        "left_out": result.left_out,
    }


def _row(result: Result, scenario: Scenario, name: str) -> dict[str, object]:
    figures: Sequence[Figure] = result.figures[scenario][name]
    rounds = [{key: round(value, 4) for key, value in asdict(figure).items()} for figure in figures]
    return {
        "rounds": rounds,
        "median": {key: median(row[key] for row in rounds) for key in rounds[0]},
        "lbctl_is": {
            "cpu": result.ratio(scenario, name, cpu),
            "throughput": result.ratio(scenario, name, throughput),
        },
    }
