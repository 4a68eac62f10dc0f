"""Another weight in a JSON object: in the spelling it has, and everything else as it was."""

from __future__ import annotations

from lbctl.discovery.codecs.json_edit import Edit, Part, applied, inserted, member, part_at
from lbctl.discovery.flaws import Unusable


def reweighed_member(value: bytes, weight: int) -> bytes:
    """Spell an object with another member ``weight``."""
    text = value.decode("utf-8")
    return applied(text, weight_edit(text, part_at(text), weight)).encode("utf-8")


def weight_edit(text: str, of: Part, weight: int) -> Edit:
    """The edit that gives an object another weight: text stays text, and where there is none a number is added."""
    found = member(text, of, "weight")
    if found is None:
        return inserted(text, of, "weight", str(weight))
    return Edit(found.start, found.end, f'"{weight}"' if isinstance(found.value, str) else str(weight))


def reweighed_text_within(value: bytes, holder: str, weight: int) -> bytes:
    """Spell an object with another text ``weight`` in the object that is its member ``holder``."""
    text, spelled = value.decode("utf-8"), f'"{weight}"'
    of = part_at(text)
    found = weight_within(text, of, holder)
    edit = added_within(text, of, holder, spelled) if found is None else Edit(found.start, found.end, spelled)
    return applied(text, edit).encode("utf-8")


def weight_within(text: str, of: Part, holder: str) -> Part | None:
    """Return the weight in the object that is a member; None where there is none."""
    inner = member(text, of, holder)
    return member(text, inner, "weight") if inner is not None and inner.value else None


def added_within(text: str, of: Part, holder: str, spelled: str) -> Edit:
    """The edit that adds a weight, spelled so, to the object that is a member, and that object where there is none."""
    inner = member(text, of, holder)
    if inner is None:
        return inserted(text, of, holder, f'{{"weight":{spelled}}}')
    if inner.value is None:
        return Edit(inner.start, inner.end, f'{{"weight":{spelled}}}')
    return inserted(text, inner, "weight", spelled)


def check_positive(weight: int, default: int) -> None:
    """Raise Unusable for the 0 that a layout's clients take for no weight at all."""
    if not weight:
        raise Unusable("no_weight", f"its clients take a weight of 0 for the default, {default}")
