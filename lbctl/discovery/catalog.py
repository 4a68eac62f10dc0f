"""Keys in, services out: the same reading of the registry for a listing and for a watch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from lbctl.discovery.codecs import CODECS, Claim, Codec, Decoded
from lbctl.model import Entry, Instance, Invalid, Service

Folder = tuple[str, str]  # layout, prefix


class Catalog:
    """The known keys and what each layout makes of them; nothing about etcd is known here.

    ``root`` is taken off the keys to name services. ``rooted`` says that all keys were asked for, so that a weak
    match counts; otherwise only default roots, siblings and telling keys speak for one.
    """

    def __init__(self, root: str = "", *, rooted: bool = False, codecs: Sequence[Codec] = CODECS) -> None:
        self._claim = Claim(root, rooted)
        self._codecs = codecs
        self._decoded: dict[bytes, Decoded] = {}
        self._unclaimed: dict[bytes, Entry] = {}

    def put(self, entry: Entry) -> None:
        """Take a key's newest value."""
        self.remove(entry.key)
        decoded = self._first(self._codecs, entry, self._claim) if _is_text(entry.key) else None
        if decoded is None:
            self._unclaimed[entry.key] = entry
        else:
            self._decoded[entry.key] = decoded

    def remove(self, key: bytes) -> None:
        """Forget a key; what its value was does not matter."""
        self._decoded.pop(key, None)
        self._unclaimed.pop(key, None)

    def read(self) -> tuple[tuple[Service, ...], tuple[Invalid, ...], int]:
        """Return every service, every unusable key, and how many keys nobody claims."""
        late = self._claimed_by_siblings()
        found = sorted((self._decoded | late).items())
        services = _services([decoded for _, decoded in found])
        invalid = tuple(decoded.invalid for _, decoded in found if decoded.invalid)
        return services, invalid, len(self._unclaimed) - len(late)

    def service(self, layout: str, prefix: str, name: str) -> tuple[Service, tuple[Invalid, ...]]:
        """Return one service, empty where nothing is left of it, and the unusable keys in its folder."""
        late = self._claimed_by_siblings()
        mine = [
            decoded
            for _, decoded in sorted((self._decoded | late).items())
            if decoded.layout == layout and decoded.place.prefix == prefix
        ]
        instances = tuple(instance for decoded in mine for instance in decoded.instances)
        invalid = tuple(decoded.invalid for decoded in mine if decoded.invalid)
        return Service(name, layout, prefix, instances), invalid

    def _claimed_by_siblings(self) -> dict[bytes, Decoded]:
        """Read the leftovers again as what their recognised siblings are: there, not parsing is a defect."""
        if not self._unclaimed:
            return {}
        owners = defaultdict(set)
        for decoded in self._decoded.values():
            if decoded.instances:
                owners[decoded.place.prefix].add(decoded.layout)
        found: dict[bytes, Decoded] = {}
        for key, entry in self._unclaimed.items():
            if not _is_text(key):
                continue
            layouts = owners.get(key.decode()[: key.decode().rfind("/") + 1], ())
            codecs = [codec for codec in self._codecs if codec.name in layouts]
            decoded_late = self._first(codecs, entry, self._claim._replace(owned=True))
            if decoded_late is not None:
                found[key] = decoded_late
        return found

    @staticmethod
    def _first(codecs: Sequence[Codec], entry: Entry, claim: Claim) -> Decoded | None:
        return next((decoded for codec in codecs if (decoded := codec.decode(entry, claim)) is not None), None)


def _services(found: Sequence[Decoded]) -> tuple[Service, ...]:
    """Group by layout and prefix; one whose keys are all unusable is there too, empty."""
    names: dict[Folder, str] = {}
    members: defaultdict[Folder, list[Instance]] = defaultdict(list)
    for decoded in found:
        if decoded.place.service:
            folder = (decoded.layout, decoded.place.prefix)
            names[folder] = decoded.place.service
            members[folder].extend(decoded.instances)
    services = (Service(name, folder[0], folder[1], tuple(members[folder])) for folder, name in names.items())
    return tuple(sorted(services, key=lambda service: (service.name, service.prefix, service.layout)))


def _is_text(key: bytes) -> bool:
    try:
        key.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
