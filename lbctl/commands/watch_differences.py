"""What is different about one instance, in words; a key that was written again as it was is no difference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lbctl.model import Instance


def differences(before: Instance, after: Instance) -> Iterable[tuple[str, str]]:
    """Yield kind and text of everything that changed; a key that was written again as it was changed nothing.

    Of two different keys of one backend only what they say of it is compared, and not when or how they were written.
    """
    same_key = before.key == after.key
    if before.effective_weight != after.effective_weight:
        yield "weight", f"weight {before.effective_weight} -> {after.effective_weight}"
    if before.status != after.status:
        yield "drain", f"status {before.status or 'up'} -> {after.status or 'up'}"
    if same_key and before.create_revision != after.create_revision:
        yield "log", "registered again"
    elif same_key and bool(before.lease) != bool(after.lease):  # another lease is a mere renewal
        yield "log", "now under a lease" if after.lease else "now without a lease"
    changed = _changed_keys(before.metadata, after.metadata)
    if changed:
        yield "log", f"metadata changed: {', '.join(changed)}"
    for warning in after.warnings:
        if warning not in before.warnings:
            yield "log", warning


def _changed_keys(before: Mapping[str, object], after: Mapping[str, object]) -> list[str]:
    keys = (before.keys() | after.keys()) - {"@warning"}  # warnings are told in full
    return sorted(key for key in keys if before.get(key) != after.get(key))
