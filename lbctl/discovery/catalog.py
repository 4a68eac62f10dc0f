"""Keys in, services out: the same reading of the registry for a listing and for a watch."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lbctl.discovery.codecs import CODECS, Claim, Codec, Decoded, Record
from lbctl.discovery.codecs.base import Place
from lbctl.discovery.codecs.skipped import why_skipped
from lbctl.model import Entry, Instance, Invalid, Service

Folder = tuple[str, str, str]  # layout, prefix, name


class Reading(NamedTuple):
    """Every service, every unusable key, and how many keys are neither: foreign ones, and those known to be none."""

    services: tuple[Service, ...]
    invalid: tuple[Invalid, ...]
    foreign: int


class Other(NamedTuple):
    """A key that is no instance, and why."""

    key: bytes
    why: str


class Catalog:
    """The known keys and what each layout makes of them; nothing about etcd is known here.

    ``root`` is taken off the keys to name services. ``rooted`` says that all keys were asked for, so that a weak
    match counts; otherwise only default roots, siblings and telling keys speak for one. ``layout`` is what the keys are
    known to be, from an earlier reading of more of them. ``guess`` takes for an instance whatever may be one.
    """

    def __init__(
        self,
        root: str = "",
        *,
        rooted: bool = False,
        layout: str = "",
        guess: bool = False,
        codecs: Sequence[Codec] = CODECS,
    ) -> None:
        self._claim = Claim(root, rooted, layout=layout, guess=guess)
        self._codecs = codecs
        self._entries: dict[bytes, Entry] = {}
        self._parents: Counter[str] = Counter()  # of keys, and how many each has below it
        self._decoded: dict[bytes, Decoded] = {}
        self._unclaimed: set[bytes] = set()
        self._unsettled: set[bytes] = set()  # what they are goes by what other keys there are

    def put(self, entry: Entry) -> None:
        """Take a key's newest value."""
        self.remove(entry.key)
        self._entries[entry.key] = entry
        if not _is_text(entry.key):
            self._unclaimed.add(entry.key)
            return
        self._parents.update(_parents(entry.key))
        self._decode(entry.key)

    def remove(self, key: bytes) -> None:
        """Forget a key; what its value was does not matter."""
        if self._entries.pop(key, None) is None:
            return
        self._decoded.pop(key, None)
        self._unclaimed.discard(key)
        self._unsettled.discard(key)
        for parent in _parents(key) if _is_text(key) else ():
            self._parents[parent] -= 1
            if not self._parents[parent]:
                del self._parents[parent]

    def read(self) -> Reading:
        """Return every service, every unusable key, and how many keys are no registrations."""
        found = self._found()
        services = _services([decoded for _, decoded in found])
        invalid = tuple(decoded.invalid for _, decoded in found if decoded.invalid)
        counted = sum(1 for _, decoded in found if not decoded.skipped)
        return Reading(services, invalid, len(self._entries) - counted)

    def service(self, layout: str, prefix: str, name: str) -> tuple[Service, tuple[Invalid, ...]]:
        """Return one service, empty where nothing is left of it, and the unusable keys in its folder."""
        mine = [decoded for _, decoded in self._found() if (decoded.layout, decoded.place.prefix) == (layout, prefix)]
        instances = [each for decoded in mine for each in decoded.instances if each.service == name]
        invalid = tuple(decoded.invalid for decoded in mine if decoded.invalid)
        return Service(name, layout, prefix, tuple(instances)), invalid

    def others(self) -> tuple[Other, ...]:
        """Return the keys that are no registrations, and why each of them is none."""
        found = dict(self._found())
        return tuple(
            Other(key, found[key].skipped if key in found else "no layout has such a key and value")
            for key in sorted(self._entries)
            if key not in found or found[key].skipped
        )

    def has_children(self, key: str) -> bool:
        return key in self._parents

    def value_of(self, key: str) -> bytes | None:
        entry = self._entries.get(key.encode())
        return None if entry is None else entry.value

    def _decode(self, key: bytes) -> None:
        record = Record(self._entries[key], self)
        reason = why_skipped(record)
        decoded = Decoded("", Place("", record.folder), skipped=reason) if reason else self._first(record)
        self._unclaimed.discard(key)
        self._decoded.pop(key, None)
        if decoded is None:
            self._unclaimed.add(key)
        else:
            self._decoded[key] = decoded
        if record.asked:
            self._unsettled.add(key)

    def _first(self, record: Record) -> Decoded | None:
        claim = self._claim
        return next((decoded for codec in self._codecs if (decoded := codec.decode(record, claim)) is not None), None)

    def _found(self) -> list[tuple[bytes, Decoded]]:
        """What became of every key that a layout has, in key order."""
        for key in [*self._unsettled]:
            self._decode(key)
        return sorted((self._decoded | self._claimed_late()).items())

    def _claimed_late(self) -> dict[bytes, Decoded]:
        """Read the leftovers again as what their recognised siblings are: there, not parsing is a defect.

        So it is under a root of a layout whose values say enough: nobody else puts keys there.
        """
        if not self._unclaimed:
            return {}
        owners = defaultdict(set)
        for key, decoded in self._decoded.items():
            if decoded.instances:
                owners[key[: key.rfind(b"/") + 1]].add(decoded.layout)
        found: dict[bytes, Decoded] = {}
        for key in self._unclaimed:
            if _is_text(key):
                siblings = owners.get(key[: key.rfind(b"/") + 1], set())
                decoded_late = self._owned(Record(self._entries[key], self), siblings)
                if decoded_late is not None:
                    found[key] = decoded_late
        return found

    def _owned(self, record: Record, siblings: set[str]) -> Decoded | None:
        claim = self._claim._replace(owned=True)
        for codec in self._codecs:
            is_home = not codec.weak and record.key.startswith(codec.roots)
            if is_home or codec.name in siblings:
                decoded = codec.decode(record, claim)
                if decoded is not None:
                    return decoded
        return None


def _services(found: Sequence[Decoded]) -> tuple[Service, ...]:
    """Group by layout, prefix and name; one whose keys are all unusable is there too, empty."""
    members: defaultdict[Folder, list[Instance]] = defaultdict(list)
    named: set[tuple[str, str]] = set()
    for decoded in found:
        if decoded.instances:
            members[decoded.layout, decoded.place.prefix, decoded.place.service].extend(decoded.instances)
            named.add((decoded.layout, decoded.place.prefix))
    for decoded in found:
        layout, place = decoded.layout, decoded.place
        if decoded.invalid and place.service and (layout, place.prefix) not in named:
            members[layout, place.prefix, place.service] = []
    services = (Service(name, layout, prefix, tuple(each)) for (layout, prefix, name), each in members.items())
    return tuple(sorted(services, key=lambda service: (service.name, service.prefix, service.layout)))


def _parents(key: bytes) -> Iterator[str]:
    """The keys that this one is below."""
    text = key.decode("utf-8")
    at = text.rfind("/")
    while at > 0:
        yield text[:at]
        at = text.rfind("/", 0, at)


def _is_text(key: bytes) -> bool:
    try:
        key.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
