"""Keys in, services out: the same reading of the registry for a listing and for a watch."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from lbctl.discovery.askers import Askers
from lbctl.discovery.codecs import CODECS, Claim, Codec, Decoded, Record
from lbctl.discovery.reading import Reader, Trial, trial
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
    ``preferred`` is a layout that is asked before all others, and guesses. ``named_by`` says whether services are
    called by their keys or their values, where both have a name.
    """

    def __init__(
        self,
        root: str = "",
        *,
        rooted: bool = False,
        layout: str = "",
        guess: bool = False,
        preferred: str = "",
        named_by: str = "",
        codecs: Sequence[Codec] = CODECS,
    ) -> None:
        self._reader = Reader(Claim(root, rooted, layout=layout, guess=guess, named_by=named_by), codecs, preferred)
        self._entries: dict[bytes, Entry] = {}
        self._parents: Counter[str] = Counter()  # of keys, and how many each has below it
        self._decoded: dict[bytes, Decoded] = {}
        self._unclaimed: set[bytes] = set()
        self._doubtful: set[bytes] = set()  # unusable as a weak layout; a strong one may have them, too
        self._askers = Askers()

    def put(self, entry: Entry) -> None:
        """Take a key's newest value."""
        self.remove(entry.key)
        self._entries[entry.key] = entry
        if not _is_text(entry.key):
            self._unclaimed.add(entry.key)
            return
        for parent in _parents(entry.key):
            self._parents[parent] += 1
        self._askers.changed(entry.key.decode(), _parents(entry.key))
        self._decode(entry.key)

    def remove(self, key: bytes) -> None:
        """Forget a key; what its value was does not matter."""
        if self._entries.pop(key, None) is None:
            return
        self._decoded.pop(key, None)
        self._unclaimed.discard(key)
        self._doubtful.discard(key)
        if not _is_text(key):
            return
        self._askers.forget(key)
        self._askers.changed(key.decode(), _parents(key))
        for parent in _parents(key):
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
        here = [decoded for _, decoded in self._found() if decoded.place.prefix == prefix]
        mine = [each for decoded in here if decoded.layout == layout for each in decoded.instances]
        instances = [each for each in mine if each.service == name]
        invalid = tuple(decoded.invalid for decoded in here if decoded.invalid)
        return Service(name, layout, prefix, tuple(instances)), invalid

    def layouts_of(self, keys: Iterable[str]) -> dict[str, str]:
        """Return which layout has an instance in each of these keys, "" for none; keys that are gone are left out."""
        there = [key for key in keys if key.encode() in self._entries]
        found = dict(self._found()) if there else {}
        now = {key: found.get(key.encode()) for key in there}
        return {key: decoded.layout if decoded and decoded.instances else "" for key, decoded in now.items()}

    def others(self) -> tuple[Other, ...]:
        """Return the keys that are no registrations, and why each of them is none."""
        found = dict(self._found())
        return tuple(
            Other(key, found[key].skipped if key in found else _why_nobodys(key))
            for key in sorted(self._entries)
            if key not in found or found[key].skipped
        )

    def possible(self) -> tuple[Service, ...]:
        """Return the services that keys which nobody has would be, if something spoke for them."""
        nobodys = self._unclaimed - self._found_late().keys()
        guesses = [self._reader.guess(self._record(key)) for key in sorted(nobodys) if _is_text(key)]
        return _services([guess for guess in guesses if guess and guess.instances])

    def explain(self, key: bytes) -> tuple[Trial, ...]:
        """Return what every rule makes of a key, in order, up to the one that has it."""
        if not _is_text(key):
            return (Trial("text", "no", "the key is not UTF-8"),)
        trials = tuple(self._reader.trials(self._record(key)))
        late = self._found_late().get(key)
        return trials if late is None else (*trials, trial(f"beside or under {late.layout}", late))

    def has_children(self, key: str) -> bool:
        return key in self._parents

    def value_of(self, key: str) -> bytes | None:
        entry = self._entries.get(key.encode())
        return None if entry is None else entry.value

    def _record(self, key: bytes) -> Record:
        return Record(self._entries[key], self)

    def _decode(self, key: bytes) -> None:
        record = self._record(key)
        decoded = self._reader.first(record)
        for kind in (self._unclaimed, self._doubtful):
            kind.discard(key)
        self._decoded.pop(key, None)
        if decoded is None:
            self._unclaimed.add(key)
        else:
            self._decoded[key] = decoded
            if decoded.invalid and self._reader.is_weak(decoded.layout):
                self._doubtful.add(key)
        self._askers.asked(key, record.asked)

    def _found(self) -> list[tuple[bytes, Decoded]]:
        """What became of every key that a layout has, in key order."""
        for key in self._askers.take_stale():
            self._decode(key)
        return sorted((self._decoded | self._found_late()).items())

    def _found_late(self) -> dict[bytes, Decoded]:
        """Read the leftovers again as what their recognised siblings are: there, not parsing is a defect.

        So it is under a root of a layout whose values say enough: nobody else puts keys there.
        """
        leftovers = [key for key in (*self._unclaimed, *self._doubtful) if _is_text(key)]
        if not leftovers:
            return {}
        owners: defaultdict[bytes, set[str]] = defaultdict(set)
        for key, decoded in self._decoded.items():
            if decoded.instances:
                owners[_folder(key)].add(decoded.layout)
        found: dict[bytes, Decoded] = {}
        for key in leftovers:
            siblings = owners.get(_folder(key), set())
            late = self._reader.late(self._record(key), siblings, strong=key in self._doubtful)
            if late is not None:
                found[key] = late
        return found


def _services(found: Sequence[Decoded]) -> tuple[Service, ...]:
    """Group by layout, prefix and name; a prefix whose keys are all unusable is there too, as an empty service."""
    members: defaultdict[Folder, list[Instance]] = defaultdict(list)
    peopled: set[str] = set()
    for decoded in found:
        if decoded.instances:
            members[decoded.layout, decoded.place.prefix, decoded.place.service].extend(decoded.instances)
            peopled.add(decoded.place.prefix)
    for decoded in found:
        if decoded.invalid and decoded.place.service and decoded.place.prefix not in peopled:
            members[decoded.layout, decoded.place.prefix, decoded.place.service] = []
            peopled.add(decoded.place.prefix)
    services = (Service(name, layout, prefix, tuple(each)) for (layout, prefix, name), each in members.items())
    return tuple(sorted(services, key=lambda service: (service.name, service.prefix, service.layout)))


def _folder(key: bytes) -> bytes:
    return key[: key.rfind(b"/") + 1]


def _why_nobodys(key: bytes) -> str:
    return "no layout has such a key and value" if _is_text(key) else "the key is not UTF-8"


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
