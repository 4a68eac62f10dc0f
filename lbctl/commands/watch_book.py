"""What a watch remembers of one service: pure state. Facts and their time come in, events and reports go out."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from lbctl.commands.watch_differences import differences
from lbctl.discovery.backends import decisive, distinct
from lbctl.discovery.changes import became
from lbctl.discovery.listing import shares
from lbctl.discovery.watch_report import WatchReport, WatchRow
from lbctl.model import Endpoint, Event, Identity, Instance, Invalid, Service
from lbctl.redaction import masked_text

if TYPE_CHECKING:
    from lbctl.etcd.client import TimeToLive
    from lbctl.rpc.health import Health

GONE_FOR_S = 5.0
CHANGED_FOR_S = 10.0
RTT_STEP_S, RTT_STEPS = 3, 20  # the last minute
_EVENTS_KEPT = 200
_KEYS_TOLD = 3  # of an address, one by one
_FINE = ("SERVING", "UNIMPLEMENTED")


class Told(NamedTuple):
    """One thing worth telling: the event, etcd's revision then, and the instance it is about, if any.

    ``stale_s`` is None while the registry is followed, else for how long it has been lost.
    """

    event: Event
    service: str
    revision: int
    instance: Instance | None = None
    stale_s: float | None = None


@dataclass(slots=True)
class _Known:
    """One backend of the service, its keys, and when what was learned about it.

    ``instance`` is called by the oldest key, and as the newest describes it; that one ``counts``.
    """

    keys: dict[str, Instance]
    instance: Instance
    counts: Instance
    joined_s: float | None = None  # None: it was there when the watch began
    left_s: float | None = None
    health: Health | None = None
    changed_s: float | None = None
    change: str = ""
    rtts: deque[float] = field(default_factory=lambda: deque(maxlen=RTT_STEPS))
    rtt_step: int = 0  # of the last of them

    def answered(self, health: Health, t_s: float) -> None:
        """Take note of how long an answer took: the slowest of each step counts, in us, and 0 for none."""
        step, us = int(t_s // RTT_STEP_S), (health.rtt_s or 0.0) * 1e6
        if self.rtts and step == self.rtt_step:
            us = max(us, self.rtts.pop())
        elif self.rtts:  # what nobody asked about is as it was
            self.rtts.extend([self.rtts[-1]] * min(step - self.rtt_step - 1, RTT_STEPS))
        self.rtts.append(us)
        self.rtt_step = step


class _LeaseSeen(NamedTuple):
    left: TimeToLive | None
    at_s: float


class Book:
    """The state of one watch; times are seconds since it began, and never decrease."""

    def __init__(self, service: str, prefix: str, started_at: datetime) -> None:
        self.service = service
        self.prefix = prefix
        self.revision = 0
        self.checking = False
        self._started_at = started_at
        self._known: dict[Endpoint, _Known] = {}
        self._gone: list[_Known] = []
        self._leases: dict[int, _LeaseSeen] = {}
        self._events: deque[Event] = deque(maxlen=_EVENTS_KEPT)
        self._invalid: tuple[Invalid, ...] = ()
        self._lost_s: float | None = None
        self._begun = False

    @property
    def instances(self) -> list[Instance]:
        """The backends of now, one instance for each address, in key order."""
        return [known.instance for known in self._ordered(self._known.values())]

    def lease_age(self, lease: int, t_s: float) -> float | None:
        """Return how long ago the lease was asked about; None for never."""
        seen = self._leases.get(lease)
        return None if seen is None else t_s - seen.at_s

    def granted(self, lease: int) -> int | None:
        """Return the seconds the lease was granted, once known."""
        seen = self._leases.get(lease)
        return seen.left.granted if seen and seen.left else None

    def saw_lease(self, lease: int, left: TimeToLive | None, t_s: float) -> None:
        """Take note of a lease; None means it does not exist any more."""
        self._leases[lease] = _LeaseSeen(left, t_s)

    def take(
        self, service: Service, revision: int, invalid: Sequence[Invalid], t_s: float, layouts: Mapping[str, str] = {}
    ) -> list[Told]:
        """Replace what is known by a newer description of the service, and return what changed.

        ``layouts`` says of keys that left the service and are still there what has them now, "" for no layout.
        """
        self.revision = revision
        fresh = _by_address(service.instances)
        kept = {key: became(layout, service.layout) for key, layout in layouts.items()}
        kept |= {each.key: "its key is unusable now" for each in invalid}
        kept |= {each.key: "its key has another address now" for each in service.instances}
        gone = sorted(self._known.keys() - fresh.keys(), key=lambda each: self._known[each].instance.identity)
        told = [self._leave(each, t_s, kept) for each in gone]
        for endpoint, under in fresh.items():
            known = self._known.get(endpoint)
            told += [self._join(endpoint, under, t_s)] if known is None else self._update(known, under, kept, t_s)
        told += [self._flaw(each, t_s) for each in invalid if each not in self._invalid]
        self._invalid = tuple(invalid)
        self._forget_leases()
        first, self._begun = not self._begun, True
        if first:
            text = f"synced at rev {revision}: {len(fresh)} {'instance' if len(fresh) == 1 else 'instances'}"
            return [self._tell(Event(t_s, "resync", None, text)), *told]
        return self._remember(told)

    def lost(self, reason: str, t_s: float) -> Told:
        """Mark the registry as lost: what is known may be old from now on."""
        self._lost_s = t_s if self._lost_s is None else self._lost_s
        return self._tell(Event(t_s, "resync", None, f"registry lost: {reason} (rev {self.revision})", "bad"))

    def reread(self, how: str, revision: int, t_s: float) -> Told:
        """Note that all was read again as changes were missed, perhaps of another store with lower revisions."""
        self.revision = revision
        return self._tell(Event(t_s, "resync", None, how, "change"))

    def resumed(self, revision: int, endpoint: str, t_s: float) -> Told:
        """Mark the registry as found again, at an endpoint."""
        away = "" if self._lost_s is None else f" after {t_s - self._lost_s:.1f}s"
        self._lost_s = None
        self.revision = max(self.revision, revision)
        text = f"synced again at rev {self.revision}{away}, by {endpoint}"
        return self._tell(Event(t_s, "resync", None, text, "good"))

    def checked(self, endpoint: Endpoint, health: Health, t_s: float) -> Told | None:
        """Take a health check's answer; returns what to tell where it changed, or was bad from the start."""
        known = self._known.get(endpoint)
        if known is None:
            return None
        before, known.health = known.health, health
        known.answered(health, t_s)
        status = str(health.status)
        if (before is None and status in _FINE) or (before is not None and before.status == health.status):
            return None
        text = f"{before.status} -> {status}" if before else status
        text += f" ({health.detail})" if health.detail else ""
        known.change, known.changed_s = "health", t_s
        level = "good" if status in _FINE else "bad"
        return self._tell(Event(t_s, "health", known.instance.address, text, level), known.counts)

    def log(self, text: str, t_s: float) -> Told:
        """Take a line that something in the process wrote."""
        return self._tell(Event(t_s, "log", None, text))

    def noted(self, event: Event) -> Told:
        """Take something else that is worth telling."""
        return self._tell(event)

    def report(self, t_s: float) -> WatchReport:
        """Return everything as it is now."""
        self._gone = [known for known in self._gone if t_s - (known.left_s or 0.0) < GONE_FOR_S]
        service = Service(self.service, "", self.prefix, tuple(known.instance for known in self._known.values()))
        share = shares(service)
        rows = self._ordered([*self._known.values(), *self._gone])
        return WatchReport(
            service=self.service,
            prefix=self.prefix,
            revision=self.revision,
            started_at=self._started_at,
            elapsed_s=t_s,
            rows=tuple(self._row(known, share, t_s) for known in rows),
            events=tuple(self._events),
            stale_s=self._stale_s(t_s),
            invalid=len(self._invalid),
            checking=self.checking,
        )

    def _join(self, endpoint: Endpoint, under: dict[str, Instance], t_s: float) -> Told:
        known = _Known(under, *_described(under), t_s if self._begun else None)
        self._known[endpoint] = known
        self._gone = [each for each in self._gone if each.instance.endpoint != endpoint]
        counts, since = known.counts, min(each.create_revision for each in under.values())
        text = f"weight {counts.effective_weight}, {self._lease_text(counts.lease)}"
        text += f", under {len(under):,} keys" if len(under) > 1 else ""
        text += f" (rev {counts.mod_revision})" if self._begun else f", there since rev {since}"
        text += "".join(f"; {warning}" for warning in counts.warnings)
        return self._told(Event(t_s, "joined", counts.address, text, "good"), counts)

    def _leave(self, endpoint: Endpoint, t_s: float, kept: Mapping[str, str]) -> Told:
        known = self._known.pop(endpoint)
        known.left_s = t_s
        self._gone.append(known)
        counts, number = known.counts, len(known.keys)
        why = self._why_gone(counts, kept)
        text = why if number == 1 else f"all of its {number:,} keys are gone; of the newest: {why}"
        return self._told(Event(t_s, "left", counts.address, f"{text} (rev {self.revision})", "bad"), counts)

    def _why_gone(self, instance: Instance, kept: Mapping[str, str]) -> str:
        """``kept`` is what became of the keys that are still there."""
        if instance.key in kept:
            return kept[instance.key]
        seen = self._leases.get(instance.lease)
        if instance.lease and seen is not None and seen.left is None:
            return "its lease is gone (expired or revoked)"
        return "key deleted"

    def _update(self, known: _Known, under: dict[str, Instance], kept: Mapping[str, str], t_s: float) -> list[Told]:
        """Take the newest keys of an address that is known; what only an older key says changes nothing."""
        told = list(self._key_changes(known, under, kept, t_s))
        before, (known.instance, known.counts) = known.counts, _described(under)
        after, known.keys = known.counts, under
        changes = list(differences(before, after))
        if changes or told:
            known.change, known.changed_s = changes[0][0].removeprefix("log") if changes else "keys", t_s
        suffix = f" (rev {after.mod_revision if before.key == after.key else self.revision})"
        events = (Event(t_s, kind, after.address, text + suffix, "change") for kind, text in changes)
        return [*told, *(self._told(event, after) for event in events)]

    def _key_changes(
        self, known: _Known, under: dict[str, Instance], kept: Mapping[str, str], t_s: float
    ) -> Iterator[Told]:
        """Tell of the keys that an address has more or less of, and of changes to those that do not count."""
        came = [under[key] for key in sorted(under.keys() - known.keys.keys())]
        went = [known.keys[key] for key in sorted(known.keys.keys() - under.keys())]
        lines = [(each, f"also under {masked_text(each.key)}") for each in came[:_KEYS_TOLD]]
        lines += [
            (each, f"no longer under {masked_text(each.key)}: {self._why_gone(each, kept)}")
            for each in went[:_KEYS_TOLD]
        ]
        for more, words in ((came[_KEYS_TOLD:], "also under"), (went[_KEYS_TOLD:], "no longer under")):
            lines += [(more[0], f"{words} {len(more):,} more keys")] if more else []
        counts = {known.counts.key, _described(under)[1].key}
        for key in sorted((under.keys() & known.keys.keys()) - counts):
            older = f"under {masked_text(key)}, which is not its newest key"
            lines += [(under[key], f"{text} {older}") for _, text in differences(known.keys[key], under[key])]
        for instance, text in lines:
            event = Event(t_s, "log", instance.address, f"{text} (rev {self.revision})", "change")
            yield self._told(event, instance)

    def _flaw(self, invalid: Invalid, t_s: float) -> Told:
        text = f"unusable key {masked_text(invalid.key)}: {invalid.reason} [{invalid.code}]"
        return self._told(Event(t_s, "log", None, text, "bad"))

    def _lease_text(self, lease: int) -> str:
        if not lease:
            return "no lease"
        granted = self.granted(lease)
        return f"lease ..{lease & 0xFFFFF:05x}" + (f" ttl {granted}s" if granted else "")

    def _row(self, known: _Known, share: Mapping[Identity, float], t_s: float) -> WatchRow:
        instance, health = known.instance, known.health
        left, at_s = self._leases.get(instance.lease, _LeaseSeen(None, 0.0))
        seen_s = None if known.joined_s is None else t_s - known.joined_s
        return WatchRow(
            instance=instance,
            share=None if known.left_s is not None else share[instance.identity],
            state=_state(known),
            health=str(health.status) if health else None,
            rtt_us=health.rtt_s * 1e6 if health and health.rtt_s is not None else None,
            ttl_s=max(left.ttl - (t_s - at_s), 0.0) if left else None,
            granted_s=left.granted if left else None,
            age_s=seen_s,
            seen_s=seen_s,
            gone_s=None if known.left_s is None else t_s - known.left_s,
            keys=len(known.keys),
            change=_change(known, t_s),
            rtts=tuple(known.rtts),
        )

    def _forget_leases(self) -> None:
        used = {each.lease for known in self._known.values() for each in known.keys.values()}
        self._leases = {lease: seen for lease, seen in self._leases.items() if lease in used}

    def _remember(self, told: list[Told]) -> list[Told]:
        self._events.extend(each.event for each in told)
        return told

    def _tell(self, event: Event, instance: Instance | None = None) -> Told:
        self._events.append(event)
        return self._told(event, instance)

    def _told(self, event: Event, instance: Instance | None = None) -> Told:
        return Told(event, self.service, self.revision, instance, self._stale_s(event.t_s))

    def _stale_s(self, t_s: float) -> float | None:
        return None if self._lost_s is None else t_s - self._lost_s

    @staticmethod
    def _ordered(known: Iterable[_Known]) -> list[_Known]:
        return sorted(known, key=lambda each: each.instance.identity)


def _by_address(instances: Iterable[Instance]) -> dict[Endpoint, dict[str, Instance]]:
    found: dict[Endpoint, dict[str, Instance]] = {}
    for each in instances:
        found.setdefault(each.endpoint, {})[each.key] = each
    return found


def _described(under: Mapping[str, Instance]) -> tuple[Instance, Instance]:
    """One backend as it is called, and the key that describes it."""
    return distinct(under.values())[0], next(iter(decisive(under.values())))


def _change(known: _Known, t_s: float) -> str:
    """What happened to a backend in the last seconds, and when."""
    if known.changed_s is not None and t_s - known.changed_s < CHANGED_FOR_S:
        return f"{known.change} {t_s - known.changed_s:.0f}s"
    fresh = known.left_s is None and known.joined_s is not None and t_s - known.joined_s < CHANGED_FOR_S
    return "new" if fresh else ""


def _state(known: _Known) -> str:
    """Return ready, draining, down, gone, not_grpc or unknown, as far as registry and health checks tell."""
    if known.left_s is not None:
        return "gone"
    if known.instance.status is not None or known.instance.effective_weight == 0:
        return "draining"
    if not known.instance.speaks_grpc:
        return "not_grpc"
    if known.health is None:
        return "unknown"
    return "ready" if known.health.status in _FINE else "down"
