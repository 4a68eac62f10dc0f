"""What the weak layouts share: which broken values they answer for, what is JSON, and whose instance a key is."""

from __future__ import annotations

import re

from lbctl.discovery.address import is_address
from lbctl.discovery.codecs.base import COMMON_ROOTS, Claim, Place, place_of
from lbctl.discovery.codecs.record import Record

# An IPv6 address begins with a bracket, too.
_JSON = re.compile(
    rb'\s*(\xef\xbb\xbf)?\s*(\{|"|\[\s*([\[{"\]]|-?\d+\s*[,\]])|(null|true|false|undefined)\s*\Z)', re.ASCII
)


def looks_like_json(value: bytes) -> bool:
    """Whether somebody meant the value to be JSON."""
    return _JSON.match(value) is not None


def answers(record: Record, claim: Claim) -> bool:
    """Whether a value that cannot be used is a defect here: the key was asked for, has siblings, or is an address.

    The id of a lease alone does not tell: many things are called by long numbers. Of a service that is followed only
    its own keys were asked for, so beside it the same counts as did when it was read.
    """
    if stands_alone(record):
        return False
    was_asked_for = claim.rooted and (not claim.layout or record.key.startswith(COMMON_ROOTS))
    return was_asked_for or claim.owned or is_address(record.leaf)


def stands_alone(record: Record) -> bool:
    """Whether the key is one of ``/services/{name}``: there, a service of one instance may be kept in one key."""
    return record.folder in COMMON_ROOTS


def place(record: Record, claim: Claim) -> Place:
    """A key right under a common root is a service of its own; any other is in its folder's."""
    return Place(record.leaf, record.key) if stands_alone(record) else place_of(record, claim)
