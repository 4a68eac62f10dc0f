"""The methods of a saved run of several."""

from __future__ import annotations

from lbctl.stats.report import MethodRow
from lbctl.stats.saved_parts import codes_from, histogram_from
from lbctl.stats.saved_values import Part


def methods_from(run: Part, times: Part) -> tuple[MethodRow, ...]:
    """What became of each method's calls; nothing of a run of one, or of an older file."""
    found = times.maybe_part("methods") or Part({}, "histograms.methods")
    return tuple(
        MethodRow(
            method=(name := each.text("method")),
            weight=each.number("weight"),
            ok=each.whole("ok"),
            errors=each.whole("errors"),
            cancelled=each.whole("cancelled", 0),
            codes=codes_from(each, "codes"),
            latency=histogram_from(found, name),
        )
        for each in run.parts("methods")
    )
