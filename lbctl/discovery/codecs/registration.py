"""What goes into etcd for an instance that is to be registered, and what is known of those who keep such keys."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, NamedTuple

from lbctl.model import Endpoint


class Wanted(NamedTuple):
    """An instance to register.

    ``weight`` None is what the layout's own writer would take, or leave out. ``root`` is what the key starts with
    instead of the layout's own. ``lease`` is the id of the lease that the key will have, 0 for one that stays.
    """

    service: str
    endpoint: Endpoint
    weight: int | None = None
    metadata: Mapping[str, str] = {}
    root: str | None = None
    lease: int = 0

    def key(self, root: str, *parts: str) -> bytes:
        """Spell a key of these parts under the root asked for, or the layout's own."""
        return ((root if self.root is None else self.root) + "/".join(parts)).encode()

    @property
    def identifier(self) -> str:
        """An id that is the same whenever this address registers for this service, and looks like any other."""
        from uuid import NAMESPACE_URL, uuid5

        return str(uuid5(NAMESPACE_URL, f"grpc://{self.endpoint}/{self.service}"))


class Registration(NamedTuple):
    """One key and its value, as they go into etcd."""

    key: bytes
    value: bytes


def compact(document: Mapping[str, object]) -> bytes:
    """Spell a JSON object without spaces, as Go does."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


class Keeper(NamedTuple):
    """What programs that register themselves in a layout do about changes of others, besides registering anew one day.

    ``rewrites`` says when their own value comes back over another, ``restores`` when a key that was deleted does, or
    what else follows from that; empty where they do not look at their key again.
    """

    rewrites: str = ""
    restores: str = ""


UNCONCERNED: Final = Keeper()
