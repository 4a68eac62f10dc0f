"""The balancer: which instances there are, which of them may be picked, and the picker over those.

State only: nothing here dials, waits or looks at a clock. The registry's full snapshots go in, differences come out;
whoever dials reports back with ``mark``. A new picker is built when it is asked for, so a burst of changes costs one.

    registry says     connected   drained by hand   weight   status     picked
    listed            yes         no                > 0      none       yes
    listed            yes         no                0        none       no, unless every weight is 0: then all are 1
    listed            no          -                 -        -          no
    listed            yes         yes               -        -          no
    listed            yes         barred            -        -          no, unless ``Selection`` says so
    listed            yes         no                -        disabled   no
    not any more      -           -                 -        -          no, and the caller closes it
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from random import Random
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from lbctl.balance.change import Change, revised
from lbctl.balance.epochs import Ledger
from lbctl.balance.evidence import UNSTEADY, Epoch, Evidence
from lbctl.balance.explaining import Asked, Explained, Explaining
from lbctl.balance.guards.base import HEALTH, Ended, Guard, moves_on
from lbctl.balance.keys import Keys
from lbctl.balance.peer import Nowhere, Peer
from lbctl.balance.policies.base import Expectation, Learning, Picker, Policy, Reported, Setup
from lbctl.balance.selection import Choice, Mode, Selection
from lbctl.balance.split import Split
from lbctl.balance.strain import Strain
from lbctl.model import Code, Identity, Instance, Reply

_OK: Final = Reply(Code.OK)
_LOOKS: Final = 40  # at a law that is known in parts: some 20 to 30 ms each


def _nobody(peer: Peer) -> None:
    """Nobody is asked."""


def _unseen(before: Picker, after: Picker) -> None:
    """Nobody compares."""


def _unheard(kind: str, peer: Peer, text: str, level: str) -> None:
    """Nobody listens."""


class _Built(NamedTuple):
    """What the current picker was built from."""

    policy: Policy
    choice: Choice
    weights: tuple[float, ...]

    @property
    def peers(self) -> tuple[Peer, ...]:
        return tuple(peer for share in self.choice.shares for peer in share.peers)


class Balancer:
    """Keeps the peers of one service and the picker over those that may take calls now."""

    def __init__(self, policy: Policy, rng: Random, keys: Keys | None = None) -> None:
        self.on_change: Callable[[], None] | None = None  # called when `picker` may have become another one
        self.on_probe: Callable[[Peer], None] = _nobody  # a policy asks this peer for a load report
        self.on_note: Callable[[str, Peer, str, str], None] = _unheard  # kind, peer, text and level of an event
        self.on_rebuilt: Callable[[Picker, Picker], None] = _unseen  # the picker before, and now, of one policy
        self.version = 0  # grows with on_change
        self.watched = False  # somebody wants to know how attempts end
        self.strains: defaultdict[Peer, Strain] = defaultdict(Strain)  # where the policy goes by times
        self.trials: deque[Peer] = deque()  # peers out of the rotation that are to get one call each, to try them
        self._policy = policy
        self._rng = rng
        self._keys = keys
        self._guards: tuple[Guard, ...] = ()
        self._selection = Selection()
        self._learn: Callable[[Peer, int, int, Reply], None] | None = None
        self._hear: Callable[[Peer, Any, int], None] | None = None
        self._by_times = False
        self._renewed = False
        self._peers: dict[Identity, Peer] = {}
        self._departed: dict[Identity, Peer] = {}
        self._ledger = Ledger()
        self._before = 0  # picks with another policy, another set or other weights than now
        self._asked: Asked | None = None  # who wants to know why a pick to come is made
        self._picker: Picker | None = None
        self._front: Picker | None = None  # the same, or what stands before it
        self._built: _Built | None = None
        self._stale = False

    @property
    def policy(self) -> Policy:
        return self._policy

    @property
    def keys(self) -> Keys | None:
        """Where the hash keys of calls come from; None where calls carry none."""
        return self._keys

    @property
    def peers(self) -> Mapping[Identity, Peer]:
        """The peers that the registry lists, in key order."""
        return MappingProxyType(self._peers)

    @property
    def departed(self) -> Mapping[Identity, Peer]:
        """Peers that the registry no longer lists and that have been in a picker's set."""
        return MappingProxyType(self._departed)

    @property
    def picker(self) -> Picker | None:
        """The picker over the peers that may take calls now; None when there is none, and calls have to wait."""
        if self._stale:
            self._rebuild()
        return self._front

    @property
    def choices(self) -> int:
        """How many peers the picker has to choose from."""
        return len(self._built.peers) if self.picker is not None and self._built is not None else 0

    @property
    def epochs(self) -> int:
        """How many pickers that had picks are gone."""
        return self._ledger.epochs

    @property
    def mode(self) -> Mode:
        """Whether everything is normal, or what is done because too many backends are out of the rotation."""
        if self._stale:
            self._rebuild()
        return self._built.choice.mode if self._built is not None else Mode.NORMAL

    def guard(self, *guards: Guard) -> None:
        """Have these watch how attempts end; before the first pick."""
        self._guards = guards
        self.watched = bool(guards)

    def select(self, selection: Selection) -> None:
        """Choose whom to pick from by these rules; before the first update."""
        self._selection = selection

    def update(self, instances: Iterable[Instance]) -> Change:
        """Take a full snapshot of the service.

        The same key at another address is another peer; the first of several equal identities counts; a peer that
        comes back is the object it was, with its counts. Leases, revisions and metadata alone are no change.
        """
        wanted: dict[Identity, Instance] = {}
        for instance in instances:
            wanted.setdefault(instance.identity, instance)
        removed = tuple(self._removed(identity) for identity in [*self._peers] if identity not in wanted)
        reweighted, restated = revised(self._peers, wanted)
        added = tuple(self._added(wanted[identity]) for identity in sorted(wanted) if identity not in self._peers)
        if added:
            self._peers = dict(sorted(self._peers.items()))
        change = Change(added, removed, reweighted, restated)
        if change:
            self._selection.enlist(self._peers.values())
            self._changed()
        return change

    def mark(self, peer: Peer, ready: bool) -> None:
        """Say whether calls can be sent to the peer; a peer that has left stays out whatever is said."""
        if peer.ready != ready and self._peers.get(peer.instance.identity) is peer:
            peer.ready = ready
            peer.arrivals += ready
            self._marked(peer)

    def drain(self, peer: Peer, drained: bool) -> None:
        """Take the peer out of the rotation, or back in; it stays connected, and drained also when it re-registers."""
        if peer.drained != drained:
            peer.drained = drained
            self._marked(peer)

    def switch(self, policy: Policy) -> None:
        """Go on with another policy; nothing the old one remembered is kept."""
        if policy is not self._policy:
            self._policy = policy
            self._changed()

    def bar(self, peer: Peer, why: str, *, barred: bool) -> None:
        """Keep the peer out of the rotation for this reason, or no longer; it is out while any reason stands."""
        if barred != (why in peer.bars):
            (peer.bars.add if barred else peer.bars.discard)(why)
            self._marked(peer)

    def warm(self, peer: Peer, warmth: float) -> None:
        """Give the peer this part of its weight, 0..1 and above 0."""
        if peer.warmth != warmth:
            peer.warmth = warmth
            self._changed()

    def renew(self) -> None:
        """Build a new picker although the set is the same: what the policy goes by has changed."""
        self._renewed = True
        self._changed()

    def forget(self) -> None:
        """Judge and count from here on; what the policy and the guards know of peers stays."""
        for peer in self._everyone():
            peer.forget()
        self._departed.clear()
        self._ledger, self._before = Ledger(), 0
        self.renew()

    def try_out(self, peer: Peer) -> None:
        """Have one call sent to a peer that is out of the rotation, once it can be; no verdict is made of it."""
        self.trials.append(peer)
        if self.on_change is not None:
            self.on_change()

    def untried(self, peer: Peer, trial_ns: int) -> None:
        """A call that was to try the peer out has told nothing of it, or was never sent."""
        for guard in self._guards:
            guard.untried(peer, trial_ns)

    def call_off(self, peer: Peer) -> None:
        """Try the peer out no more."""
        if peer in self.trials:
            self.trials = deque(other for other in self.trials if other is not peer)

    def succeeded(self, peer: Peer, calls: Sequence[Ended], now_ns: int) -> None:
        """Attempts ended OK, and have been counted as finished."""
        learn = self._learn
        if learn is not None:
            for call in calls:
                learn(peer, call.begun_ns, now_ns, _OK)
            if self._by_times:  # one of those that one read ended is enough
                took_s = (now_ns - calls[0].begun_ns) / 1e9
                self.strains[peer].add(peer.in_flight + len(calls) - 1, took_s)
        for guard in self._guards:
            guard.succeeded(peer, calls, now_ns)

    def ended(self, peer: Peer, begun_ns: int, now_ns: int, reply: Reply, trial_ns: int = 0) -> None:
        """An attempt ended with this reply, and has been counted as finished; ``trial_ns`` as in Ended."""
        if self._learn is not None:
            self._learn(peer, begun_ns, now_ns, reply)
        if not moves_on(reply):
            for guard in self._guards:
                guard.ended(peer, trial_ns, reply, now_ns)

    def withdrawn(self, peer: Peer, begun_ns: int, now_ns: int, reply: Reply) -> None:
        """An attempt was cancelled because another one decided its call: policies hear of it, guards do not."""
        if self._learn is not None:
            self._learn(peer, begun_ns, now_ns, reply)

    def reported(self, peer: Peer, report: Any, now_ns: int) -> None:  # noqa: ANN401
        """A load report came that did not belong to a call."""
        if self._hear is not None:
            self._hear(peer, report, now_ns)

    def doubts(self) -> Iterable[str]:
        """Why the policy was not what its name says."""
        return self._policy.doubts(self._everyone())

    def tick(self, now_ns: int) -> None:
        """Let time pass for the guards."""
        for guard in self._guards:
            guard.tick(self._peers.values(), now_ns)

    def expected(self, peer: Peer) -> float:
        """Return the picks the peer should have had by now."""
        return self._ledger.expectations([*self._peers.values(), peer])[peer]

    def expectations(self) -> Mapping[Peer, float]:
        """Return the picks that every peer, listed or departed, should have had by now."""
        return self._ledger.expectations(self._everyone())

    def evidence(self, *, over: bool = False) -> Evidence:
        """Return what a verdict on the balance needs to know; when the run is ``over`` a law may take its time."""
        self._revise(_LOOKS if over else 1)
        everyone = self._everyone()
        picks = sum(peer.judged for peer in everyone)
        return replace(
            self._ledger.evidence(self._policy.expectation, everyone),
            keys=self._keys.spelled if self._keys is not None else "",
            steady=self._before <= UNSTEADY * picks,
        )

    def explain(self, explained: Explained, number: int = 1) -> None:
        """Have the pick of this number from here on explained: it is made as always, and told with its reasons."""
        self._asked = Asked(explained, number)
        self.renew()

    def _revise(self, looks: int = 1) -> None:
        """See what the picks obey, as far as so many looks can tell."""
        picker = self._picker
        if picker is None:
            return
        law = picker.law()
        while law.partial and looks > 1:
            law, looks = picker.law(), looks - 1
        self._ledger.revise(law)

    def _everyone(self) -> list[Peer]:
        return [*self._peers.values(), *self._departed.values()]

    def _added(self, instance: Instance) -> Peer:
        peer = self._departed.pop(instance.identity, None) or Peer(instance)
        peer.instance, peer.target, peer.memory = instance, Nowhere(), None  # who comes back is owed what it was
        peer.override, peer.warmth, peer.coverage, peer.aside = None, 1.0, 1.0, ""
        peer.bars.clear()
        self._peers[instance.identity] = peer
        return peer

    def _removed(self, identity: Identity) -> Peer:
        peer = self._peers.pop(identity)
        peer.ready = False
        self.call_off(peer)
        for guard in self._guards:
            guard.left(peer)
        if peer in self._ledger:
            self._departed[identity] = peer
        return peer

    def _marked(self, peer: Peer) -> None:
        """Whether calls may go to this peer may have changed."""
        for guard in self._guards:
            guard.marked(peer)
        self._changed()

    def _changed(self) -> None:
        self._stale = True
        self.version += 1
        if self.on_change is not None:
            self.on_change()

    def _rebuild(self) -> None:
        self._stale = False
        choice = self._selection.choose(self._peers.values(), HEALTH if self._policy.ignores_health else frozenset())
        weights = tuple(peer.weight * peer.scale for share in choice.shares for peer in share.peers)
        built = _Built(self._policy, choice, weights)
        if built == self._built and not self._renewed:
            return
        self._renewed = False
        self._revise()
        self._ledger.close(self._peers.values())
        before = self._retired()
        if built != self._built:
            self._before = sum(peer.judged for peer in self._everyone())
        self._built = built
        picker = self._picker = self._front = self._made(choice)
        self._hear = None
        if picker is not None:
            self._ledger.open(Epoch(built.peers, picker.law()))
            self._learn = picker.ended if isinstance(picker, Learning) else None
            self._hear = picker.reported if isinstance(picker, Reported) else None
            self._by_times = self._policy.expectation is Expectation.FEEDBACK and not self._policy.by_load
            if self._asked is not None:
                self._front = Explaining(picker, self._asked, self._explained)
        self.watched = bool(self._guards) or self._learn is not None
        if before is not None and picker is not None:
            self.on_rebuilt(before, picker)

    def _retired(self) -> Picker | None:
        """End the picker there is, and return it; where the policy is another one, nothing is left of it."""
        picker = self._picker
        if picker is not None:
            picker.retire()
        if self._built is None or self._built.policy is self._policy:
            return picker
        for peer in self._everyone():
            peer.credit, peer.waited, peer.memory, peer.override = 0.0, Fraction(0), None, None
        return None

    def _explained(self) -> None:
        self._asked, self._front = None, self._picker

    def _setup(self) -> Setup:
        return Setup(self._rng, self._policy.options, self._keys, self.renew, self.on_probe, self.on_note)

    def _made(self, choice: Choice) -> Picker | None:
        pickers = [self._policy.build(share.peers, self._setup()) for share in choice.shares]
        if len(pickers) > 1:
            return Split(pickers, [share.percent for share in choice.shares], self._rng)
        return pickers[0] if pickers else None
