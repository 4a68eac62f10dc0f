"""A run of a policy that goes by feedback, judged by playing it again with what was measured of every backend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from lbctl.balance.balancer import Balancer
from lbctl.balance.envelope import CALLS, Band, envelope
from lbctl.balance.evidence import UNSTEADY
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Probing, Reported
from lbctl.balance.policies.table import POLICIES
from lbctl.balance.split import Split
from lbctl.balance.virtual import Modelled, Pace
from lbctl.load.lane import Lane
from lbctl.load.loops import Loop
from lbctl.load.plan import Plan
from lbctl.stats.bands import enough, judge_bands, too_few
from lbctl.stats.histogram import Histogram
from lbctl.stats.report import Balance
from lbctl.stats.tally import Tally

Bands = Mapping[Peer, Band]
_NONE: Final[Bands] = {}
_STRAINED: Final = 0.2  # 0 to 0.1 where backends have times of their own, 0.2 to 1 where calls queue there
_CROWDED: Final = 0.25  # calls of others, for each of ours, that move a choice by more than the bands are wide


def replayed(
    balance: Balance, balancer: Balancer, lanes: Sequence[Lane], tally: Tally, plan: Plan, loop: Loop, seed: int
) -> tuple[Balance, Bands]:
    """Return the verdict, and where each share should be; both as they were where the run cannot be played again."""
    if balance.verdict != "not_applicable" or balance.expectation != "feedback":
        return balance, _NONE
    known = [lane for lane in lanes if lane.peer.judged or balancer.expected(lane.peer)]
    judged = [lane for lane in known if not lane.peer.bars]  # guards are not played again
    counts = [lane.peer.judged for lane in judged]
    picks, in_flight = sum(counts), loop.concurrency or 1
    obstacle = _obstacle(balancer, picks, plan, loop) or _kept_out(known, judged)
    missing = 0 if obstacle else enough(picks, len(judged), in_flight)
    if missing:  # so few do not show either what else was measured
        return too_few(balance, picks, missing), _NONE
    obstacle = obstacle or _crowded(balancer.picker) or _strained(balancer)
    if obstacle:
        return replace(balance, note=f"no simulation of this run: {obstacle}"), _NONE
    pace = Pace(in_flight) if plan.rps is None else Pace(gap_ns=round(1e9 / plan.rps))
    backends = [_modelled(lane, tally) for lane in judged]
    probing = isinstance(balancer.picker, Probing)
    bands = envelope(balancer.policy, backends, pace, picks, seed, balancer.keys, together=probing)
    found = judge_bands(balance, counts, [lane.row.address for lane in judged], bands)
    return found, dict(zip((lane.peer for lane in judged), bands, strict=True))


def _obstacle(balancer: Balancer, picks: int, plan: Plan, loop: Loop) -> str:
    """Why nobody can play the run again, in words."""
    if balancer.policy.name not in POLICIES:
        return "its balancer is gRPC's"
    if not balancer.policy.replayed and picks > CALLS:
        return f"its policy takes long to find its way, and no more than {CALLS:,} picks are played"
    if not balancer.evidence().steady:
        return "backends or weights changed during it"
    if plan.schedule is not None and not plan.schedule.is_even:
        return "its calls did not come in even gaps"
    if loop.rps != plan.rps or (plan.schedule is None and loop.concurrency != plan.concurrency):
        return "its load was changed by hand"
    return _unheard(balancer.picker)


def _unheard(picker: object) -> str:
    """What the picker goes by that is not measured here."""
    if isinstance(picker, Split):
        return "several levels of backends shared it"
    by_reports = isinstance(picker, Reported) and not isinstance(picker, Probing)
    return "it goes by reports of the backends" if by_reports else ""


def _crowded(picker: object) -> str:
    """Whether calls of others moved its choices."""
    crowd = picker.crowd() if isinstance(picker, Probing) else 0.0
    return "backends answered its probes with other clients' calls" if crowd > _CROWDED else ""


def _kept_out(known: Sequence[Lane], judged: Sequence[Lane]) -> str:
    """Whether those that guards keep out got more than the first few picks, before or in spite of that."""
    picks = sum(lane.peer.judged for lane in known)
    rest = sum(lane.peer.judged for lane in judged)
    return "guards kept backends out of it" if picks - rest > UNSTEADY * picks else ""


def _strained(balancer: Balancer) -> str:
    """Whether backends were so busy that a policy which goes by their times has made these times itself."""
    strains = balancer.strains.values()
    samples = sum(strain.samples for strain in strains)
    swing = sum(abs(strain.swing) * strain.samples for strain in strains)
    if swing <= _STRAINED * samples:
        return ""
    return "times went with the load, as where calls queue; with fewer in flight there is one"


def _modelled(lane: Lane, tally: Tally) -> Modelled:
    """A backend as it was measured; one that never answered well is as quick as its failures, or as everybody."""
    row = lane.row
    failed = tally.errors + tally.cancelled
    error_ns = tally.lost_ns // failed if failed else 0
    if row.latency.total:
        times = _times(row.latency)
    elif row.errors or not tally.latency.total:
        times = [(error_ns, 1)]
    else:
        times = _times(tally.latency)
    errors = row.errors / row.completed if row.completed else 0.0
    return Modelled(lane.peer.instance, [ns for ns, _ in times], [count for _, count in times], errors, error_ns)


def _times(histogram: Histogram) -> list[tuple[int, int]]:
    return [(round(us * 1000), count) for us, count in histogram.steps()]
