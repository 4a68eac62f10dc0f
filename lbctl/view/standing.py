"""How the backends of a run stand: what the cells of a table are worked out from."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

from lbctl.stats.report import BackendRow, Report
from lbctl.view.digest import Digest
from lbctl.view.text import count
from lbctl.view.theme import Look
from lbctl.view.ui import Ui

_NO_PICK = 1e-6  # what is left of a difference of expected picks

# What a state looks like; everything else is on its way.
_STATES = {
    **dict.fromkeys(("transient_failure", "left"), "gone"),
    **dict.fromkeys(("unhealthy", "ejected", "breaker_open"), "out"),
    **dict.fromkeys(("not_in_subset", "other_zone"), "aside"),
    "ready": "ready",
}


class Totals(NamedTuple):
    """What the rows are measured against. ``picks`` are the policy's, ``attempts`` what was sent of them."""

    picks: int
    attempts: int
    expected: float
    largest: float  # the share that fills a bar
    random: bool  # deviations are noise up to a point
    stated: bool  # the expected shares are a promise, not only a guide


class Line(NamedTuple):
    """One backend with everything its cells need; ``idle``: none of its calls ended in the window that is shown."""

    row: BackendRow
    digest: Digest | None
    share: float | None
    expected: float | None  # 0..1
    delta: float | None
    role: str  # the colour of the deviation of what was picked, which the policy answers for
    rps: float | None
    spark: Sequence[float]
    idle: bool = False


def totals(report: Report) -> Totals:
    """Return sums over all backends, including those that left."""
    rows = report.backends
    sent, due = [row.attempts for row in rows], [row.expected for row in rows]
    picks, attempts, expected = sum([row.picks for row in rows]), sum(sent), sum(due)
    largest = max(max(sent, default=0) / (attempts or 1), max(due, default=0.0) / (expected or 1))
    balance = report.balance
    return Totals(picks, attempts, expected, largest or 1.0, balance.expectation == "multinomial", balance.stated)


def line(row: BackendRow, ui: Ui, now_s: float, sums: Totals, look: Look) -> Line:
    """Work out what the cells of a backend will say."""
    sight = ui.sight
    recent = sight.seconds is not None
    out = recent and not row.attempts and row.expected < _NO_PICK  # of the rotation, all the time
    share = row.attempts / sums.attempts if sums.attempts and not out else None
    expected = row.expected / sums.expected if sums.expected and not out else None
    delta = share - expected if sums.stated and share is not None and expected is not None else None
    picked = row.picks / sums.picks - expected if delta is not None and expected is not None else None
    role = _delta_role(picked, expected, sums, look)
    return Line(
        row,
        sight.digests.of(row.latency, now_s),
        share,
        expected,
        delta,
        role,
        sight.row_rate(row),
        sight.series.row(row),
        idle=recent and not row.ok + row.errors,
    )


def _delta_role(delta: float | None, expected: float | None, sums: Totals, look: Look) -> str:
    style = look.style
    if delta is None or expected is None or abs(delta) < 0.01:
        return style.muted
    if sums.random:
        spread = sqrt(max(expected * (1 - expected), 1e-12) / sums.picks)
        if abs(delta) <= 3 * spread:
            return style.muted
    return style.err if abs(delta) >= 0.03 else style.warn


def state_mark(state: str, look: Look) -> tuple[str, str]:
    """Return the colour and the glyph of a backend's state."""
    style, glyphs = look
    kind = _STATES.get(state, "half")
    if kind == "ready":
        return style.ok, glyphs.ready
    if kind == "half":
        return style.warn, glyphs.half
    if kind == "out":
        return style.err, glyphs.out
    if kind == "aside":
        return style.muted, glyphs.aside
    return (style.muted if state == "left" else style.err), glyphs.gone


def weight_in_use(row: BackendRow, width: int = 6) -> str:
    """Spell the weight that counts, which need not be whole: ``10``, ``2.5``, ``0.34``."""
    weight = row.weight if row.override is None else row.override
    return f"{weight:.3g}" if weight < 100 else count(weight, width)


def any_overridden(report: Report) -> bool:
    """Whether some backend has another weight than the registry says."""
    return any(row.override is not None for row in report.backends)


def condition(row: BackendRow) -> str:
    """Say what is the matter with a backend, if anything: ``ejected``, ``warming: has 34% of its weight``."""
    words = [] if row.state == "ready" else [row.state.replace("_", " ")]
    if row.left_s is not None:
        words = [f"left at {row.left_s:.1f}s"]
    return ": ".join([*words, *([row.reason] if row.reason else [])])
