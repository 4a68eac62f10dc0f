"""Calls that begin and end at random, counted as the engine counts them; and random numbers made by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random

from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Learning, Picker
from lbctl.model import Code, Origin, Reply
from tests.balance.fleet import OK

MS = 1_000_000
LOST = Reply(Code.UNAVAILABLE)
LATE = Reply(Code.DEADLINE_EXCEEDED, Origin.CLIENT)
BROKEN = Reply(Code.INTERNAL)
MISSING = Reply(Code.NOT_FOUND)
REPLIES = (OK, OK, OK, OK, LOST, LATE, BROKEN, MISSING)


class Traffic:
    """Drives one picker; ``heard`` is told of every end before the picker is."""

    def __init__(self, picker: Picker, peers: list[Peer], rng: Random) -> None:
        self.picker, self.peers, self.rng = picker, peers, rng
        self._learn = picker.ended if isinstance(picker, Learning) else None
        self.now_ns = 10**12
        self.flying: list[tuple[int, Peer]] = []
        self.heard: Callable[[Peer, int, int, Reply], None] = lambda peer, begun_ns, now_ns, reply: None

    def wait(self) -> None:
        """Let some time pass, or none."""
        self.now_ns += self.rng.choice([0, 1000, MS, 7 * MS, 600 * MS])

    def pick(self) -> Peer:
        peer = self.picker.pick(Call(self.now_ns))
        peer.picks += 1
        self.flying.append((self.now_ns, peer))
        return peer

    def end(self, replies: Iterable[Reply] = (OK,)) -> None:
        """End any call with any of these replies."""
        begun_ns, peer = self.flying.pop(self.rng.randrange(len(self.flying)))
        reply = self.rng.choice([*replies])
        peer.finished += 1
        self.heard(peer, begun_ns, self.now_ns, reply)
        if self._learn:
            self._learn(peer, begun_ns, self.now_ns, reply)

    def thin_out(self, crowd: int, replies: Iterable[Reply] = (OK,)) -> None:
        """End calls until no more than a crowd is left, and perhaps some more."""
        while self.flying and (len(self.flying) > crowd or self.rng.random() < 0.3):
            self.end(replies)

    def give_back(self) -> None:
        """A call is taken back unsent, whose end no picker hears of."""
        _, peer = self.flying.pop(self.rng.randrange(len(self.flying)))
        peer.give_back()


class Chosen(Random):
    """Draws the indices it was given, as ``int(random() * size)`` makes them."""

    def __init__(self, *draws: tuple[int, int]) -> None:
        super().__init__(0)
        self._draws = [(index + 0.5) / size for index, size in draws]

    def random(self) -> float:
        return self._draws.pop(0)


def busy(peers: list[Peer], loads: Iterable[int]) -> list[Peer]:
    """Give the peers so many calls in flight."""
    for peer, load in zip(peers, loads, strict=True):
        peer.picks = peer.finished + load
    return peers
