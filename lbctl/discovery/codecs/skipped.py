"""Keys that are known to be no registrations, whatever their values look like."""

from __future__ import annotations

from lbctl.discovery.codecs.record import Record


def why_skipped(record: Record) -> str:
    """Return why a key is no registration; nothing where it may be one."""
    lease = record.entry.lease
    if lease and record.leaf == f"{lease & (1 << 64) - 1:x}":
        return "a lock or an election: the key ends in its lease"
    return ""
