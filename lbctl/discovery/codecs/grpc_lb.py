"""liyue201's grpc-lb: ``{directory}/{name}/{version}/{id}`` -> a JSON object with capital names.

``{"InstanceId":"node1","Name":"test","Version":"1.0","Address":"10.190.0.1:28544","Metadata":{"weight":["10"]}}``:
metadata are lists of texts, in older versions texts.
"""

from __future__ import annotations

from typing import Any, Final

from lbctl.discovery.address import parse_address
from lbctl.discovery.codecs.base import Claim, Codec, Draft, Found
from lbctl.discovery.codecs.json_edit import Edit, applied, first_item, part_at
from lbctl.discovery.codecs.members import Members
from lbctl.discovery.codecs.named import name_warnings
from lbctl.discovery.codecs.own_object import own_object
from lbctl.discovery.codecs.record import Record
from lbctl.discovery.codecs.registration import Keeper
from lbctl.discovery.codecs.text_weight import parse_text_weight
from lbctl.discovery.codecs.weight_edit import added_within, weight_within

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
    return {
        name: [value]
        if isinstance(value, str)
        else Members({f"Metadata.{name}": value}, _FATE).texts(f"Metadata.{name}")
        for name, value in metadata.items()
    }


def reweigh(value: bytes, weight: int) -> bytes:
    """Spell the first text of ``Metadata.weight``, or the text that it is."""
    text, spelled = value.decode("utf-8"), f'"{weight}"'
    of = part_at(text)
    found = weight_within(text, of, "Metadata")
    if found is not None and isinstance(found.value, list) and found.value:
        found = first_item(text, found)
    elif found is None or not isinstance(found.value, str):
        spelled = f"[{spelled}]"
    edit = added_within(text, of, "Metadata", spelled) if found is None else Edit(found.start, found.end, spelled)
    return applied(text, edit).encode("utf-8")


_KEEPER = Keeper(rewrites="grpc-lb registers anew every fifth of its TTL, and writes its own value")

CODEC = Codec(
    "grpc-lb",
    parse,
    form="{directory}/{name}/{version}/{id} -> JSON with InstanceId, Name and Address",
    objects=True,
    reweigh=reweigh,
    keeper=_KEEPER,
)
