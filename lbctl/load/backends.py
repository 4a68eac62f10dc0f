"""The backends of a run: what the registry says is turned into lanes, connections and ready marks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol

from lbctl.balance.balancer import Balancer
from lbctl.balance.change import Change
from lbctl.balance.peer import Peer
from lbctl.balance.selection import NOT_IN_SUBSET
from lbctl.load.engine import Engine
from lbctl.load.engines import Dialling, Factory
from lbctl.load.lane import Lane
from lbctl.load.resets import Resets
from lbctl.model import Identity, Instance
from lbctl.rpc.transport import Connectivity, Transport
from lbctl.stats.tally import Tally
from lbctl.wire.request import Request

_REASONS: Final = 20  # remembered per backend
_FORGOTTEN_S: Final = 30.0
_RESETS_BLAMED: Final = 20  # the strictest known server allows that many

Note = Callable[[str, str | None, str, str], None]  # kind, backend, text, level


class Companion(Protocol):
    """Does something for every backend beside its calls, from when it is connected to until the registry drops it."""

    def joined(self, peer: Peer) -> None: ...

    def left(self, peer: Peer) -> None: ...

    async def aclose(self) -> None: ...


class Backends:
    """Every backend of the run, also those that left; ``lanes`` is in the order of appearance."""

    def __init__(
        self,
        balancer: Balancer,
        engine: Engine,
        tally: Tally,
        factory: Factory,
        dialling: Dialling,
        note: Note,
        elapsed_s: Callable[[], float],
    ) -> None:
        self.lanes: dict[Identity, Lane] = {}
        self.streaming = False  # whether calls carry several messages
        self.unplaced: Lane | None = None  # of calls whose backend is not known yet, where picks are made elsewhere
        self.companions: list[Companion] = []  # before the first backend
        self._subchannels: list[Transport] = []  # also those of earlier memberships
        self._current: dict[Identity, Lane] = {}
        self._balancer = balancer
        self._engine = engine
        self._tally = tally
        self._factory = factory
        self._dialling = dialling
        self._note = note
        self._elapsed_s = elapsed_s
        self._unsettled: set[Lane] = set()
        self._settled = asyncio.Event()
        self._settled.set()
        self._silent = True  # the first snapshot is told as one event by the caller

    def forget(self) -> None:
        """Count anew, without those that have left."""
        for identity, lane in list(self.lanes.items()):
            if lane.left_s is None:
                lane.forget()
            else:
                del self.lanes[identity]

    def apply(self, instances: Iterable[Instance]) -> None:
        """Follow a full snapshot of the registry: connect what is new, let go of what is gone."""
        change: Change = self._balancer.update(instances)
        for peer in change.removed:
            self._remove(peer)
        for peer in change.added:
            self._add(peer)
        for peer, old, new in change.reweighted:
            self._note("weight", peer.instance.address, f"weight {old} -> {new} (registry)", "change")
        for peer, _, status in change.restated:
            self._note("health", peer.instance.address, f"{status or 'enabled'} (registry)", "change")
        self._silent = False
        self._connect()
        self._dialling.flusher.flush()

    def _add(self, peer: Peer) -> None:
        identity = peer.instance.identity
        row = self._tally.backend(identity)
        before = self.lanes.get(identity)
        elapsed_s, connections = self._elapsed_s(), self._dialling.options.connections
        lane = Lane(peer, row, self._engine, self._changed, self._noticed, elapsed_s, connections, before)
        lane.request = self._dialling.request_for(peer.instance)
        self.streaming = lane.request.stream is not None
        lane.subchannel = self._factory(peer.instance, lane, self._dialling)
        self._subchannels = [known for known in self._subchannels if not known.is_over]
        self._subchannels.append(lane.subchannel)
        peer.target = lane.subchannel
        if self._dialling.bases_for is not None:
            self._vary(lane, self._dialling.bases_for(peer.instance))
        self.lanes[identity] = self._current[identity] = lane
        self._engine.attach(lane)
        self._unsettled.add(lane)
        self._settled.clear()
        if not self._silent:
            self._note("joined", peer.instance.address, f"joined, weight {peer.weight}", "info")

    def _vary(self, lane: Lane, bases: Sequence[Request]) -> None:
        """Have calls pass the lane, which puts what they have in common to what is their own."""
        sent_by = lane if self.unplaced is None else self.unplaced
        sent_by.bases, sent_by.peer.target = bases, sent_by
        self.streaming = any(each.stream is not None for each in bases)

    def _connect(self) -> None:
        """Connect to whom calls may go; who is not in the subset, now or ever, is left alone."""
        for lane in self._current.values():
            if lane.wanted:
                continue
            if lane.peer.aside == NOT_IN_SUBSET:
                self._settle(lane)
                continue
            lane.wanted = True
            lane.subchannel.connect()
            for companion in self.companions:
                companion.joined(lane.peer)

    def _remove(self, peer: Peer) -> None:
        lane = self._current.pop(peer.instance.identity)
        lane.left_s = self._elapsed_s()
        self._settle(lane)
        self._note("left", peer.instance.address, "left the registry", "change")
        lane.subchannel.retire()
        for companion in self.companions:
            companion.left(peer)

    def _changed(self, lane: Lane, state: Connectivity, reason: str) -> None:
        """A connection came up, went down, or could not be made."""
        ready = state is Connectivity.READY
        self._balancer.mark(lane.peer, ready)
        if ready:
            self._tell_recovery(lane)
        elif reason:
            self._tell_trouble(lane, reason)
        if state is not Connectivity.CONNECTING:
            self._settle(lane)

    def _tell_trouble(self, lane: Lane, reason: str) -> None:
        """Once per reason, unless it has not been heard for long: some backends go up and down all the time."""
        now_s = self._elapsed_s()
        before_s = lane.told.get(reason)
        if len(lane.told) >= _REASONS:
            lane.told.clear()
        lane.told[reason] = now_s
        if before_s is None or now_s - before_s >= _FORGOTTEN_S:
            lane.in_trouble = True
            self._note("health", lane.instance.address, _explained(reason, lane.resets), "bad")

    def _tell_recovery(self, lane: Lane) -> None:
        if lane.in_trouble:
            lane.in_trouble = False
            self._note("health", lane.instance.address, "connected", "good")

    def _noticed(self, lane: Lane, text: str) -> None:
        self._note("health", lane.instance.address, text, "bad")

    def _settle(self, lane: Lane) -> None:
        self._unsettled.discard(lane)
        if not self._unsettled:
            self._settled.set()

    async def settled(self) -> None:
        """Wait until every backend has been connected to, or could not be."""
        await self._settled.wait()

    @property
    def attempts(self) -> int:
        """Everything that was sent, also what nobody has seen at a backend yet."""
        unplaced = self.unplaced.peer.sent if self.unplaced is not None else 0
        return unplaced + sum(lane.peer.sent for lane in self.lanes.values())

    @property
    def count(self) -> int:
        """How many backends the registry lists now, those apart that this client has no use for."""
        return sum(lane.wanted for lane in self._current.values())

    def failures(self) -> dict[str, str]:
        """Why each current backend cannot be called, by address; those that can are not in it."""
        return {
            lane.instance.address: lane.subchannel.reason
            for lane in self._current.values()
            if lane.wanted and lane.subchannel.state is not Connectivity.READY
        }

    def drain(self, key: str, address: str) -> None:
        """Take a backend out of this client's rotation, or put it back."""
        for identity, lane in self._current.items():
            if identity.key == key and str(identity.endpoint) == address:
                drained = not lane.peer.drained
                self._balancer.drain(lane.peer, drained)
                self._note(
                    "drain",
                    address,
                    "drained in this client" if drained else "no longer drained in this client",
                    "change",
                )

    async def aclose(self) -> None:
        """Close every connection."""
        companions = (companion.aclose() for companion in self.companions)
        await asyncio.gather(*companions, *(subchannel.aclose() for subchannel in self._subchannels))


def _explained(reason: str, resets: Resets) -> str:
    """A reason, with its probable cause where that is ours."""
    if "ENHANCE_YOUR_CALM" in reason and "too_many_pings" not in reason and resets.total >= _RESETS_BLAMED:
        return f"{reason}: reset-flood protection, after {resets.most} cancelled calls within 30s"
    return reason
