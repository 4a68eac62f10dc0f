"""``lbctl ls --explain KEY``: what every layout makes of one key, and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches

from lbctl.discovery.codecs.skipped import TREES
from lbctl.discovery.directory import read_keys
from lbctl.discovery.reading import Explanation, Trial
from lbctl.discovery.scan import Tell
from lbctl.errors import NotFound
from lbctl.etcd.client import Etcd
from lbctl.etcd.ranges import KeyRange, prefix_range
from lbctl.model import Entry
from lbctl.suggestion import Again

_NEAREST = 3
_SIBLINGS = 1_000


@dataclass(frozen=True, slots=True)
class Explain:
    """Which key to explain, and how keys are to be read besides; ``again`` spells commands that look there."""

    key: str
    prefix: str | None = None
    layout: str | None = None
    named_by: str = ""
    again: Again = field(default_factory=Again)


async def explain(etcd: Etcd, request: Explain, tell: Tell | None = None) -> Explanation:
    """Read the registry and explain one key of it; raises NotFound where there is no such key."""
    key = request.key.encode("utf-8", "surrogateescape")
    entry = await _entry(etcd, key, request.again)
    catalog, scanned = await read_keys(
        etcd, request.prefix, layout=request.layout, named_by=request.named_by, tell=tell
    )
    if entry is None:
        trials: tuple[Trial, ...] = (Trial("size", "invalid", "the value is too large to be read"),)
    else:
        catalog.put(entry)
        trials = catalog.explain(key)
    return Explanation(key.decode("utf-8", "backslashreplace"), scanned.revision, trials)


async def _entry(etcd: Etcd, key: bytes, again: Again) -> Entry | None:
    """Return a key, without its value where nobody reads it; None where its value is too large."""
    named = await etcd.list(KeyRange(key, key + b"\0"), keys_only=True, limit=1)
    if not named.entries:
        raise await _unknown(etcd, key, again)
    if key.startswith(tuple(tree.encode() for tree in TREES)):
        return named.entries[0]
    found = (await etcd.values([key], named.revision)).entries
    return found[0] if found else None


async def _unknown(etcd: Etcd, key: bytes, again: Again) -> NotFound:
    text = key.decode("utf-8", "backslashreplace")
    folder = key[: key.rfind(b"/") + 1]
    siblings = (await etcd.list(prefix_range(folder), keys_only=True, limit=_SIBLINGS)).entries if folder else ()
    names = [entry.key.decode("utf-8", "backslashreplace") for entry in siblings]
    near = get_close_matches(text, names, n=_NEAREST)
    all_keys = again.command("ls", options=("--all",))
    hint = f"did you mean: {', '.join(near)}" if near else f"see what there is: {all_keys}"
    return NotFound(f'no key "{text}" in etcd', hint)
