"""The tables of ``ls``: services, the instances of one service, and the keys that cannot be used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from lbctl.discovery.backends import distinct
from lbctl.discovery.listing import MOST_LISTED, Listing, Rest, shares
from lbctl.discovery.reading import Trial
from lbctl.model import Endpoint, Identity, Instance, Invalid, Service
from lbctl.view.figures import lease_id
from lbctl.view.metadata import metadata_cell
from lbctl.view.plain_table import Cell, Column, Rendered, render
from lbctl.view.text import NONE, clean, duration, percent
from lbctl.view.theme import Glyphs, Style

HEALTH_ROLES = {"SERVING": "ok", "UNIMPLEMENTED": "muted", "UNKNOWN": "warn", "SERVICE_UNKNOWN": "warn"}
_OUTCOME_ROLES = {"instance": "ok", "invalid": "err", "skipped": "warn", "no": "muted"}
_MOST_NAMES = 40  # of metadata, that have a column
_TITLE = 60  # characters of a name
_TELLING = ("version", "zone")  # of metadata, that have a column wherever there is room for it
_WIDE_TITLES = ("PROTOCOL", "KEYS", "MORE", "MODIFIED", "KEY")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Look:
    """How to draw: style and glyphs, the width to keep within (None: natural), header row or not."""

    style: Style
    glyphs: Glyphs
    width: int | None = None
    headers: bool = True


@dataclass(frozen=True, slots=True)
class _Row:
    """One instance with everything its row shows."""

    listing: Listing
    service: Service
    instance: Instance
    share: float


def services_table(listing: Listing, look: Look, *, wide: bool = False) -> Rendered:
    """Lay out one row per service."""
    columns: list[Column[Service]] = [
        Column("SERVICE", _service_name, shrink_to=30),
        Column("LAYOUT", lambda s: Cell(clean(s.layout)), keep=4),
        Column("INSTANCES", lambda s: Cell(str(len(distinct(s.instances)))), numeric=True),
        *([Column("KEYS", _keys, keep=3, numeric=True)] if any(map(_is_crowded, listing.registry.services)) else []),
        Column("UP", lambda s: _up(listing, s), keep=1, numeric=True),
        Column("WEIGHT", _total_weight, keep=2, numeric=True),
        Column("LEASES", lambda s: Cell(_leases(s)), keep=5, numeric=True),
        Column("TTL", lambda s: Cell(_granted(listing, s)), keep=6, numeric=True),
        Column("AGE", lambda s: Cell(_oldest(listing, s)), keep=7),
        *([Column("PREFIX", lambda s: Cell(clean(s.prefix)), keep=8)] if wide else []),
    ]
    return _render(columns, listing.registry.services, look)


def instances_table(listing: Listing, service: Service, look: Look, *, wide: bool = False, sort: str = "") -> Rendered:
    """Lay out one row per address of the service; ``sort`` is one of SORTS, "" for key order."""
    share = _by_address(shares(service))
    keys = Counter(each.endpoint for each in service.instances)
    rows = [_Row(listing, service, each, share[each.endpoint]) for each in distinct(service.instances)[:MOST_LISTED]]
    per_address: Column[_Row] = Column("KEYS", lambda r: Cell(str(keys[r.instance.endpoint])), keep=5, numeric=True)
    columns: list[Column[_Row]] = [
        Column("ADDRESS", lambda r: Cell(clean(r.instance.address)), shrink_to=21, cut="left"),
        Column("WEIGHT", _weight, numeric=True),
        Column("SHARE", lambda r: Cell(f"{percent(r.share)}%"), keep=1, numeric=True),
        Column("HEALTH", _health, keep=2),
        Column("RTT", _rtt, keep=3, numeric=True),
        *([per_address] if _is_crowded(service) else []),
        Column("LEASE", _lease, keep=4),
        *([] if wide else _telling_columns(rows)),
        Column("AGE", lambda r: Cell(created(listing.registry.revision, r.instance.create_revision)), keep=6),
    ]
    if wide:
        columns += _wide_columns(rows, {column.title for column in columns})
    return _render(columns, _sorted(rows, sort), look)


def invalid_table(invalid: Sequence[Invalid], look: Look) -> Rendered:
    """Lay out one row per key that claims to be an instance and cannot be used."""
    columns: list[Column[Invalid]] = [
        Column("INVALID KEY", lambda i: Cell(clean(i.key), "err"), shrink_to=30),
        Column("LAYOUT", lambda i: Cell(clean(i.layout)), keep=2),
        Column("CODE", lambda i: Cell(clean(i.code)), keep=1),
        Column("REASON", lambda i: Cell(clean(i.reason))),
    ]
    return _render(columns, invalid, look)


def possible_table(services: Sequence[Service], look: Look) -> Rendered:
    """Lay out one row per service that keys of nobody may be."""
    columns: list[Column[Service]] = [
        Column("POSSIBLE SERVICE", _service_name, shrink_to=30),
        Column("LAYOUT", lambda s: Cell(clean(s.layout)), keep=2),
        Column("INSTANCES", lambda s: Cell(str(len(s.instances))), numeric=True),
        Column("PREFIX", lambda s: Cell(clean(s.prefix)), keep=3),
    ]
    return _render(columns, services, look)


def others_table(rest: Rest, look: Look) -> Rendered:
    """Lay out one row per key that is no registration, and per tree that was not read."""
    keys = [(each.key.decode("utf-8", "backslashreplace"), 1, each.why) for each in rest.others]
    trees = [(each.where or "(elsewhere)", each.keys, each.why) for each in rest.unread]
    columns: list[Column[tuple[str, int, str]]] = [
        Column("OTHER KEY", lambda o: Cell(clean(o[0])), shrink_to=30),
        Column("KEYS", lambda o: Cell(str(o[1])), keep=1, numeric=True),
        Column("WHY", lambda o: Cell(clean(o[2]))),
    ]
    return _render(columns, [*keys, *trees], look)


def trials_table(trials: Sequence[Trial], look: Look) -> Rendered:
    """Lay out one row per rule that was tried on a key."""
    columns: list[Column[Trial]] = [
        Column("RULE", lambda t: Cell(clean(t.rule))),
        Column("OUTCOME", lambda t: Cell(clean(t.outcome), _OUTCOME_ROLES.get(t.outcome, ""))),
        Column("WHY", lambda t: Cell(clean(t.why))),
    ]
    return _render(columns, trials, look)


def created(revision: int, create_revision: int) -> str:
    """Spell the only age etcd knows: the revision that created the key, and how many came after it."""
    return f"rev {create_revision} (+{revision - create_revision})" if create_revision else NONE


def _render(columns: Sequence[Column[R]], rows: Sequence[R], look: Look) -> Rendered:
    return render(columns, rows, look.style, width=look.width, headers=look.headers, ellipsis=look.glyphs.ellipsis)


def _service_name(service: Service) -> Cell:
    return Cell(clean(service.name), "bold")


def _up(listing: Listing, service: Service) -> Cell:
    backends = [each for each in distinct(service.instances) if each.speaks_grpc]
    if not listing.checked or (service.instances and not backends):
        return Cell(NONE)
    serving = sum(in_rotation(listing, each) for each in backends)
    total = len(backends)
    return Cell(f"{serving}/{total}", "ok" if serving == total else "warn")


def in_rotation(listing: Listing, instance: Instance) -> bool:
    """Whether a client could call the instance, as far as the registry and the health check tell."""
    health = listing.health_of(instance)
    return instance.status is None and (health is None or health.status in ("SERVING", "UNIMPLEMENTED"))


def _total_weight(service: Service) -> Cell:
    return Cell(str(sum(each.effective_weight for each in distinct(service.instances))))


def _by_address(share: Mapping[Identity, float]) -> dict[Endpoint, float]:
    found: dict[Endpoint, float] = {}
    for (_, endpoint), part in share.items():
        found[endpoint] = found.get(endpoint, 0.0) + part
    return found


def _is_crowded(service: Service) -> bool:
    """Whether an address of the service has several keys."""
    return len(distinct(service.instances)) < len(service.instances)


def _keys(service: Service) -> Cell:
    return Cell(str(len(service.instances)))


def _leases(service: Service) -> str:
    return str(len({each.lease for each in service.instances if each.lease}))


def _granted(listing: Listing, service: Service) -> str:
    granted = {lease.granted for each in service.instances if (lease := listing.lease_of(each))}
    if not granted:
        return NONE
    low, high = min(granted), max(granted)
    return f"{low}s" if low == high else f"{low}-{high}s"


def _oldest(listing: Listing, service: Service) -> str:
    return created(listing.registry.revision, min((each.create_revision for each in service.instances), default=0))


def _weight(row: _Row) -> Cell:
    weight = row.instance.effective_weight
    if row.instance.weight is None:
        return Cell(f"({weight})", "muted")
    return Cell(str(weight), "" if weight else "warn")


def _health(row: _Row) -> Cell:
    if row.instance.status is not None:
        return Cell(clean(row.instance.status), "warn")
    health = row.listing.health_of(row.instance)
    if health is None:
        return Cell(NONE)
    return Cell(clean(str(health.status)), HEALTH_ROLES.get(health.status, "err"))


def _rtt(row: _Row) -> Cell:
    health = row.listing.health_of(row.instance)
    return Cell(duration(health.rtt_s * 1e6 if health and health.rtt_s is not None else None), "latency")


def _lease(row: _Row) -> Cell:
    if not row.instance.lease:
        return Cell("none", "muted")
    left, name = row.listing.lease_of(row.instance), lease_id(row.instance.lease)
    short = f"{name[:4]}..{name[-2:]}" if len(name) > 8 else name
    return Cell(f"{short} {left.ttl}s/{left.granted}s") if left else Cell(f"{short} expired", "warn")


def _wide_columns(rows: Sequence[_Row], titles: Collection[str]) -> list[Column[_Row]]:
    """Everything the registry says: the metadata keys that the instances have, then the key itself.

    ``titles`` are those of the columns before.
    """
    held = Counter(name for row in rows for name in row.instance.metadata)
    names = sorted(name for name, _ in held.most_common(_MOST_NAMES))
    left_out = held.keys() - set(names)
    more: Column[_Row] = Column("MORE", lambda r: Cell(str(len(left_out & r.instance.metadata.keys()))), numeric=True)
    return [
        Column("PROTOCOL", lambda r: Cell(clean(_protocol(r.instance))), keep=7),
        *(Column(title, _metadata(name), keep=8) for name, title in _titled(names, {*titles, *_WIDE_TITLES})),
        *([more] if left_out else []),
        Column("MODIFIED", lambda r: Cell(f"rev {r.instance.mod_revision}"), keep=9),
        Column("KEY", lambda r: Cell(clean(r.instance.key)), keep=10),
    ]


def _telling_columns(rows: Sequence[_Row]) -> list[Column[_Row]]:
    held = {name for row in rows for name, value in row.instance.metadata.items() if value not in (None, "")}
    return [Column(name.upper(), _metadata(name), keep=7) for name in _TELLING if name in held]


def _titled(names: Sequence[str], taken: Collection[str]) -> Iterator[tuple[str, str]]:
    """The titles of metadata: told apart from each other, and from those of other columns that are ``taken``."""
    short = {name: clean(name.lstrip("@"), _TITLE).upper() for name in names}
    alike = Counter(short.values())
    for name, title in short.items():
        own = title if alike[title] == 1 else clean(name, _TITLE)
        yield name, own if title and title not in taken else f"META.{own}"


def _protocol(instance: Instance) -> str:
    secure = {True: "+tls", False: "", None: ""}[instance.secure]
    return f"{instance.protocol or NONE}{secure}"


def _metadata(name: str) -> Callable[[_Row], Cell]:
    return lambda row: Cell(metadata_cell(row.instance.metadata, name))


def _sorted(rows: list[_Row], sort: str) -> list[_Row]:
    """Sort by a column: text and revisions upwards, numbers from the largest, what is unknown last."""
    return sorted(rows, key=_SORT_KEYS[sort]) if sort else rows


def _falling(number: float | None) -> tuple[bool, float]:
    return number is None, -(number or 0)


def _rtt_s(row: _Row) -> float | None:
    health = row.listing.health_of(row.instance)
    return health.rtt_s if health else None


def _ttl_s(row: _Row) -> float | None:
    lease = row.listing.lease_of(row.instance)
    return lease.ttl if lease else None


_SORT_KEYS: dict[str, Callable[[_Row], Any]] = {
    "address": lambda row: row.instance.endpoint,
    "weight": lambda row: _falling(row.instance.effective_weight),
    "share": lambda row: _falling(row.share),
    "health": lambda row: _health(row).text,
    "rtt": lambda row: _falling(_rtt_s(row)),
    "ttl": lambda row: _falling(_ttl_s(row)),
    "created": lambda row: row.instance.create_revision,
}
SORTS = tuple(_SORT_KEYS)
