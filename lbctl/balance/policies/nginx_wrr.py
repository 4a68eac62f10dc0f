"""The picker of smooth_wrr with max_fails: smooth weighted round robin over nginx's effective weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lbctl.balance.nginx_peers import WHOLE, Server
from lbctl.balance.nginx_turns import Turns
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Law, Setup, Why, by_weight, full_weights_of
from lbctl.model import Code, Origin, Reply

_SECOND_NS: Final = 1_000_000_000
_LOST: Final = (Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED)
_BROKEN: Final = (Origin.TRANSPORT, Origin.HTTP)


class NginxWrr:
    """Chooses as nginx does; a peer's server, with all its counters, is its memory.

    Where nginx would answer 502, because every server is out or was tried, the rule goes over those that were tried,
    and then over those that are out.
    """

    def __init__(self, peers: Sequence[Peer], setup: Setup, max_fails: int, fail_timeout: float) -> None:
        self._peers = peers
        self._fail_timeout = fail_timeout
        self._servers: dict[Server, Peer] = {}
        for peer, weight in zip(peers, full_weights_of(peers), strict=True):
            server = peer.memory if isinstance(peer.memory, Server) else Server(weight, max_fails)
            server.weighs(weight)
            server.part = max(1, round(WHOLE * peer.scale))
            peer.memory = server
            self._servers[server] = peer
        self._turns = Turns([*self._servers], fail_timeout)

    def pick(self, call: Call) -> Peer:
        tried = [peer.memory for peer in call.tried] if call.tried else ()
        return self._servers[self._turns.select(call.now_ns // _SECOND_NS, tried)]

    def why(self, call: Call) -> tuple[Peer, Why]:
        now = call.now_ns // _SECOND_NS
        self._turns.settle()
        before = [
            (server.effective, server.current, server.fails, server.is_out(now, self._fail_timeout))
            for server in self._servers
        ]
        peer = self.pick(call)
        rows = []
        for server, (effective, current, fails, out) in zip(self._servers, before, strict=True):
            shown = "out" if out else f"{(current + effective * server.part) / WHOLE:g}"
            rows.append((self._servers[server], (f"{effective}/{server.weight}", shown, str(fails))))
        columns = ("effective", "current", "fails")
        return peer, Why("the greatest current weight, each grown by its effective weight", columns, tuple(rows))

    def law(self) -> Law:
        return Law(by_weight(self._peers))

    def retire(self) -> None:
        """Write the current weights down; the other counters are the peers' already."""
        self._turns.settle()

    def ended(self, peer: Peer, begun_ns: int, now_ns: int, reply: Reply) -> None:
        server = peer.memory
        if not isinstance(server, Server) or len(self._servers) == 1:
            return  # nginx ignores failures of an only server
        if reply.is_ok or not (reply.code in _LOST or reply.origin in _BROKEN):
            if not server.fails:
                return
            server.succeeded()
        else:
            server.failed(now_ns // _SECOND_NS)
        self._turns.changed(server, now_ns // _SECOND_NS)
