"""liyue201's grpc-lb: ``{directory}/{name}/{version}/{id}`` -> a JSON object with capital names.

``{"InstanceId":"node1","Name":"test","Version":"1.0","Address":"10.190.0.1:28544","Metadata":{"weight":["10"]}}``:
metadata are lists of texts, in older versions texts.
"""

from __future__ import annotations

from typing import Any, Final

from lbctl.discovery.address import parse_address
from lbctl.discovery.codecs.base import Claim, Codec, Draft, Found
from lbctl.discovery.codecs.json_edit import Edit, Part, applied, first_item, inserted, member, part_at
from lbctl.discovery.codecs.members import Members
from lbctl.discovery.codecs.named import name_warnings
from lbctl.discovery.codecs.own_object import own_object
from lbctl.discovery.codecs.record import Record
from lbctl.discovery.codecs.reweighing import check_positive
from lbctl.discovery.codecs.text_weight import parse_text_weight

_DEFAULT_WEIGHT: Final = 1
_NEEDED: Final = frozenset({"InstanceId", "Name", "Address"})
_FATE: Final = "its clients skip the key"


def parse(record: Record, claim: Claim) -> Found | None:
    """Read one instance of one version of a service; every version is called apart from the others."""
    members = own_object(record, claim, lambda found: found.keys() >= _NEEDED, "InstanceId, Name and Address", _FATE)
    if members is None:
        return None
    return Found((_draft(record, members),), members.text("Name"))


def _draft(record: Record, members: Members) -> Draft:
    lists = _lists(members.mapping("Metadata"))
    metadata = {name: ",".join(values) for name, values in lists.items()}
    weight, warnings = parse_text_weight(next(iter(lists.get("weight", ())), None), _DEFAULT_WEIGHT)
    name = members.text("Name")
    warnings += name_warnings(record, name, f"{name}/{members.text('Version')}")
    endpoint = parse_address(members.text("Address"))
    metadata |= members.extras(id="InstanceId", version="Version")
    return Draft(endpoint, weight if weight > 0 else _DEFAULT_WEIGHT, metadata=metadata, warnings=warnings)


def _lists(metadata: dict[str, Any]) -> dict[str, list[str]]:
    found = Members(metadata, _FATE)
    return {name: [value] if isinstance(value, str) else found.texts(name) for name, value in metadata.items()}


def reweigh(value: bytes, weight: int) -> bytes:
    """Spell the first text of ``Metadata.weight``, or the text that it is."""
    check_positive(weight, _DEFAULT_WEIGHT)
    text = value.decode("utf-8")
    document = part_at(text)
    metadata = member(text, document, "Metadata")
    found = member(text, metadata, "weight") if metadata and metadata.value else None
    if found is not None and isinstance(found.value, list) and found.value:
        found = first_item(text, found)
    if found is None:
        return applied(text, _added(text, document, metadata, f'["{weight}"]')).encode("utf-8")
    spelled = f'"{weight}"' if isinstance(found.value, str) else f'["{weight}"]'
    return applied(text, Edit(found.start, found.end, spelled)).encode("utf-8")


def _added(text: str, document: Part, metadata: Part | None, weight: str) -> Edit:
    if metadata is None:
        return inserted(text, document, "Metadata", f'{{"weight":{weight}}}')
    if metadata.value is None:
        return Edit(metadata.start, metadata.end, f'{{"weight":{weight}}}')
    return inserted(text, metadata, "weight", weight)


CODEC = Codec("grpc-lb", parse, reweigh=reweigh)
