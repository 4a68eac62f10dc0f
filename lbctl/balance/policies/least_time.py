"""The picker of ``fastest`` with metric=nginx."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lbctl.balance.least_time import Node, averaged, eta_ms
from lbctl.balance.peer import Peer
from lbctl.balance.penalty import is_fault, remembered
from lbctl.balance.policies.base import Call, Law, Setup, Why, by_weight, weights_of
from lbctl.balance.smooth import settled
from lbctl.model import Reply


class LeastTime:
    """Looks at everybody, since times change while nothing happens."""

    def __init__(self, peers: Sequence[Peer], setup: Setup) -> None:
        options: Any = setup.options
        self._peers = peers
        self._weights = weights_of(peers)
        self._sum = sum(self._weights)
        self._nodes = [remembered(peer, Node) for peer in peers]
        self._by_peer = dict(zip(peers, self._nodes, strict=True))
        opening = settled([peer.credit for peer in peers], self._weights)
        self._current = [round(credit * self._sum) for credit in opening]
        self._timeout_s = int(options.fail_timeout)
        self._penalty_ns = round(options.failure_penalty * 1e9)
        self._awaits = bool(options.inflight)

    def pick(self, call: Call) -> Peer:
        return self._choose(self._etas(call.now_ns), call.now_ns)

    def why(self, call: Call) -> tuple[Peer, Why]:
        etas = self._etas(call.now_ns)
        rows = tuple(
            (peer, (f"{node.average_ms}ms", str(peer.in_flight + node.count), str(weight), f"{eta}ms"))
            for peer, node, weight, eta in zip(self._peers, self._nodes, self._weights, etas, strict=True)
        )
        text = "the least estimated time for its weight"
        return self._choose(etas, call.now_ns), Why(text, ("latency", "in flight", "weight", "estimate"), rows)

    def law(self) -> Law:
        return Law(by_weight(self._peers))

    def retire(self) -> None:
        for peer, current in zip(self._peers, self._current, strict=True):
            peer.credit = current / self._sum

    def ended(self, peer: Peer, begun_ns: int, now_ns: int, reply: Reply) -> None:
        node = self._by_peer.get(peer)
        if node is None:
            return
        now_ms, took_ms = now_ns // 1_000_000, max(now_ns - begun_ns, 0) // 1_000_000
        if self._awaits:
            node.answer(now_ms, took_ms)
        if reply.is_ok:
            node.average_ms = averaged(node.average_ms, took_ms)
        elif is_fault(reply):
            node.checked_s = now_ms // 1000
            if self._penalty_ns:
                node.add(now_ns, self._penalty_ns)
                node.average_ms = averaged(node.average_ms, max(took_ms, self._penalty_ns // 1_000_000))

    def _etas(self, now_ns: int) -> list[int]:
        """Everybody's estimate."""
        now_ms, timeout_s, etas = now_ns // 1_000_000, self._timeout_s, []
        for peer, node in zip(self._peers, self._nodes, strict=True):
            if self._awaits:
                node.await_answers(peer, now_ms)
            in_flight = peer.picks - peer.finished + (node.count and node.at(now_ns))
            etas.append(eta_ms(node.time_ms(now_ms, timeout_s), in_flight))
        return etas

    def _choose(self, etas: Sequence[int], now_ns: int) -> Peer:
        weights, current = self._weights, self._current
        keys = [eta / weight for eta, weight in zip(etas, weights, strict=True)]  # equal quotients are equal floats
        least = min(keys)
        chosen = keys.index(least)
        tied = [index for index, key in enumerate(keys) if key == least]
        if len(tied) > 1:
            for index in tied:
                current[index] += weights[index]
            chosen = max(tied, key=current.__getitem__)
            current[chosen] -= sum(weights[index] for index in tied)
        node, now_ms = self._nodes[chosen], now_ns // 1_000_000
        if self._awaits:
            node.begin(now_ms)
        if now_ms // 1000 - node.checked_s > self._timeout_s:
            node.checked_s = now_ms // 1000
        return self._peers[chosen]
