"""One backend of a run: its peer, its subchannel, its counts, and when it was a member."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast

from lbctl.balance.peer import Peer
from lbctl.balance.policies.delegated import Delegated
from lbctl.balance.selection import DRAINING, WARMING, standing
from lbctl.load.resets import Resets
from lbctl.model import Instance, Reply
from lbctl.rpc.links import add_up
from lbctl.rpc.transport import Baskets, Connectivity, Transport
from lbctl.stats.tally import BackendTally

if TYPE_CHECKING:
    from lbctl.load.batch import Batch
    from lbctl.load.engine import Engine
    from lbctl.wire.request import Request
    from lbctl.wire.state import Call

Told = Callable[["Lane", Connectivity, str], None]
Noticed = Callable[["Lane", str], None]

_STANDING: Final = frozenset({Connectivity.READY, Connectivity.IDLE})  # nothing more urgent is to be told
_FIRST_REPLIES: Final = 20  # by which a backend is judged


class Lane:
    """Joins what belongs to one backend and passes on what its subchannel tells. Times in seconds of the run.

    ``connections`` lead there. ``before`` is the lane of an earlier membership of the same backend. ``noticed`` hears
    of what looks wrong.
    """

    def __init__(
        self,
        peer: Peer,
        row: BackendTally,
        engine: Engine,
        told: Told,
        noticed: Noticed,
        joined_s: float,
        connections: int,
        before: Lane | None = None,
    ) -> None:
        self.peer = peer
        self.row = row
        self.joined_s: float = before.joined_s if before else joined_s
        self.left_s: float | None = None
        self.wanted: bool = False  # it is connected to, or to be
        self.told: dict[str, float] = before.told if before else {}  # troubles that were made events of, and when
        self.in_trouble: bool = before.in_trouble if before else False  # and people were told
        self.dropped: int = before.dropped if before else 0
        self.passed: int = before.passed if before else 0  # attempts that failed here, and whose calls went on
        self.request: Request | None = None  # what its calls send, where that is known beforehand
        self.bases: Sequence[Request] = ()  # where calls differ: what those of each method have in common
        self.resets: Resets = before.resets if before else Resets(connections)
        self.subchannel: Transport
        self._requests: dict[int, Request] = {}
        self._engine = engine
        self._told = told
        self._noticed = noticed
        self._http: int = before._http if before else 0  # first replies that were not gRPC
        self._not_grpc: str = before._not_grpc if before else ""  # what the last of them was
        self._earlier: list[Transport] = []
        self._past: Counter[str] = Counter()
        if before is not None:
            self._past.update(before._past)
            self._remember([*before._earlier, before.subchannel])

    def forget(self) -> None:
        """Count anew, as if it had joined now; connections count on."""
        self.joined_s, self.dropped, self.passed, self._http = 0.0, 0, 0, 0

    def _remember(self, transports: list[Transport]) -> None:
        for transport in transports:
            if transport.is_over:
                add_up(self._past, transport.total_counters())
            else:
                self._earlier.append(transport)

    @property
    def transports(self) -> list[Transport]:
        """The connections of all memberships that are not over."""
        return [*self._earlier, self.subchannel]

    def counters(self) -> Counter[str]:
        """What was counted on all connections there ever were."""
        total = Counter(self._past)
        for transport in self.transports:
            total.update(transport.total_counters())
        return total

    @property
    def instance(self) -> Instance:
        return self.peer.instance

    @property
    def state(self) -> str:
        """The state shown to people: gRPC's connectivity, or drained, or left, or why it is not in the rotation."""
        if self.left_s is not None:
            return "left"
        if self.peer.drained:
            return "drained"
        state = self.subchannel.state
        return str(standing(self.peer) or state) if state in _STANDING else str(state)

    @property
    def doubt(self) -> str:
        """Whether this is what it should be."""
        if not self._http or self._http * 2 < min(self.row.completed, _FIRST_REPLIES):
            return ""
        return f"not a gRPC endpoint? {self._not_grpc}"

    @property
    def reason(self) -> str:
        """Why it is not ready, or what looks wrong with it."""
        if self.state == WARMING:
            return f"has {self.peer.warmth:.0%} of its weight"
        if self.state == DRAINING:
            return f"{self.peer.instance.status or 'weight 0'} in the registry"
        return self.subchannel.reason or self.doubt

    def finished(self, transport: Transport, baskets: Baskets, now_ns: int) -> None:
        self._engine.absorb(self, baskets, now_ns)

    def returned(self, transport: Transport, calls: list[Call], now_ns: int) -> None:
        self._engine.take_back(self, cast("list[Batch]", calls), now_ns)  # they are the batches the engine sent

    def changed(self, transport: Transport, state: Connectivity, reason: str) -> None:
        self._told(self, state, reason)

    def placed(self, ticket: Delegated, *, again: bool, late: bool) -> None:
        """A call that was picked elsewhere, in the name of this picker, was seen here."""
        ticket.credit(self.peer, again=again, late=late)

    def request_after(self, attempts: int, since_ns: int) -> Request | None:
        """What another attempt sends of a call that began then, after so many; None for the run's own request."""
        if not attempts or self.request is None:
            return None
        if attempts not in self._requests:
            self._requests[attempts] = replace(self.request, previous=attempts)
        request = self._requests[attempts]
        stream = request.stream
        if stream is not None and (stream.interval_ns or stream.duration_ns):
            return replace(request, since_ns=since_ns)
        return request

    def send(self, call: Batch) -> None:
        """Send a call that has a content of its own, for the first time."""
        content = call.content
        assert content is not None
        self.subchannel.post(call, self.bases[content.method], content.messages, content.metadata)

    def request_of(self, call: Batch) -> Request | None:
        """What another attempt of a call sends; None for the run's own request."""
        attempts, since_ns = (0, 0) if call.attempt is None else (call.attempt.number, call.queued_ns)
        content = call.content
        if content is None:
            return self.request_after(attempts, since_ns)
        request = self.bases[content.method].of(content.messages, content.metadata)
        return replace(request, previous=attempts, since_ns=since_ns) if attempts else request

    def moved_on(self) -> None:
        """A call that was seen here was seen at another backend afterwards."""
        self.peer.finished += 1

    def reset(self, count: int, now_ns: int) -> None:
        """So many of its calls were cut off by RST_STREAM."""
        if self.resets.add(count, now_ns):
            most = self.resets.most
            self._noticed(self, f"{most} calls were cancelled within 30s: servers take that for an attack")

    def suspect(self, reply: Reply) -> None:
        """A reply was not gRPC; tell once that at least half of the first ones were not."""
        if self.row.completed > _FIRST_REPLIES:
            return
        self._http += 1
        self._not_grpc = reply.reason
        if self._http == _FIRST_REPLIES // 2:
            self._noticed(self, self.doubt)
