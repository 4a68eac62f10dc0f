"""Another weight for a registration: the value to write, held against the one that is there."""

from __future__ import annotations

from collections.abc import Sequence

from lbctl.discovery.codecs import CODECS, Claim, Codec, Record
from lbctl.discovery.codecs.base import Draft, Found
from lbctl.discovery.flaws import Unusable
from lbctl.model import Entry

MOST_WEIGHT = 999_999_999  # nine digits, the most that is read back


def reweighed(layout: str, key: str, value: bytes, weight: int, codecs: Sequence[Codec] = CODECS) -> bytes:
    """Spell a registration with another weight; raises Unusable where the layout or the value has no place for one.

    It is that of all instances of the key. Nothing else may change: the new value is read back and compared before
    anybody writes it.
    """
    codec = next(codec for codec in codecs if codec.name == layout)
    if codec.reweigh is None:
        raise Unusable("no_weight", f"the layout {layout} has no weights")
    written = codec.reweigh(value, weight)
    before, after = drafts(codec, key, value), drafts(codec, key, written)
    other = next((draft.weight for draft in after if draft.weight != weight), None)
    if other is not None:
        raise Unusable("no_weight", f"clients of the layout {layout} read weight {weight} as {other}")
    if list(map(_without_weight, before)) != list(map(_without_weight, after)):
        raise Unusable("no_weight", "the weight cannot be changed without changing something else")
    return written


def drafts(codec: Codec, key: str, value: bytes) -> tuple[Draft, ...]:
    """The instances of a value; raises Unusable where there are none."""
    found = codec.parse(Record(Entry(key.encode(), value)), Claim(owned=True, layout=codec.name))
    if not isinstance(found, Found) or not found.drafts:
        raise Unusable("unknown_layout", "it holds no instance")
    return found.drafts


def _without_weight(draft: Draft) -> Draft:
    kept = {name: found for name, found in draft.metadata.items() if name != "weight"}
    return draft._replace(weight=None, metadata=kept, warnings=())
