"""A balancer under rules of selection, whose backends tests take out."""

from __future__ import annotations

from collections import Counter

from lbctl.balance.guards.base import EJECTED
from lbctl.balance.selection import Selection
from tests.balance.fleet import ANY
from tests.balance.guards.ward import Ward


def ward(keys: str = "ABCD", policy: str = "round_robin", **rules: object) -> Ward:
    return Ward(keys, selection=Selection(**rules), policy=policy)  # type: ignore[arg-type]


def bar(one: Ward, keys: str, why: str = EJECTED) -> None:
    for key in keys:
        one.balancer.bar(one.peer(key), why, barred=True)


def counts(one: Ward, picks: int = 10_000) -> dict[str, int]:
    picked: Counter[str] = Counter()
    for _ in range(picks):
        picker = one.balancer.picker
        assert picker is not None
        peer = picker.pick(ANY)
        peer.picks += 1
        picked[peer.instance.key] += 1
    return dict(picked)
