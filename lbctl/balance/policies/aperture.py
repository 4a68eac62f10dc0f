"""Aperture: two choices among no more backends than the load needs.

Finagle's random aperture. Backends have an order that is chance, the same for
as long as they live. Only the first of it are used, as many as keep the calls
in flight for each of them between low and high; among these it is p2c. The
calls in flight are an average over a window, 15 s, and with every begin and
end of a call the width may change by one:

    average   used   each    then
    1.0       1      1.0     1
    1.2       1      1.2     2, since 1.2 is above 1.125
    3.0       2      1.5     3
    3.0       3      1.0     3
    2.2       3      0.73    2, since 0.73 is below 0.875

A client with few calls uses few backends by design, so their connections and
caches are warm, and the others get nothing. It begins with min-aperture, and
needs some windows until the width is what the load asks for: twenty calls in
flight use 3 backends after 2 s, 11 after 15 s and 17 after a minute. Where no
width fits, as for an average of 1.2, it goes back and forth.

Which backends come first is chance, by the XXH64 of address and seed. Clients
should have different seeds: with the same one all use the same backends. By
chance some backends still have more clients than others, and some have none;
what gives all of them as many is --subset kind=aperture, Finagle's
deterministic aperture, with --policy p2c.

Weights are ignored. A backend that leaves or is out of the rotation makes
room for the next one in the order. The width outlives the picker. A failed
call counts as in flight for the failure penalty, as in p2c. Until that is
over its backend does not count for the width, so one more is used: else one
that fails at once would keep everything to itself, as calls hardly are in
flight there. Finagle connects to those it uses; lbctl connects to all, to
show them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle

from lbctl.balance.hashing.functions import xxh64
from lbctl.balance.load_band import NEVER_NS, Limits, LoadBand
from lbctl.balance.peer import Peer
from lbctl.balance.penalty import SERVER, Kept, remembered
from lbctl.balance.policies.base import Call, Expectation, Policy, Setup, Why
from lbctl.balance.policies.options import option
from lbctl.balance.policies.p2c import P2c
from lbctl.balance.policies.penalised import Penalised, failure_penalty
from lbctl.model import Reply


@dataclass(frozen=True, slots=True)
class Options:
    """The band, and whose order it is."""

    low: float = option(
        0.875, "calls in flight for each backend, on average, below which fewer are used", least=0, most=1_000_000
    )
    high: float = option(
        1.125, "calls in flight for each backend, on average, above which more are used", above=0, most=1_000_000
    )
    window: float = option(15.0, "time over which calls in flight are averaged", least=0, unit="duration")
    min_aperture: int = option(1, "how many backends are used at least", least=1, most=1_000_000)
    seed: int = option(0, "whose order of backends; clients should have different ones", least=0, most=(1 << 32) - 1)
    failure_penalty: float = failure_penalty()

    def __post_init__(self) -> None:
        if self.low >= self.high:
            raise ValueError("low is not below high")


class _Kept(Kept):
    """What a peer remembers: the slots of its failed calls, and the band, which it shares with all others."""

    __slots__ = ("band",)

    def __init__(self) -> None:
        super().__init__()
        self.band: LoadBand | None = None


class Aperture(Penalised[_Kept]):
    """Two choices among the first of its peers; how many is the peers' memory."""

    def __init__(self, peers: Sequence[Peer], setup: Setup) -> None:
        super().__init__(peers, setup, _Kept)
        options: Options = setup.options
        self._setup = setup
        self._order = sorted(peers, key=lambda peer: xxh64(peer.instance.address.encode(), options.seed))
        self._band = _band_of(peers)
        self._band.fit(Limits(options.low, options.high, round(options.window * 1e9), options.min_aperture), len(peers))
        self._moved = self._band.moved
        self._is_due = cycle([True, *[False] * (len(peers) - 1)]).__next__  # a look at everybody, now and then
        self._open(NEVER_NS)

    def pick(self, call: Call) -> Peer:
        now_ns, peer = call.now_ns, self._pick(call)
        if self._is_due():  # from here on as _begun, without a call
            self._recount(now_ns)
        if self._moved(1, now_ns):
            self._open(now_ns)
        return peer

    def why(self, call: Call) -> tuple[Peer, Why]:
        band, inside = self._band, self._inside
        text = f"the first {band.width} of {len(self._peers)}, for {band.average:.3g} calls in flight on average"
        peer, why = inside.why(call)
        self._begun(call.now_ns)
        return peer, why._replace(text=f"{text}; {why.text}")

    def ended(self, peer: Peer, begun_ns: int, now_ns: int, reply: Reply) -> None:
        node = self._nodes.get(peer)
        if node is None:
            return  # its calls in flight are not among those that are counted
        begins_to_fail = False
        if reply.code or reply.origin is not SERVER:
            super().ended(peer, begun_ns, now_ns, reply)
            begins_to_fail = node.count > 0 and peer not in self._failing
        if self._moved(-1, now_ns) or begins_to_fail:
            self._open(now_ns)

    def _begun(self, now_ns: int) -> None:
        """A call begins."""
        if self._is_due():
            self._recount(now_ns)
        if self._moved(1, now_ns):
            self._open(now_ns)

    def _recount(self, now_ns: int) -> None:
        """Look at everybody: others send calls too, those that try a backend out and pickers before this one."""
        self._band.in_flight = sum([peer.picks - peer.finished for peer in self._peers])
        if self._failing and any(not self._nodes[peer].at(now_ns) for peer in self._failing):
            self._open(now_ns)

    def _open(self, now_ns: int) -> None:
        """Use as many as the width says, and those before them that failed of late."""
        inside: list[Peer] = []
        self._failing: set[Peer] = set()
        for peer in self._order:
            if len(inside) - len(self._failing) == self._band.width:
                break
            inside.append(peer)
            if self._nodes[peer].at(now_ns):
                self._failing.add(peer)
        self._inside = P2c(inside, self._setup)
        self._pick = self._inside.pick


def _band_of(peers: Sequence[Peer]) -> LoadBand:
    """The band that these peers share, which those that have none learn of."""
    memories = [remembered(peer, _Kept) for peer in peers]
    band = next((memory.band for memory in memories if memory.band is not None), None) or LoadBand()
    for memory in memories:
        memory.band = band
    return band


POLICY = Policy(
    "aperture",
    "p2c among as few backends as the load needs",
    Expectation.FEEDBACK,
    Aperture,
    Options(),
    aliases=("random_aperture",),
    replayed=False,
)
