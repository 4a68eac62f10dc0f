"""Runs whose picks are made elsewhere: the lane of the calls whose backend is not known yet.

The picker returns one peer for all of them. When a call is seen at a backend, its pick moves there (``Lane.placed``);
a call that is seen nowhere ends here, charged to no backend.
"""

from __future__ import annotations

from typing import cast

from lbctl.balance.peer import Peer
from lbctl.load.engine import Engine
from lbctl.load.engines import Dialling, Factory, Renewed, shared
from lbctl.load.lane import Lane
from lbctl.model import Endpoint, Instance, Reply
from lbctl.rpc.transport import Connectivity
from lbctl.stats.tally import BackendTally

_NOWHERE = Instance("", "", "", Endpoint("", 0))


class Unplaced(Lane):
    """A lane without a backend."""

    def __init__(self, peer: Peer, engine: Engine) -> None:
        no_row = cast(BackendTally, None)  # the tally charges nobody then
        super().__init__(peer, no_row, engine, _ignore_state, _ignore_text, 0.0, connections=1)

    def reset(self, count: int, now_ns: int) -> None:
        """Nobody to blame."""

    def suspect(self, reply: Reply) -> None:
        """Nobody to blame."""


def _ignore_state(lane: Lane, state: Connectivity, reason: str) -> None:
    """No backend, no state."""


def _ignore_text(lane: Lane, text: str) -> None:
    """No backend, no doubt."""


class Delegation:
    """The shared channel of a run, and its lane, which the engine knows like any other."""

    def __init__(self, policy: str, engine: Engine, how: Dialling, renewed: Renewed) -> None:
        peer = Peer(_NOWHERE)
        self.lane = Unplaced(peer, engine)
        self._transport, self.factory = shared(policy, peer, self.lane, how, renewed)
        self.lane.subchannel = peer.target = self._transport
        engine.attach(self.lane)

    factory: Factory

    async def aclose(self) -> None:
        """Close the channel; calls in flight end as lost."""
        await self._transport.aclose()
