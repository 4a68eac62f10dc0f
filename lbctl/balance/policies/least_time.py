"""The picker of ``fastest`` with metric=nginx."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from lbctl.balance.eta_scan import EtaScan
from lbctl.balance.etas import Etas
from lbctl.balance.least_time import Node, averaged, eta_ms
from lbctl.balance.peer import Peer
from lbctl.balance.penalty import KeptSlots, is_fault, remembered
from lbctl.balance.policies.base import Call, Law, Setup, Why, by_weight, weights_of
from lbctl.model import Reply

_SECOND_NS: Final = 1_000_000_000
_MS_NS: Final = 1_000_000


class LeastTime:
    """Keeps its peers in the order of their estimates; with inflight these change too often."""

    def __init__(self, peers: Sequence[Peer], setup: Setup) -> None:
        options: Any = setup.options
        self._peers = peers
        self._weights = weights_of(peers)
        self._nodes = [remembered(peer, Node) for peer in peers]
        self._index = {peer: index for index, peer in enumerate(peers)}
        self._timeout_s = int(options.fail_timeout)
        self._kept = KeptSlots(self._nodes, options.failure_penalty)
        self._awaits = bool(options.inflight)
        kind = EtaScan if self._awaits else Etas
        self._etas = kind(peers, self._nodes, self._weights, self._timeout_s)

    def pick(self, call: Call) -> Peer:
        now_ns = call.now_ns
        if self._kept.due and self._kept.due[0][0] <= now_ns:
            self._free(now_ns)
        return self._etas.lowest(now_ns)

    def why(self, call: Call) -> tuple[Peer, Why]:
        self._free(call.now_ns)
        now_ms, timeout_s = call.now_ns // _MS_NS, self._timeout_s
        rows = []
        for peer, node, weight in zip(self._peers, self._nodes, self._weights, strict=True):
            load = peer.in_flight + node.count
            eta = eta_ms(node.time_ms(now_ms, timeout_s), load)
            rows.append((peer, (f"{node.average_ms}ms", str(load), str(weight), f"{eta}ms")))
        text = "the least estimated time for its weight"
        return self.pick(call), Why(text, ("latency", "in flight", "weight", "estimate"), tuple(rows))

    def law(self) -> Law:
        return Law(by_weight(self._peers))

    def retire(self) -> None:
        for peer, credit in zip(self._peers, self._etas.credits(), strict=True):
            peer.credit = credit

    def ended(self, peer: Peer, begun_ns: int, now_ns: int, reply: Reply) -> None:
        index = self._index.get(peer)
        if index is None:
            return
        self._learn(index, max(now_ns - begun_ns, 0) // _MS_NS, now_ns, reply)
        self._etas.changed(index, now_ns)

    def _learn(self, index: int, took_ms: int, now_ns: int, reply: Reply) -> None:
        node, penalty_ns = self._nodes[index], self._kept.penalty_ns
        if self._awaits:
            node.answer(now_ns // _MS_NS, took_ms)
        if reply.is_ok:
            node.average_ms = averaged(node.average_ms, took_ms)
        elif is_fault(reply):
            node.checked_s = now_ns // _SECOND_NS
            if penalty_ns:
                self._kept.add(index, now_ns)
                node.average_ms = averaged(node.average_ms, max(took_ms, penalty_ns // _MS_NS))

    def _free(self, now_ns: int) -> None:
        for index in self._kept.freed(now_ns):
            self._etas.changed(index, now_ns)
