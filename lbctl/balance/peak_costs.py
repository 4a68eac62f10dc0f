"""The costs of Peak EWMA as Finagle, Tower and Envoy compute them, and how each draws the two to compare."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final

from lbctl.balance.ewma import Peak, Sampled
from lbctl.balance.peer import Peer
from lbctl.balance.penalty import Kept
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
        self.draw = Pairs(entries, rng).draw  # two to compare; of equals the first is taken

    def cost(self, node: Node, in_flight: int, now_ns: int) -> float:
        """Return what one more call there would cost."""
        latency = node.peak.read(now_ns, self._decay_ns)
        return latency * (in_flight + 1) if latency or not in_flight else _PENALTY + in_flight

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

    def cost(self, node: Node, in_flight: int, now_ns: int) -> float:
        return node.peak.read(now_ns, self._decay_ns) * (in_flight + 1)


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
