"""A search for the highest rate, back from a saved run."""

from __future__ import annotations

from lbctl.stats.saved_parts import outcome_from
from lbctl.stats.saved_values import Part
from lbctl.stats.searched import Probe, RateSearch


def search_from(found: Part | None) -> RateSearch | None:
    """The search of a run, None for a run without one; raises NotARun, which says what is wrong with it."""
    if found is None:
        return None
    low, high = _bracket(found)
    return RateSearch(
        objective=found.texts("objective"),
        probe_s=found.number("probe_s"),
        precision=found.number("precision"),
        ended=found.text("ended"),
        low=low,
        high=high,
        probes=tuple(map(_probe, found.parts("probes"))),
    )


def _bracket(found: Part) -> tuple[float | None, float | None]:
    edges = found.items("bracket")
    if len(edges) != 2:
        raise found.refuse("bracket", "two rates are needed")
    both = Part({"low": edges[0], "high": edges[1]}, "search.bracket")
    return both.maybe("low"), both.maybe("high")


def _probe(probe: Part) -> Probe:
    return Probe(
        rate=probe.number("rps"),
        done=probe.number("done_rps"),
        requests=probe.whole("requests"),
        ok=probe.whole("ok"),
        errors=probe.whole("errors"),
        cancelled=probe.whole("cancelled"),
        dropped=probe.whole("dropped"),
        p50_ms=probe.maybe("p50_ms"),
        p99_ms=probe.maybe("p99_ms"),
        busy=probe.number("busy"),
        late=probe.number("late"),
        verdict=probe.text("verdict"),
        reason=probe.text("reason", ""),
        is_close=probe.truth("close", False),
        outcomes=tuple(map(outcome_from, probe.parts("thresholds"))),
    )
