"""What to write into etcd to register an instance: spelled by its layout, and read back before anybody writes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from lbctl.discovery.catalog import Catalog
from lbctl.discovery.codecs import CODECS, Codec
from lbctl.discovery.codecs.registration import Keeper, Registration, Wanted
from lbctl.discovery.flaws import Unusable
from lbctl.model import Entry, Instance

_SOME_LEASE: Final = 7587878123456789001


class Preview(NamedTuple):
    """A registration whose lease is not known yet; where the key is named by it, ``LEASE`` stands for the id."""

    key: str
    value: bytes
    named_by_lease: bool


def registration(layout: str, wanted: Wanted, codecs: Sequence[Codec] = CODECS) -> Registration:
    """Spell a registration; raises Unusable where the layout has no place for what is wanted.

    Every layout must take the key for what it is, and read the address, the weight and the metadata as they were meant.
    """
    codec = next(codec for codec in codecs if codec.name == layout)
    if codec.write is None:
        raise Unusable("no_writer", f"lbctl does not register in the layout {layout}")
    if wanted.weight is not None and codec.reweigh is None:
        raise Unusable("no_weight", f"the layout {layout} has no weights")
    written = codec.write(wanted)
    if b"//" in written.key:
        raise Unusable(
            "no_service", f'"{wanted.service}" is no name for a service: the key would be {_text(written.key)}'
        )
    _compare(_read_back(layout, written, wanted, codecs), wanted, layout)
    return written


def has_weights(layout: str, codecs: Sequence[Codec] = CODECS) -> bool:
    """Whether registrations of a layout have a weight that can be chosen."""
    return any(codec.name == layout and codec.reweigh is not None for codec in codecs)


def keeper_of(layout: str, codecs: Sequence[Codec] = CODECS) -> Keeper:
    """What programs of a layout do about changes that others make."""
    return next(codec.keeper for codec in codecs if codec.name == layout)


def preview(layout: str, wanted: Wanted) -> Preview:
    """Say what a registration will be; raises Unusable as :func:`registration` does."""
    first, other = (registration(layout, wanted._replace(lease=lease)) for lease in (_SOME_LEASE, _SOME_LEASE + 1))
    return Preview(first.key.decode().replace(str(_SOME_LEASE), "LEASE"), first.value, first.key != other.key)


def _read_back(layout: str, written: Registration, wanted: Wanted, codecs: Sequence[Codec]) -> Instance:
    catalog = Catalog(wanted.root or "", rooted=wanted.root is not None, codecs=codecs)
    catalog.put(Entry(written.key, written.value, wanted.lease))
    services, invalid, _ = catalog.read()
    if invalid:
        raise Unusable(invalid[0].code, invalid[0].reason)
    found = [each for service in services for each in service.instances]
    if len(found) != 1 or found[0].layout != layout:
        taken = f"as the layout {found[0].layout}" if found else "as no registration"
        raise Unusable("unknown_layout", f"{_text(written.key)} would be read {taken}")
    return found[0]


def _text(key: bytes) -> str:
    return key.decode("utf-8", "backslashreplace")


def _compare(found: Instance, wanted: Wanted, layout: str) -> None:
    if found.service not in (wanted.service, wanted.service.removeprefix("/")):
        raise Unusable("no_service", f'"{wanted.service}" would be read as the service "{found.service}"')
    if found.endpoint != wanted.endpoint:
        raise Unusable("bad_address", f"{wanted.endpoint} would be read as {found.address}")
    if wanted.weight is not None and found.weight != wanted.weight:
        raise Unusable("bad_weight", f"clients of the layout {layout} read weight {wanted.weight} as {found.weight}")
    lost = next((name for name, value in wanted.metadata.items() if found.metadata.get(name) != value), None)
    if lost is not None:
        raise Unusable("no_metadata", f"the layout {layout} has no place for metadata {lost}")
