"""The costs of Peak EWMA as Finagle, Tower and Envoy compute them, and how each draws the two to compare."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, floor
from random import Random
from typing import Final

from lbctl.balance.ewma import Peak, Sampled
from lbctl.balance.peer import Peer
from lbctl.balance.penalty import Kept
from lbctl.balance.policies.base import Call
from lbctl.balance.two_choices import Pairs

_PENALTY: Final = float((1 << 47) - 1)  # Finagle's, in ns: never answered, and busy
_ENVOY_PENALTY: Final = 1e6  # Envoy's, in ms
_TOWER_RTT_S: Final = 0.03
_ENVOY_RTT_S: Final = 0.01
_AGGREGATION_NS: Final = 100_000_000
_NS_PER_MS: Final = 1e6


class Node(Kept):
    """What is known of one peer: its latencies, as ``peak`` or ``sampled`` by the dialect."""

    __slots__ = ("peak", "sampled")

    def __init__(self) -> None:
        super().__init__()
        self.peak = Peak()
        self.sampled = Sampled()


Entry = tuple[Peer, Node]


class Finagle:
    """Peaks, decay by looking, and caution with who never answered."""

    def __init__(self, entries: Sequence[Entry], decay_s: float, default_s: float, rng: Random) -> None:
        self._decay_ns = decay_s * 1e9
        self._drawing = rng.random, entries, len(entries), len(entries) - 1, self._decay_ns
        self.draw = Pairs(entries, rng).draw  # two to compare; of equals the first is taken

    def pick(self, call: Call) -> Peer:
        # The hot path: what ``draw``, ``cost`` and ``Peak.read`` do is written out, for one and for the other.
        now_ns = call.now_ns
        random, entries, size, others, decay_ns = self._drawing
        first, second = floor(random() * size), floor(random() * others)
        peer, node = entries[first]
        rival, other = entries[second + 1 if second >= first else second]

        peak, busy = node.peak, peer.picks - peer.finished + (node.count and node.at(now_ns))
        least, seen_ns = peak.value, peak.seen_ns
        if now_ns > seen_ns:
            if least and seen_ns >= 0:
                peak.value = least = least * exp((seen_ns - now_ns) / decay_ns)
            peak.seen_ns = now_ns
        least = least * (busy + 1) if least or not busy else self.unanswered(busy)

        peak, busy = other.peak, rival.picks - rival.finished + (other.count and other.at(now_ns))
        cost, seen_ns = peak.value, peak.seen_ns
        if now_ns > seen_ns:
            if cost and seen_ns >= 0:
                peak.value = cost = cost * exp((seen_ns - now_ns) / decay_ns)
            peak.seen_ns = now_ns
        cost = cost * (busy + 1) if cost or not busy else self.unanswered(busy)
        return rival if cost < least else peer

    def cost(self, node: Node, in_flight: int, now_ns: int) -> float:
        """Return what one more call there would cost."""
        latency = node.peak.read(now_ns, self._decay_ns)
        return latency * (in_flight + 1) if latency or not in_flight else self.unanswered(in_flight)

    def unanswered(self, in_flight: int) -> float:
        """What one more call would cost where some are in flight, and the latency is 0."""
        return _PENALTY + in_flight

    def learn(self, node: Node, took_ns: int, now_ns: int) -> None:
        """A call took so long."""
        node.peak.observe(took_ns, now_ns, self._decay_ns)

    def latency_ms(self, node: Node) -> float:
        return node.peak.value / _NS_PER_MS


class Tower(Finagle):
    """The same from a first guess, which everybody begins with."""

    def __init__(self, entries: Sequence[Entry], decay_s: float, default_s: float, rng: Random) -> None:
        super().__init__(entries, decay_s, default_s, rng)
        for _, node in entries:
            if node.peak.seen_ns < 0:
                node.peak.value = (default_s or _TOWER_RTT_S) * 1e9

    def unanswered(self, in_flight: int) -> float:
        return 0.0


def envoy_cost(latency_ms: float, active: float, default_ms: float) -> float:
    """Return Envoy's cost of a host, in ms; no latency is 0."""
    if latency_ms > 0.0:
        return latency_ms * (active + 1.0)
    return _ENVOY_PENALTY + active if active > 0.0 else default_ms * (active + 1.0)


class Envoy:
    """Samples are collected, and averaged for everybody at once."""

    def __init__(self, entries: Sequence[Entry], decay_s: float, default_s: float, rng: Random) -> None:
        self._entries = entries
        self._decay_ns = decay_s * 1e9
        self._default_ms = (default_s or _ENVOY_RTT_S) * 1e3
        self._bits = rng.getrandbits
        self._averaged_ns = -1
        self._waiting: list[Node] = [node for _, node in entries if node.sampled.waiting]

    def draw(self) -> tuple[Entry, Entry]:
        """Two to compare; of equals the first is taken, which is either of the two by chance."""
        entries, bits = self._entries, self._bits(64)
        first, second = bits % len(entries), (bits >> 16) % len(entries)
        if first == second:
            second = (second + 1) % len(entries)
        return (entries[first], entries[second]) if bits & 1 else (entries[second], entries[first])

    def pick(self, call: Call) -> Peer:
        now_ns, default_ms = call.now_ns, self._default_ms
        if now_ns - self._averaged_ns >= _AGGREGATION_NS:
            self._average(now_ns)
        (peer, node), (rival, other) = self.draw()
        busy = peer.picks - peer.finished + (node.count and node.at(now_ns))
        least = envoy_cost(node.sampled.value_ms, busy, default_ms)
        busy = rival.picks - rival.finished + (other.count and other.at(now_ns))
        return rival if envoy_cost(other.sampled.value_ms, busy, default_ms) < least else peer

    def cost(self, node: Node, in_flight: int, now_ns: int) -> float:
        if now_ns - self._averaged_ns >= _AGGREGATION_NS:
            self._average(now_ns)
        return envoy_cost(node.sampled.value_ms, in_flight, self._default_ms)

    def learn(self, node: Node, took_ns: int, now_ns: int) -> None:
        if not node.sampled.waiting:
            self._waiting.append(node)
        node.sampled.add(took_ns / _NS_PER_MS, now_ns)

    def latency_ms(self, node: Node) -> float:
        return node.sampled.value_ms

    def _average(self, now_ns: int) -> None:
        if self._averaged_ns >= 0:
            for node in self._waiting:
                node.sampled.average(self._decay_ns)
            self._waiting.clear()
        self._averaged_ns = now_ns
