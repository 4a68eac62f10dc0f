"""What a watch remembers of one service: pure state. Facts and their time come in, events and reports go out."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from lbctl.commands.watch_differences import differences
from lbctl.discovery.listing import shares
from lbctl.discovery.watch_report import WatchReport, WatchRow
from lbctl.model import Event, Identity, Instance, Invalid, Service

if TYPE_CHECKING:
    from lbctl.etcd.client import TimeToLive
    from lbctl.rpc.health import Health

GONE_FOR_S = 5.0
CHANGED_FOR_S = 10.0
_EVENTS_KEPT = 200
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
    """One instance of the service, and when what was learned about it."""

    instance: Instance
    joined_s: float | None = None  # None: it was there when the watch began
    left_s: float | None = None
    health: Health | None = None
    changed_s: float | None = None
    change: str = ""


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
        self._known: dict[Identity, _Known] = {}
        self._gone: list[_Known] = []
        self._leases: dict[int, _LeaseSeen] = {}
        self._events: deque[Event] = deque(maxlen=_EVENTS_KEPT)
        self._invalid: tuple[Invalid, ...] = ()
        self._lost_s: float | None = None
        self._begun = False

    @property
    def instances(self) -> list[Instance]:
        """The instances of now, in key order."""
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

    def take(self, service: Service, revision: int, invalid: Sequence[Invalid], t_s: float) -> list[Told]:
        """Replace what is known by a newer description of the service, and return what changed."""
        self.revision = revision
        fresh = {each.identity: each for each in service.instances}
        kept = {each.key: "its key is unusable now" for each in invalid}
        kept |= {each.key: "its key has another address now" for each in service.instances}
        gone = sorted(self._known.keys() - fresh.keys())
        told = [self._leave(each, t_s, kept.get(each.key)) for each in gone]
        for identity, instance in fresh.items():
            known = self._known.get(identity)
            if known is None:
                told.append(self._join(instance, t_s))
            else:
                told += self._update(known, instance, t_s)
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

    def checked(self, identity: Identity, health: Health, t_s: float) -> Told | None:
        """Take a health check's answer; returns what to tell where it changed, or was bad from the start."""
        known = self._known.get(identity)
        if known is None:
            return None
        before, known.health = known.health, health
        status = str(health.status)
        if (before is None and status in _FINE) or (before is not None and before.status == health.status):
            return None
        text = f"{before.status} -> {status}" if before else status
        text += f" ({health.detail})" if health.detail else ""
        known.change, known.changed_s = "health", t_s
        level = "good" if status in _FINE else "bad"
        return self._tell(Event(t_s, "health", known.instance.address, text, level), known.instance)

    def log(self, text: str, t_s: float) -> Told:
        """Take a line that something in the process wrote."""
        return self._tell(Event(t_s, "log", None, text))

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

    def _join(self, instance: Instance, t_s: float) -> Told:
        joined = t_s if self._begun else None
        self._known[instance.identity] = _Known(instance, joined)
        text = f"weight {instance.effective_weight}, {self._lease_text(instance.lease)}"
        text += f" (rev {instance.mod_revision})" if self._begun else f", there since rev {instance.create_revision}"
        text += "".join(f"; {warning}" for warning in instance.warnings)
        return self._told(Event(t_s, "joined", instance.address, text, "good"), instance)

    def _leave(self, identity: Identity, t_s: float, kept: str | None) -> Told:
        known = self._known.pop(identity)
        known.left_s = t_s
        self._gone.append(known)
        instance = known.instance
        seen = self._leases.get(instance.lease)
        why = kept or "key deleted"
        if not kept and instance.lease and seen is not None and seen.left is None:
            why = "its lease is gone (expired or revoked)"
        return self._told(Event(t_s, "left", instance.address, f"{why} (rev {self.revision})", "bad"), instance)

    def _update(self, known: _Known, instance: Instance, t_s: float) -> list[Told]:
        before, known.instance = known.instance, instance
        changes = list(differences(before, instance))
        if changes:
            known.change, known.changed_s = changes[0][0].removeprefix("log"), t_s
        suffix = f" (rev {instance.mod_revision})"
        events = (Event(t_s, kind, instance.address, text + suffix, "change") for kind, text in changes)
        return [self._told(event, instance) for event in events]

    def _flaw(self, invalid: Invalid, t_s: float) -> Told:
        text = f"unusable key {invalid.key}: {invalid.reason} [{invalid.code}]"
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
        fresh = known.changed_s is not None and t_s - known.changed_s < CHANGED_FOR_S
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
            change=f"{known.change} {t_s - (known.changed_s or 0.0):.0f}s" if fresh else "",
        )

    def _forget_leases(self) -> None:
        used = {known.instance.lease for known in self._known.values()}
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


def _state(known: _Known) -> str:
    """Return ready, draining, down, gone or unknown, as far as registry and health checks tell."""
    if known.left_s is not None:
        return "gone"
    if known.instance.status is not None or known.instance.effective_weight == 0:
        return "draining"
    if known.health is None:
        return "unknown"
    return "ready" if known.health.status in _FINE else "down"
