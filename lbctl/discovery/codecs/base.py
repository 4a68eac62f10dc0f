"""What a registry layout is: a name, and a way to read one key. Everything that all layouts share is here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lbctl.discovery.flaws import Unusable
from lbctl.model import Endpoint, Entry, Instance, Invalid


class Claim(NamedTuple):
    """What speaks for a key being an instance, besides its value.

    ``root`` is taken off the key to name the service; ``rooted`` keys are under it or were asked for, so a weak
    match counts; ``owned`` keys have a sibling of this layout, so a failure to parse counts as well.
    """

    root: str = ""
    rooted: bool = False
    owned: bool = False


class Draft(NamedTuple):
    """One instance as its value describes it."""

    endpoint: Endpoint
    weight: int | None = None
    protocol: str | None = None
    secure: bool | None = None
    metadata: Mapping[str, Any] = {}
    status: str | None = None
    warnings: tuple[str, ...] = ()


class Place(NamedTuple):
    """Where a key stands: its service's name, and the raw prefix its siblings share."""

    service: str
    prefix: str


@dataclass(frozen=True, slots=True)
class Decoded:
    """What a layout makes of one key: instances, or the reason why there are none."""

    layout: str
    place: Place
    instances: tuple[Instance, ...] = ()
    invalid: Invalid | None = None


@dataclass(frozen=True, slots=True)
class Codec:
    """One layout. ``parse(key, value, claim)`` returns drafts, or None: not mine; or raises Unusable: mine, but bad.

    ``reweigh(value, weight)`` spells a value that ``parse`` can read with another weight and everything else as it was,
    or raises Unusable where the value has no place for one; None where the layout has no weights.
    """

    name: str
    parse: Callable[[str, bytes, Claim], tuple[Draft, ...] | None]
    roots: tuple[str, ...] = field(default=())
    reweigh: Callable[[bytes, int], bytes] | None = None

    def decode(self, entry: Entry, claim: Claim) -> Decoded | None:
        """Read one key, whatever is in it; never raises."""
        key = entry.key.decode("utf-8", "backslashreplace")
        claim = claim if claim.rooted else self._claimed_by_root(key, claim)
        place = place_of(key, claim)
        try:
            drafts = self.parse(key, entry.value, claim)
            if drafts is None:
                return None
            if not key.isprintable():
                raise Unusable("control_chars", "control characters in the key")
            if not place.service:
                raise Unusable("no_service", "empty service name in the key")
        except Unusable as flaw:
            return Decoded(self.name, place, invalid=Invalid(key, self.name, flaw.code, flaw.reason))
        instances = tuple(self._instance(entry, key, place, draft) for draft in drafts)
        return Decoded(self.name, place, instances)

    def _claimed_by_root(self, key: str, claim: Claim) -> Claim:
        root = next((root for root in self.roots if key.startswith(root)), None)
        return claim if root is None else claim._replace(root=root, rooted=True)

    def _instance(self, entry: Entry, key: str, place: Place, draft: Draft) -> Instance:
        metadata = dict(draft.metadata)
        if draft.warnings:
            metadata["@warning"] = "; ".join(draft.warnings)
        return Instance(
            key=key,
            service=place.service,
            layout=self.name,
            endpoint=draft.endpoint,
            weight=draft.weight,
            protocol=draft.protocol,
            secure=draft.secure,
            metadata=metadata,
            status=draft.status,
            lease=entry.lease,
            create_revision=entry.create_revision,
            mod_revision=entry.mod_revision,
            warnings=draft.warnings,
        )


def place_of(key: str, claim: Claim) -> Place:
    """Take the service from a key of the shape ``{root}{service}/{leaf}``."""
    prefix = key[: key.rfind("/") + 1]
    if claim.root and prefix == claim.root:  # the root asked for is the service itself
        return Place(prefix.rstrip("/").rpartition("/")[2], prefix)
    rest = prefix.removeprefix(claim.root) if claim.root else prefix.removeprefix("/")
    return Place(rest.removesuffix("/"), prefix)


def leaf_of(key: str) -> str:
    """Return what follows a key's last slash."""
    return key.rpartition("/")[2]
