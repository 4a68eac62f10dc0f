"""Owners that take long to find are remembered."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Final

from lbctl.balance.hashing.picker import KeyPicker
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Setup

MOST: Final = 1 << 16  # keys whose owners are remembered; the others are looked up every time


class Remembering(KeyPicker):
    """Remembers the owners of the keys that it met first."""

    def __init__(self, peers: Sequence[Peer], setup: Setup) -> None:
        super().__init__(peers, setup)
        self._known: dict[bytes, int] = {}

    def pick(self, call: Call) -> Peer:
        if call.tried:
            return self._again(call)
        key = call.key
        node = self._known.get(key)
        return self.peers[self._found(key) if node is None else node]

    def owners(self, keys: Sequence[bytes]) -> list[int]:
        known = self._known
        return [known[key] if key in known else self._found(key) for key in keys]

    @abstractmethod
    def owner(self, key: bytes) -> int:
        """Find out who owns this key."""

    def _found(self, key: bytes) -> int:
        owner = self.owner(key)
        if len(self._known) < MOST:
            self._known[key] = owner
        return owner
