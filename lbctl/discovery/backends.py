"""Backends against keys: an address that stands under several keys of one service is one backend."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from lbctl.model import Endpoint, Instance


def distinct(instances: Iterable[Instance]) -> tuple[Instance, ...]:
    """Return one instance per address, where the first key of each stands.

    It has the oldest key, so that it stays the same backend while others come and go, and is described as the newest
    key has it.
    """
    groups: dict[Endpoint, list[Instance]] = {}
    for each in instances:
        groups.setdefault(each.endpoint, []).append(each)
    return tuple(map(_one, groups.values()))


def _one(keys: Sequence[Instance]) -> Instance:
    if len(keys) == 1:
        return keys[0]
    oldest = min(keys, key=lambda each: (each.create_revision, each.key))
    newest = max(keys, key=lambda each: each.create_revision)
    return replace(newest, key=oldest.key)
