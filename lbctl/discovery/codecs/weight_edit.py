"""Another weight in a JSON object: in the spelling it has, and everything else as it was."""

from __future__ import annotations

from lbctl.discovery.codecs.json_edit import Edit, Part, applied, inserted, member, part_at


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
