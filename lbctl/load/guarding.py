"""What is around the policy of a run: guards get the time, breakers stand at the gate, and both are reported."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from lbctl.balance.balancer import Balancer
from lbctl.balance.guards.plan import GuardPlan
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Policy
from lbctl.balance.selection import Mode, standing
from lbctl.balance.weighing import goes_by_weights
from lbctl.clock import Clock
from lbctl.load.admission import Gate
from lbctl.load.spells import Note, Spells

_TICK_S: Final = 0.02
_TOLD: Final = {
    Mode.WAIT: "every backend that can be reached is out of the rotation: calls wait for one to come back",
    Mode.FAIL: "every backend that can be reached is out of the rotation: calls fail at once",
}


class Guarding:
    """The guards of one run; costs nothing where none was asked for."""

    def __init__(self, plan: GuardPlan, balancer: Balancer, clock: Clock, seed: int, note: Note) -> None:
        self.plan = plan
        self._balancer = balancer
        self._now = clock.now_ns
        self._note = note
        self._guards = plan.guards(balancer, seed)
        self._timer: asyncio.TimerHandle | None = None
        self._mode = Mode.NORMAL
        self._spells = Spells(plan.breakers, note)
        self._version = -1  # of the balancer, when it was looked at
        self._weighing: tuple[Policy, bool] | None = None  # what is known of the policy
        self._used: Sequence[str] = ()  # what was told of subset and zone
        self.gate: Gate | None = None
        if plan.breakers or plan.selection.when_all_out is Mode.FAIL:
            self.gate = Gate(balancer, plan.admission(seed))
        if plan.slow_start is not None:
            self._by_weights(balancer.policy)  # which takes longer than a frame may
        balancer.guard(*self._guards)
        balancer.select(plan.selecting(seed))

    def begin(self) -> None:
        """The run begins: guards know the time from here on."""
        if not self.plan.is_empty or self._guards:
            self._tick()

    def end(self) -> None:
        """Let no more time pass."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._spells.end(self.turned_away, self._now())

    def _tick(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(_TICK_S, self._tick)
        now = self._now()
        self._balancer.tick(now)
        self._spells.look(self.turned_away, now)
        self._look_at_mode()
        if self._balancer.version != self._version:
            self._version = self._balancer.version
            self._look_at_use()

    def _look_at_mode(self) -> None:
        """Tell when too many backends are out of the rotation, and when no more."""
        mode = self._balancer.mode
        if mode is self._mode:
            return
        self._mode = mode
        if mode is Mode.NORMAL:
            self._note("health", None, "enough backends are back in the rotation", "good")
        elif mode is Mode.PANIC:
            peers = self._balancer.peers.values()
            out = f"{sum(not peer.eligible for peer in peers)} of {len(peers)} backends are out of the rotation"
            self._note("health", None, f"panic: {out}, so all that can be reached are used", "bad")
        else:
            self._note("health", None, _TOLD[mode], "bad")

    def _look_at_use(self) -> None:
        """Tell who is used at all, at the beginning and whenever that changes."""
        before, self._used = self._used, tuple(self.plan.selection.told(self._balancer.peers.values()))
        for text in self._used:
            if text not in before:
                self._note("policy", None, text, "change")

    def all_out(self) -> str:
        """Where calls wait because guards keep everybody out: that, and which guards."""
        if self._balancer.mode is not Mode.WAIT:
            return ""
        found = Counter(standing(peer) for peer in self._balancer.peers.values() if peer.bars)
        states = ", ".join(f"{count:,} {state.replace('_', ' ')}" for state, count in found.most_common())
        return f"every backend that can be reached was out of the rotation ({states})"

    def counts(self, peer: Peer) -> Mapping[str, int]:
        """What was done to this backend so far."""
        return {name: count for guard in self._guards for name, count in guard.counts(peer).items()}

    @property
    def turned_away(self) -> Mapping[str, int]:
        """Calls that were not let in, by whom."""
        return self.gate.turned_away if self.gate is not None else {}

    def doubts(self) -> Iterator[str]:
        """What could not be done as it was asked for."""
        for guard in self._guards:
            yield from guard.doubts()
        yield from self.plan.selection.doubts(self._balancer.peers.values())
        yield from self._without_effect()

    def _without_effect(self) -> Iterator[str]:
        """What was asked for and changes nothing."""
        plan, policy = self.plan, self._balancer.policy
        subset = plan.selection.subset
        by_part = {
            "slow-start": plan.slow_start is not None,
            "the part of a backend that subset aperture gives": subset is not None and subset.kind == "aperture",
        }
        if any(by_part.values()) and not self._by_weights(policy):
            for what in (what for what, asked in by_part.items() if asked):
                yield f"{what} has no effect: {policy.name} does not go by weights"
        if plan.health is not None and policy.ignores_health:
            yield f"health-check has no effect: {policy.name} ignores health, as in gRPC"
        takes_out = (plan.health, plan.outlier, plan.circuit)
        if plan.selection.when_all_out is not Mode.PANIC and takes_out == (None, None, None):
            yield "when-all-out has no effect: nothing takes backends out of the rotation"

    def _by_weights(self, policy: Policy) -> bool:
        if self._weighing is None or self._weighing[0] is not policy:
            self._weighing = policy, goes_by_weights(policy)
        return self._weighing[1]
