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
    return tuple(map(_one, _by_address(instances)))


def decisive(instances: Iterable[Instance]) -> tuple[Instance, ...]:
    """Return the instance of each address whose weight and status count: that of its newest key."""
    return tuple(map(_newest, _by_address(instances)))


def _by_address(instances: Iterable[Instance]) -> Iterable[Sequence[Instance]]:
    groups: dict[Endpoint, list[Instance]] = {}
    for each in instances:
        groups.setdefault(each.endpoint, []).append(each)
    return groups.values()


def _one(keys: Sequence[Instance]) -> Instance:
    return keys[0] if len(keys) == 1 else replace(_newest(keys), key=_oldest(keys).key)


def _oldest(keys: Sequence[Instance]) -> Instance:
    return min(keys, key=lambda each: (each.create_revision, each.key))


def _newest(keys: Sequence[Instance]) -> Instance:
    return max(keys, key=lambda each: each.create_revision)
