"""What a registry layout is: a name, and a way to read one key. Everything that all layouts share is here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple

from lbctl.discovery.codecs.naming import name_in
from lbctl.discovery.codecs.record import Record
from lbctl.discovery.codecs.registration import UNCONCERNED, Keeper, Registration, Wanted
from lbctl.discovery.flaws import Unusable
from lbctl.model import Endpoint, Instance, Invalid
from lbctl.redaction import masked_text

# Where registrations of layouts live whose values alone would not be enough.
COMMON_ROOTS: Final = ("/services/", "services/", "/discovery/", "/etcdv3_resolver/", "/wonamingv3/")


class Claim(NamedTuple):
    """What speaks for a key being an instance, besides its value.

    ``root`` is taken off the key to name the service; ``rooted`` keys are under it or were asked for, so a weak
    match counts; ``owned`` keys have a sibling of this layout, or stand where only this layout puts keys, so a failure
    to parse counts as well. ``layout`` is what the key's folder is known to be. ``guess`` lists a weak match too that
    nothing else speaks for. ``named_by`` is where services have their names from: key, value, or as the layout has it.
    """

    root: str = ""
    rooted: bool = False
    owned: bool = False
    layout: str = ""
    guess: bool = False
    named_by: str = ""

    def is_known_as(self, layout: str) -> bool:
        """Whether these keys are of the layout, whatever they look like: whoever asked for them said so."""
        return self.layout == layout and (self.rooted or self.owned)


class Draft(NamedTuple):
    """One instance as its value describes it."""

    endpoint: Endpoint
    weight: int | None = None
    protocol: str | None = None
    secure: bool | None = None
    metadata: Mapping[str, Any] = {}
    status: str | None = None
    warnings: tuple[str, ...] = ()


class Found(NamedTuple):
    """The instances of one key. ``service`` and ``prefix`` where the key's folder does not say them."""

    drafts: tuple[Draft, ...]
    service: str | None = None
    prefix: str | None = None


class Skip(NamedTuple):
    """The key belongs to a layout, and is known to be no instance."""

    reason: str


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
    skipped: str = ""  # why it is no instance, and nothing is wrong with that


def place_of(record: Record, claim: Claim) -> Place:
    """Take the service from a key of the shape ``{root}{service}/{leaf}``."""
    prefix = record.folder
    if claim.root and prefix == claim.root:  # the root asked for is the service itself
        return Place(prefix.rstrip("/").rpartition("/")[2], prefix)
    rest = prefix.removeprefix(claim.root) if claim.root else prefix.removeprefix("/")
    return Place(rest.removesuffix("/"), prefix)


@dataclass(frozen=True, slots=True)
class Codec:
    """One layout. ``parse(record, claim)`` returns what it found, a skip, or None: not mine; or raises Unusable: bad.

    A ``weak`` layout's values say too little by themselves: something else has to speak for the key. Under ``roots``
    it is the root; a key under the roots of one that is not weak is its own if nobody else's.
    ``reweigh(value, weight)`` spells a value that ``parse`` can read with another weight and everything else as it was,
    or raises Unusable where the value has no place for one; None where the layout has no weights.
    ``enable(value, on)`` says by a status of the layout's own whether the instance takes part; None where there is no
    such status, or no client heeds it. ``unheeded`` says why clients pick an instance of weight 0 all the same.
    ``write`` spells a registration; None where lbctl registers nothing so.
    ``place(record, claim)`` says where a key of the layout stands, a broken one too. ``form`` is what key and value
    look like, for people. ``objects`` says that nothing is made of a value that does not begin as a JSON object, unless
    the key is owned: nobody has to ask.
    """

    name: str
    parse: Callable[[Record, Claim], Found | Skip | None]
    roots: tuple[str, ...] = ()
    weak: bool = False
    reweigh: Callable[[bytes, int], bytes] | None = None
    enable: Callable[[bytes, bool], bytes] | None = None
    unheeded: str = ""
    write: Callable[[Wanted], Registration] | None = None
    keeper: Keeper = UNCONCERNED
    place: Callable[[Record, Claim], Place] = place_of
    form: str = ""
    objects: bool = False

    def decode(self, record: Record, claim: Claim) -> Decoded | None:
        """Read one key, whatever is in it; never raises."""
        claim = self._claimed_by_root(record.key, claim)
        is_sure = not self.weak or claim.rooted or claim.owned or record.speaks_for_itself
        if not is_sure and not claim.guess:
            return None
        try:
            found = self.parse(record, claim)
        except Unusable as flaw:
            return self._unusable(record, self.place(record, claim), flaw) if is_sure else None
        if found is None:
            return None
        place = self.place(record, claim)
        if isinstance(found, Skip):
            return Decoded(self.name, place, skipped=found.reason)
        place = _named(record, place, found, claim.named_by)
        flaw_of_key = _flaw_of_key(record.key, place)
        if flaw_of_key:
            return self._unusable(record, place, flaw_of_key) if is_sure else None
        return Decoded(self.name, place, tuple(self._instance(record, place, draft) for draft in found.drafts))

    def _unusable(self, record: Record, place: Place, flaw: Unusable) -> Decoded:
        return Decoded(self.name, place, invalid=Invalid(record.key, self.name, flaw.code, masked_text(flaw.reason)))

    def _claimed_by_root(self, key: str, claim: Claim) -> Claim:
        if claim.rooted or not key.startswith(self.roots):
            return claim
        return _under(claim, max((root for root in self.roots if key.startswith(root)), key=len))

    def _instance(self, record: Record, place: Place, draft: Draft) -> Instance:
        entry, metadata = record.entry, dict(draft.metadata)
        warnings = tuple(map(masked_text, draft.warnings))
        if warnings:
            metadata["@warning"] = "; ".join(warnings)
        return Instance(
            key=record.key,
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
            warnings=warnings,
        )


@lru_cache(maxsize=256)
def _under(claim: Claim, root: str) -> Claim:
    return claim._replace(root=root, rooted=True)


def _named(record: Record, place: Place, found: Found, named_by: str) -> Place:
    """Say whose instances were found: of the service that the value names, else the key."""
    if named_by == "key":
        return place
    name = name_in(record) if named_by == "value" and found.service is None else found.service
    return Place(place.service if name is None else name, found.prefix or place.prefix)


def speaks_for_itself(record: Record) -> bool:
    """Whether the last part of the key is what registrations are called by."""
    return record.speaks_for_itself


def _flaw_of_key(key: str, place: Place) -> Unusable | None:
    if not key.isprintable() or not place.service.isprintable():
        return Unusable("control_chars", "control characters in the key or the name")
    return None if place.service.strip() else Unusable("no_service", "empty service name in the key")
