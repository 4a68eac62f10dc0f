"""Weights by thresholds: lowered by errors and latency, else raised.

Every interval the calls of the last window are looked at, for each backend:

    fewer calls than min-requests          its registered weight
    more than error-high of them failed    half of that
    less than error-low of them failed     twice that
    and then: mean above latency-high      1 less
    mean below latency-low                 1 more

each within min and max. All limits are strict. With the defaults:

    registered   calls   failed   mean     weight
    5            9       9        500ms    5     too few
    5            100     0        5ms      10    5 x 2 = 10, and no more
    5            100     20       150ms    1     5 / 2 = 2, less 1
    8            100     0        200ms    9     8 x 2, but 10; less 1
    5            100     10       100ms    5     10% is not above 10%

The registered weight is where it starts each time, never the last result:
that would run to a bound, and all healthy backends would end at max. Between
two looks weights are fixed, and base picks by them: then shares are exact.

A backend near a threshold goes up and down, by a factor of four between too
many errors and none. It still gets calls at min, so it is seen to recover.
One that joins has its registered weight until it has had min-requests; new
registered weights count at once. Source: the adjuster of weights in etcd, as
``lbctl weight --auto`` runs it; here only this client goes by the weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from lbctl.balance.dynamic import Thresholds, adjusted, explained
from lbctl.balance.peer import Peer
from lbctl.balance.penalty import is_withdrawn
from lbctl.balance.policies import smooth_wrr, weighted_random
from lbctl.balance.policies.base import Call, Expectation, Law, Policy, Setup, Why
from lbctl.balance.policies.options import option
from lbctl.balance.window import Window
from lbctl.model import Reply

_BASES: Final = {policy.name: policy for policy in (smooth_wrr.POLICY, weighted_random.POLICY)}


@dataclass(frozen=True, slots=True)
class Options:
    """When weights are looked at, and the thresholds."""

    interval: float = option(60.0, "how often weights are looked at", least=0.01, unit="duration")
    window: float = option(300.0, "of how long calls are looked at", least=0.01, unit="duration")
    min_requests: int = option(
        10, "calls in the window with fewer of which the registered weight stands", least=1, most=1_000_000
    )
    error_high: float = option(0.10, "part of calls that fails above which a weight is halved", least=0, most=1)
    error_low: float = option(0.01, "part of calls that fails below which it is doubled", least=0, most=1)
    latency_high: float = option(0.1, "mean above which a weight is 1 less", least=0, unit="duration")
    latency_low: float = option(0.01, "mean below which it is 1 more", least=0, unit="duration")
    min: int = option(1, "the least that a weight is lowered to", least=1, most=1_000_000)
    max: int = option(10, "the most that a weight is raised to", least=1, most=1_000_000)
    base: str = option("smooth_wrr", "the policy that picks by the weights", choices=tuple(_BASES))
    base_opt: str = option("", "options of that policy: name=value, joined by +")

    def __post_init__(self) -> None:
        self.rule()
        self.picking()

    def rule(self) -> Thresholds:
        """The thresholds; raises ValueError where they contradict each other."""
        errors, latencies = (self.error_high, self.error_low), (self.latency_high, self.latency_low)
        return Thresholds(self.min_requests, *errors, *latencies, self.min, self.max)

    def picking(self) -> Policy:
        """The policy that picks, with its options set; raises UsageError for what cannot be set so."""
        pairs = (part.partition("=") for part in self.base_opt.split("+") if part.strip())
        return _BASES[self.base].with_options({name.strip(): value for name, _, value in pairs})


class _Known(Window):
    """What is known of one peer."""

    __slots__ = ("base", "due_ns", "looks")

    def __init__(self, length_ns: int) -> None:
        super().__init__(length_ns)
        self.base = -1  # the registered weight that the one in force was made of
        self.due_ns = 0  # when weights are looked at next, written down when a picker retires
        self.looks = 0


class DynamicWeight:
    """Lets the base policy pick, by weights that are ``peer.override``, and asks to be replaced when they change."""

    def __init__(self, peers: Sequence[Peer], setup: Setup) -> None:
        options: Options = setup.options
        self._peers = peers
        self._known = frozenset(peers)
        self._rule = options.rule()
        self._interval_ns = int(options.interval * 1e9)
        self._length_ns = int(options.window * 1e9)
        self._renew, self._note = setup.renew, setup.note
        self._windows = [self._window_of(peer) for peer in peers]
        self._due_ns = max(window.due_ns for window in self._windows)
        weightless = not any(peer.weight for peer in peers)
        for peer, window in zip(peers, self._windows, strict=True):
            base = 1 if weightless else peer.weight
            if window.base != base:  # a weight made of another one says nothing
                window.base, peer.override = base, base if weightless else None
        base_policy = options.picking()
        self._base = base_policy.build(peers, setup._replace(options=base_policy.options))
        self._pick = self._base.pick

    def pick(self, call: Call) -> Peer:
        if call.now_ns >= self._due_ns:
            self._look(call.now_ns)
        return self._pick(call)

    def why(self, call: Call) -> tuple[Peer, Why]:
        if call.now_ns >= self._due_ns:
            self._look(call.now_ns)
        peer, why = self._base.why(call)
        texts = {
            each: self._state(window, call.now_ns) for each, window in zip(self._peers, self._windows, strict=True)
        }
        rows = tuple((each, (*figures, texts[each])) for each, figures in why.rows)
        return peer, Why(f"{why.text}, weights by how calls ended", (*why.columns, "known of it"), rows)

    def law(self) -> Law:
        return self._base.law()

    def retire(self) -> None:
        self._base.retire()
        for window in self._windows:
            window.due_ns = self._due_ns

    def ended(self, peer: Peer, begun_ns: int, now_ns: int, reply: Reply) -> None:
        if peer in self._known and not is_withdrawn(reply):
            self._window_of(peer).add(begun_ns, now_ns, ok=reply.is_ok)

    def _look(self, now_ns: int) -> None:
        """Make weights anew, unless this is the first pick; other weights need a picker, and an epoch, of their own."""
        first, self._due_ns = not self._due_ns, now_ns + self._interval_ns
        if first:
            return
        changed = False
        for peer, window in zip(self._peers, self._windows, strict=True):
            window.looks += 1
            before = window.base if peer.override is None else peer.override
            ends = window.sums(now_ns)
            after = adjusted(window.base, *ends, self._rule)
            if after != before:
                changed, peer.override = True, after
                why = explained(window.base, *ends, self._rule)
                self._note("weight", peer, f"weight {before} -> {after} (registered {window.base}): {why}", "change")
        if changed:
            self._renew()

    def _window_of(self, peer: Peer) -> _Known:
        window = peer.memory
        if type(window) is not _Known:
            window = peer.memory = _Known(self._length_ns)
        return window

    def _state(self, window: _Known, now_ns: int) -> str:
        requests, errors, mean_s = window.sums(now_ns)
        return f"{window.base} registered, {requests} calls, {errors} failed, mean {mean_s * 1e3:.3g}ms"


def doubts(peers: Sequence[Peer]) -> Iterator[str]:
    """Nothing is dynamic in a run that is shorter than the interval."""
    windows = [peer.memory for peer in peers if type(peer.memory) is _Known]
    if windows and not any(window.looks for window in windows):
        yield "no weight was looked at yet: that happens every interval, 60s unless told otherwise"


POLICY = Policy(
    "dynamic_weight",
    "by weights that errors and latency lower, and their absence raises",
    Expectation.FEEDBACK,
    DynamicWeight,
    Options(),
    doubts=doubts,
)
