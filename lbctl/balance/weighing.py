"""Whether a policy goes by weights, as it is set: seen by letting it pick among backends that know who looks."""

from __future__ import annotations

from random import Random
from typing import Final

from lbctl.balance.keys import Uuids
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Learning, Policy, Setup
from lbctl.model import Code, Endpoint, Instance, Reply

_OK: Final = Reply(Code.OK)
_PICKS: Final = 8
_GAP_NS: Final = 1_000_000


class _Watched(Peer):
    """A peer that notes when somebody asks for the part of its weight that counts."""

    __slots__ = ("seen",)

    @property
    def scale(self) -> float:
        self.seen = True
        return 1.0


def goes_by_weights(policy: Policy) -> bool:
    """Whether the part of its weight that a backend has while it warms up, or in an aperture, makes a difference."""
    peers = [_Watched(Instance(str(n), "", "", Endpoint("127.0.0.1", n), n)) for n in (1, 2, 3)]
    for peer in peers:
        peer.seen = False
    picker = policy.build(peers, Setup(Random(1), policy.options, Uuids("uuid", Random(1)) if policy.keyed else None))
    for number in range(1, _PICKS):
        now_ns = number * _GAP_NS
        picked = picker.pick(Call(now_ns, b"%d" % number))
        picked.picks += 1
        if number % 2:  # others stay in flight
            picked.finished += 1
            if isinstance(picker, Learning):
                picker.ended(picked, now_ns, now_ns + _GAP_NS // 2, _OK)
    return any(peer.seen for peer in peers)
