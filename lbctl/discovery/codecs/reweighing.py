"""Weights that are text in an object of the object, and weights that a layout's clients would not take."""

from __future__ import annotations

from lbctl.discovery.codecs.json_edit import Edit, Part, applied, inserted, member, part_at
from lbctl.discovery.flaws import Unusable


def text_reweighed(value: bytes, holder: str, weight: int) -> bytes:
    """Spell the text ``weight`` of the object that a member is, and put there what is missing."""
    text = value.decode("utf-8")
    return applied(text, _edit(text, part_at(text), holder, f'"{weight}"')).encode("utf-8")


def _edit(text: str, document: Part, holder: str, spelled: str) -> Edit:
    metadata = member(text, document, holder)
    if metadata is None:
        return inserted(text, document, holder, f'{{"weight":{spelled}}}')
    if metadata.value is None:
        return Edit(metadata.start, metadata.end, f'{{"weight":{spelled}}}')
    found = member(text, metadata, "weight")
    return inserted(text, metadata, "weight", spelled) if found is None else Edit(found.start, found.end, spelled)


def check_positive(weight: int, default: int) -> None:
    """Raise Unusable for the 0 that a layout's clients take for no weight at all."""
    if not weight:
        raise Unusable("no_weight", f"its clients take a weight of 0 for the default, {default}")
