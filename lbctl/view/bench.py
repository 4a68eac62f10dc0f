"""What picks cost, for people and programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from lbctl.view.figures import Document
from lbctl.view.output import as_csv
from lbctl.view.plain_table import Cell, Column, Rendered, render
from lbctl.view.services import Look

BENCH = "lbctl.bench/v1"
_COLUMNS = (
    *("policy", "backends", "weights"),
    *("pick_ns", "again_ns", "end_ns", "budget_ns", "build_us", "state_bytes"),
)


class Cost(Protocol):
    """What one policy costs over one fleet; see ``lbctl.commands.bench``."""

    @property
    def policy(self) -> str: ...
    @property
    def backends(self) -> int: ...
    @property
    def weights(self) -> str: ...
    @property
    def pick_ns(self) -> float: ...
    @property
    def again_ns(self) -> float | None: ...
    @property
    def end_ns(self) -> float | None: ...
    @property
    def budget_ns(self) -> int: ...
    @property
    def build_us(self) -> float: ...
    @property
    def state(self) -> int: ...


class Strategy(Protocol):
    """A form of weighted random, and what it cost elsewhere."""

    @property
    def form(self) -> str: ...
    @property
    def go_ns(self) -> int: ...
    @property
    def go_mb(self) -> float: ...


def costs_table(costs: Sequence[Cost], look: Look) -> Rendered:
    """One row per fleet of a policy; what is over its budget is marked."""
    columns: list[Column[Cost]] = [
        Column("POLICY", lambda c: Cell(c.policy, "bold")),
        Column("BACKENDS", lambda c: Cell(f"{c.backends:,}"), numeric=True),
        Column("WEIGHTS", lambda c: Cell(c.weights), keep=1),
        Column("PICK", lambda c: Cell(time(c.pick_ns), "warn" if c.pick_ns > c.budget_ns else ""), numeric=True),
        Column("BUDGET", lambda c: Cell(time(c.budget_ns)), keep=3, numeric=True),
        Column("AGAIN", lambda c: Cell(time(c.again_ns)), keep=5, numeric=True),
        Column("END", lambda c: Cell(time(c.end_ns)), keep=2, numeric=True),
        Column("BUILD", lambda c: Cell(time(1000 * c.build_us)), keep=4, numeric=True),
        Column("STATE", lambda c: Cell(size(c.state)), keep=1, numeric=True),
    ]
    return render(columns, costs, look.style, width=look.width, headers=look.headers, ellipsis=look.glyphs.ellipsis)


def article_table(rows: Sequence[tuple[Strategy, Cost]], look: Look) -> Rendered:
    """The forms of weighted random beside the figures of an article that measured them in Go."""
    columns: list[Column[tuple[Strategy, Cost]]] = [
        Column("WEIGHTED_RANDOM", lambda row: Cell(f"form={row[0].form}", "bold")),
        Column("BACKENDS", lambda row: Cell(f"{row[1].backends:,}"), numeric=True),
        Column("WEIGHTS", lambda row: Cell(row[1].weights)),
        Column("PICK", lambda row: Cell(time(row[1].pick_ns)), numeric=True),
        Column("GO", lambda row: Cell(time(row[0].go_ns)), numeric=True),
        Column("STATE", lambda row: Cell(size(row[1].state)), numeric=True),
        Column("GO", lambda row: Cell(f"{row[0].go_mb:g} MB"), numeric=True),
    ]
    return render(columns, rows, look.style, width=look.width, headers=look.headers, ellipsis=look.glyphs.ellipsis)


def bench_csv(costs: Iterable[Cost], *, headers: bool = True) -> str:
    """One record per fleet of a policy."""
    return as_csv(_COLUMNS, [[*_values(each).values()] for each in costs], headers=headers)


def bench_document(costs: Iterable[Cost]) -> Document:
    """The same as a plain dict."""
    return {"schema": BENCH, "costs": [_values(each) for each in costs]}


def _values(cost: Cost) -> Document:
    return {
        "policy": cost.policy,
        "backends": cost.backends,
        "weights": cost.weights,
        "pick_ns": round(cost.pick_ns, 1),
        "again_ns": None if cost.again_ns is None else round(cost.again_ns, 1),
        "end_ns": None if cost.end_ns is None else round(cost.end_ns, 1),
        "budget_ns": cost.budget_ns,
        "build_us": round(cost.build_us, 1),
        "state_bytes": cost.state,
    }


def size(octets: int) -> str:
    """Spell a number of bytes: ``56 B``, ``36 kB``, ``1.2 MB``, ``14 MB``."""
    if octets < 1000:
        return f"{octets} B"
    if octets < 999_500:
        return f"{octets / 1e3:.0f} kB"
    return f"{octets / 1e6:.{1 if octets < 9_950_000 else 0}f} MB"


def time(ns: float | None) -> str:
    """Spell a time: ``41ns``, ``1.3us``, ``307us``, ``7.9s``; nothing for none."""
    if ns is None:
        return ""
    for unit, whole in (("ns", 1.0), ("us", 1e3), ("ms", 1e6)):
        if ns < 999.5 * whole:
            return f"{ns / whole:.{1 if whole > 1 and ns < 9.95 * whole else 0}f}{unit}"
    return f"{ns / 1e9:.1f}s"
