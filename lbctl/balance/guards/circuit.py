"""A circuit breaker for each backend: too many failures, and it is left alone for a while.

    closed      it is in the rotation; ``failures`` failed calls in a row open the circuit, as does a part of successes
                below ``success-rate`` percent of the calls of a ``window``, once there were ``requests`` of them
    open        it gets nothing for ``open-time``, each time longer by ``backoff`` while it does not recover
    half-open   it gets ``probes`` calls and no more; all succeed: closed; one fails: open again

A call that ends with a code which says nothing against the server, NOT_FOUND say, counts as a success.

    Finagle   success-rate=80,failures=5,open-time=5s,backoff=2,max-open-time=300s
    Linkerd   failures=7,open-time=1s,backoff=2,max-open-time=60s,jitter=0.5
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from random import Random
from typing import Final

from lbctl.balance.guards.base import (
    HALF_OPEN,
    OPEN,
    SERVER_TROUBLE,
    Ended,
    Guard,
    Rotation,
    codes_of,
    seconds,
    spelled_s,
)
from lbctl.balance.guards.window import Window
from lbctl.balance.peer import Peer
from lbctl.balance.policies.options import option
from lbctl.model import Reply

_BUCKETS: Final = 30  # of the window


@dataclass(frozen=True, slots=True)
class CircuitOptions:
    """What opens a circuit, for how long, and what closes it."""

    failures: int = option(5, "failed calls in a row that open the circuit", least=1)
    success_rate: float = option(
        0.0, "percent of successes below which the circuit opens; 0: no matter", least=0, most=100
    )
    window: float = option(30.0, "how far back successes are counted", above=0, unit="duration")
    requests: int = option(5, "calls in the window from which their successes matter", least=1)
    open_time: float = option(10.0, "how long it is open the first time", above=0, unit="duration")
    backoff: float = option(1.0, "what open-time is multiplied by each time it does not recover", least=1, most=100)
    max_open_time: float = option(300.0, "the longest time it is open", above=0, unit="duration")
    jitter: float = option(0.0, "part of the time that is drawn at random on top, 0..1", least=0, most=1)
    probes: int = option(1, "calls that are let through when half-open; all must succeed", least=1, most=1000)
    codes: str = option(SERVER_TROUBLE, "codes that count as failures, joined by +")

    def __post_init__(self) -> None:
        codes_of(self.codes)


class _State(Enum):
    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


class _Circuit:
    """One backend's circuit; ``until_ns`` while it is open, ``since_ns`` when it became half-open."""

    __slots__ = ("failures", "in_a_row", "since_ns", "state", "succeeded", "trips", "until_ns", "window")

    def __init__(self, window: Window) -> None:
        self.state = _State.CLOSED
        self.failures = 0  # in a row
        self.in_a_row = 0  # times it opened since it was closed
        self.trips = 0
        self.until_ns = 0
        self.since_ns = 0
        self.succeeded = 0  # probes
        self.window = window  # the calls since it was closed


class CircuitBreakers(Guard):
    """The circuits of all backends; where only failures in a row matter, those that never failed have none."""

    def __init__(self, options: CircuitOptions, rotation: Rotation, rng: Random) -> None:
        self._options = options
        self._codes = codes_of(options.codes)
        self._rotation = rotation
        self._rng = rng
        self._circuits: dict[Peer, _Circuit] = {}
        self._trips: dict[Peer, int] = {}  # of earlier memberships
        self._by_rate = options.success_rate > 0

    def succeeded(self, peer: Peer, attempts: Sequence[Ended], now_ns: int) -> None:
        circuit = self._circuit_of(peer) if self._by_rate else self._circuits.get(peer)
        if circuit is None:
            return
        if circuit.state is _State.CLOSED:
            circuit.failures = 0
            if self._by_rate:
                circuit.window.add(now_ns, successes=len(attempts))
        elif circuit.state is _State.HALF_OPEN:
            self._probed(peer, circuit, sum(attempt.trial_ns >= circuit.since_ns for attempt in attempts))

    def ended(self, peer: Peer, trial_ns: int, reply: Reply, now_ns: int) -> None:
        failed = reply.code in self._codes
        if not failed and not self._by_rate and peer not in self._circuits:
            return
        circuit = self._circuit_of(peer)
        if circuit.state is _State.CLOSED:
            why = self._counted(circuit, reply, now_ns, failed=failed)
            if why:
                self._open(peer, circuit, now_ns, why)
        elif circuit.state is _State.HALF_OPEN and trial_ns >= circuit.since_ns:
            if failed:
                self._open(peer, circuit, now_ns, f"a probe failed with {reply.code.name}")
            else:
                self._probed(peer, circuit, 1)

    def _circuit_of(self, peer: Peer) -> _Circuit:
        circuit = self._circuits.get(peer)
        if circuit is None:
            window = Window(_BUCKETS, seconds(self._options.window) // _BUCKETS)
            circuit = self._circuits[peer] = _Circuit(window)
        return circuit

    def _counted(self, circuit: _Circuit, reply: Reply, now_ns: int, *, failed: bool) -> str:
        """Count a call of a closed circuit; returns why that opens it, or nothing."""
        options, window = self._options, circuit.window
        circuit.failures = circuit.failures + 1 if failed else 0
        if circuit.failures >= options.failures:
            return f"{circuit.failures} failures in a row, last {reply.code.name}"
        if not self._by_rate:
            return ""
        window.add(now_ns, successes=not failed, failures=failed)
        if window.total < options.requests or 100 * window.successes >= options.success_rate * window.total:
            return ""
        return f"{window.successes} of {window.total} calls succeeded in {options.window:g}s, last {reply.code.name}"

    def untried(self, peer: Peer, trial_ns: int) -> None:
        circuit = self._circuits.get(peer)
        if circuit is not None and circuit.state is _State.HALF_OPEN and trial_ns >= circuit.since_ns:
            self._rotation.try_out(peer)

    def left(self, peer: Peer) -> None:
        circuit = self._circuits.pop(peer, None)
        if circuit is not None and circuit.trips:
            self._trips[peer] = self._trips.get(peer, 0) + circuit.trips

    def counts(self, peer: Peer) -> Mapping[str, int]:
        circuit = self._circuits.get(peer)
        return {"trips": self._trips.get(peer, 0) + (circuit.trips if circuit is not None else 0)}

    def tick(self, peers: Collection[Peer], now_ns: int) -> None:
        for peer, circuit in self._circuits.items():
            if circuit.state is _State.OPEN and now_ns >= circuit.until_ns:
                self._half_open(peer, circuit, now_ns)

    def _open(self, peer: Peer, circuit: _Circuit, now_ns: int, why: str) -> None:
        lasts_ns = self._lasts_ns(circuit.in_a_row)
        circuit.state = _State.OPEN
        circuit.until_ns = now_ns + lasts_ns
        circuit.in_a_row += 1
        circuit.trips += 1
        circuit.failures = 0
        circuit.window.clear()
        self._rotation.call_off(peer)
        self._rotation.bar(peer, OPEN, barred=True)
        self._rotation.bar(peer, HALF_OPEN, barred=False)
        self._rotation.on_note("breaker", peer, f"breaker open for {spelled_s(lasts_ns)}: {why}", "bad")

    def _lasts_ns(self, times: int) -> int:
        options = self._options
        # Beyond what a float can hold it is the longest anyway.
        growth = options.backoff ** min(times, 1000) if options.backoff < 2 else options.backoff ** min(times, 100)
        lasts = min(options.open_time * growth, max(options.open_time, options.max_open_time))
        drawn = 1 + options.jitter * self._rng.random() if options.jitter else 1.0
        return seconds(lasts * drawn)

    def _half_open(self, peer: Peer, circuit: _Circuit, now_ns: int) -> None:
        probes = self._options.probes
        circuit.state = _State.HALF_OPEN
        circuit.since_ns = now_ns
        circuit.succeeded = 0
        self._rotation.bar(peer, HALF_OPEN, barred=True)
        self._rotation.bar(peer, OPEN, barred=False)
        self._rotation.on_note(
            "breaker", peer, f"breaker half-open: {probes} call{'s' * (probes > 1)} to try", "change"
        )
        for _ in range(probes):
            self._rotation.try_out(peer)

    def _probed(self, peer: Peer, circuit: _Circuit, succeeded: int) -> None:
        circuit.succeeded += succeeded
        if circuit.succeeded >= self._options.probes:
            circuit.state = _State.CLOSED
            circuit.in_a_row = 0
            self._rotation.bar(peer, HALF_OPEN, barred=False)
            self._rotation.on_note("breaker", peer, "breaker closed", "good")
