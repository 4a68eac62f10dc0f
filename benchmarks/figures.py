"""What engine.py measured, and how it is put: medians over the rounds, ratios within a round."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from benchmarks.clients import CLIENTS
from benchmarks.server import Server

SUBJECT = "lbctl"
BUDGETS = {"h2load": 2.0}  # the most CPU per call that lbctl may take, as a multiple of a peer's


@dataclass(frozen=True, slots=True)
class Figure:
    """One client in one round."""

    cpu_us: float  # per call
    rps: float
    start_s: float  # CPU before and after the calls


@dataclass(frozen=True, slots=True)
class Cores:
    """Which core each side has; None where the system cannot pin or has only one."""

    client: int | None
    server: int | None


@dataclass(frozen=True, slots=True)
class Result:
    """Everything that was measured, and what was not and why."""

    server: Server
    cores: Cores
    settings: dict[str, int]
    figures: dict[str, list[Figure]]
    left_out: dict[str, str]
    failed: bool


def _ratios(result: Result) -> dict[str, dict[str, float]]:
    """Divide our CPU and throughput by each peer's, round by round."""
    ours = result.figures.get(SUBJECT, [])
    ratios = {}
    for name, theirs in result.figures.items():
        pairs = list(zip(ours, theirs, strict=False))
        if name != SUBJECT and pairs:
            ratios[name] = {
                "cpu": median(our.cpu_us / their.cpu_us for our, their in pairs),
                "throughput": median(our.rps / their.rps for our, their in pairs),
            }
    return ratios


def document(result: Result) -> dict[str, object]:
    """Build the JSON document: every single figure, the medians, the ratios."""
    return {
        "schema": "lbctl.bench.engine/v1",
        "server": {"kind": result.server.kind, "description": result.server.description, "core": result.cores.server},
        "client_core": result.cores.client,
        "settings": result.settings,
        "clients": {
            name: {
                "cpu_us": [round(figure.cpu_us, 3) for figure in figures],
                "rps": [round(figure.rps, 1) for figure in figures],
                "start_cpu_s": [round(figure.start_s, 3) for figure in figures],
                "median": {"cpu_us": median(f.cpu_us for f in figures), "rps": median(f.rps for f in figures)},
            }
            for name, figures in result.figures.items()
        },
        "ratios": _ratios(result),
        "budgets": {"cpu": BUDGETS},
        "left_out": result.left_out,
    }


def table(result: Result) -> list[str]:
    """Lay out the same for people."""
    s = result.settings
    pinned = f"core {result.cores.server}, client on core {result.cores.client}"
    if result.cores.client is None:
        pinned = "not pinned: one core, or a system that cannot"
    lines = [
        f"server   {result.server.description}; {pinned}",
        f"load     {s['in_flight']} in flight over {s['backends']} backends, {s['size']}-byte messages, "
        f"{s['rounds']} interleaved rounds of {s['calls']:,} calls",
        "",
    ]
    if result.figures:
        lines.append(
            f"{'client':<16}{'CPU us/call':>12}{'low-high':>17}{'calls/s':>10}{'low-high':>19}{'start-up CPU s':>16}"
        )
    lines += [_row(name, result.figures[name]) for name in _names(result)]
    ratios = _ratios(result)
    if ratios:
        lines += ["", f"{'lbctl against':<16}{'CPU per call':>14}{'throughput':>14}"]
    for name, ratio in ratios.items():
        budget = f"   CPU budget {BUDGETS[name]:.1f}x" if name in BUDGETS else ""
        lines.append(f"{name:<16}{ratio['cpu']:>13.2f}x{ratio['throughput']:>13.2f}x{budget}")
    lines += ["", *(f"{client.name}: {client.note}" for client in CLIENTS if client.name in result.figures)]
    lines += [f"left out: {name}: {reason}" for name, reason in result.left_out.items()]
    return lines


def _names(result: Result) -> list[str]:
    return [client.name for client in CLIENTS if client.name in result.figures]


def _row(name: str, figures: list[Figure]) -> str:
    cpu, rps = sorted(f.cpu_us for f in figures), sorted(f.rps for f in figures)
    start = median(f.start_s for f in figures)
    spread, speeds = f"{cpu[0]:.2f}-{cpu[-1]:.2f}", f"{rps[0]:,.0f}-{rps[-1]:,.0f}"
    return f"{name:<16}{median(cpu):>12.2f}{spread:>17}{median(rps):>10,.0f}{speeds:>19}{start:>16.2f}"
