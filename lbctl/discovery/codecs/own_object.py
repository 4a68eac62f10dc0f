"""JSON objects that are known by their members."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lbctl.discovery.codecs.base import Claim, speaks_for_itself
from lbctl.discovery.codecs.members import Members
from lbctl.discovery.codecs.record import Record
from lbctl.discovery.flaws import Unusable

Document = Mapping[str, Any]


def own_object(
    record: Record, claim: Claim, is_mine: Callable[[Document], bool], needed: str, fate: str
) -> Members | None:
    """Return the object that a value is, None where it is not mine; raises Unusable where it should have been.

    ``needed`` names the members by which a layout's objects are known, ``fate`` what its clients do to wrong types.
    """
    document = record.members() if claim.owned else record.document
    if document is None:
        return None
    if is_mine(document):
        return Members(document, fate)
    if claim.owned:
        raise Unusable("unknown_layout", f"JSON without {needed}")
    return None


def is_claimed(record: Record, claim: Claim) -> bool:
    """Whether anything besides its value speaks for a key: fewer members will do there."""
    return claim.rooted or claim.owned or claim.guess or speaks_for_itself(record)
