"""Instances out of the rotation and back: by a status of their layout's own, or by weight 0 (docs/decisions/0011)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from lbctl.discovery.codecs import CODECS, Codec
from lbctl.discovery.codecs.base import Draft
from lbctl.discovery.flaws import Unusable
from lbctl.discovery.weights import drafts, reweighed

# What a key held before it was drained by weight 0 is kept here, under the lease of the key.
NOTES: Final = b"/lbctl/drained/"


class Turned(NamedTuple):
    """A value that was turned, and the weight and status that clients read in it."""

    value: bytes
    weight: int | None
    status: str | None


def has_status(layout: str, codecs: Sequence[Codec] = CODECS) -> bool:
    """Whether a layout says by a status that an instance is out, and keeps its weight."""
    return _codec(layout, codecs).enable is not None


def unheeded(layout: str, codecs: Sequence[Codec] = CODECS) -> str:
    """Why a weight of 0, or any other, changes nothing for clients of a layout; "" where they go by weights."""
    return _codec(layout, codecs).unheeded


def drained(layout: str, key: str, value: bytes, codecs: Sequence[Codec] = CODECS) -> Turned:
    """Spell a registration as out of the rotation; raises Unusable where clients of its layout would pick it still."""
    codec = _codec(layout, codecs)
    if codec.enable is not None:
        return _enabled(codec, key, value, on=False)
    if codec.reweigh is None:
        raise Unusable("no_drain", f"the layout {layout} has neither weights nor a status to drain by")
    if codec.unheeded:
        raise Unusable("no_drain", codec.unheeded)
    return _turned(codec, key, reweighed(layout, key, value, 0, codecs))


def undrained(layout: str, key: str, value: bytes, noted: bytes | None, codecs: Sequence[Codec] = CODECS) -> Turned:
    """Spell a registration as it was before it was drained; ``noted`` is the value that it had then.

    What has changed meanwhile besides the weight stays changed. Raises Unusable where the weight is not known.
    """
    codec = _codec(layout, codecs)
    if codec.enable is not None:
        return _enabled(codec, key, value, on=True)
    if noted is None:
        raise Unusable("no_weight", "what its weight was is not kept")
    if reweighed(layout, key, noted, 0, codecs) == value:
        return _turned(codec, key, noted)
    weight = drafts(codec, key, noted)[0].weight
    return _turned(codec, key, reweighed(layout, key, value, 1 if weight is None else weight, codecs))


def _enabled(codec: Codec, key: str, value: bytes, *, on: bool) -> Turned:
    assert codec.enable is not None
    written = codec.enable(value, on)
    before, after = drafts(codec, key, value), drafts(codec, key, written)
    if any((draft.status is None) != on for draft in after):
        raise Unusable("no_drain", "its status says otherwise, and is not one to be written")
    if [_without_status(draft) for draft in before] != [_without_status(draft) for draft in after]:
        raise Unusable("no_drain", "its status cannot be changed without changing something else")
    return _turned(codec, key, written)


def _without_status(draft: Draft) -> Draft:
    kept = {name: found for name, found in draft.metadata.items() if name != "state"}
    return draft._replace(status=None, metadata=kept)


def _turned(codec: Codec, key: str, value: bytes) -> Turned:
    first = drafts(codec, key, value)[0]
    return Turned(value, first.weight, first.status)


def _codec(layout: str, codecs: Sequence[Codec]) -> Codec:
    return next(codec for codec in codecs if codec.name == layout)
