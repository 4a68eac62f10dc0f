"""One backend of a run: its peer, its subchannel, its counts, and when it was a member."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from lbctl.balance.peer import Peer
from lbctl.model import Instance
from lbctl.rpc.transport import Baskets, Connectivity, Transport
from lbctl.stats.tally import BackendTally

if TYPE_CHECKING:
    from lbctl.load.batch import Batch
    from lbctl.load.engine import Engine
    from lbctl.wire.state import Call

Told = Callable[["Lane", Connectivity, str], None]


class Lane:
    """Joins what belongs to one backend and passes on what its subchannel tells. Times in seconds of the run.

    ``before`` is the lane of an earlier membership of the same backend.
    """

    def __init__(
        self, peer: Peer, row: BackendTally, engine: Engine, told: Told, joined_s: float, before: Lane | None = None
    ) -> None:
        self.peer = peer
        self.row = row
        self.joined_s: float = before.joined_s if before else joined_s
        self.left_s: float | None = None
        self.told = ""  # the last trouble that was made an event of
        self.subchannel: Transport
        self._engine = engine
        self._told = told

    @property
    def instance(self) -> Instance:
        return self.peer.instance

    @property
    def state(self) -> str:
        """The state shown to people: gRPC's connectivity, or drained, or left."""
        if self.left_s is not None:
            return "left"
        if self.peer.drained:
            return "drained"
        return str(self.subchannel.state)

    def finished(self, transport: Transport, baskets: Baskets, now_ns: int) -> None:
        self._engine.absorb(self, baskets, now_ns)

    def returned(self, transport: Transport, calls: list[Call], now_ns: int) -> None:
        self._engine.take_back(self, cast("list[Batch]", calls), now_ns)  # they are the batches the engine sent

    def changed(self, transport: Transport, state: Connectivity, reason: str) -> None:
        self._told(self, state, reason)
