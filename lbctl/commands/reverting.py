"""What was written by hand taken back after a while, only where it still stands as it was written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from lbctl.commands.heard import Heard
from lbctl.commands.rewriting import LostRace, Rewrite, write
from lbctl.errors import RegistryError
from lbctl.etcd.client import Etcd
from lbctl.etcd.swap import Beside

_AGAIN_S: Final = 2.0


async def revert(
    etcd: Etcd,
    plan: Sequence[Rewrite],
    revisions: Mapping[bytes, int],
    after_s: float,
    heard: Heard,
    note: Callable[[str], None],
) -> int | None:
    """Wait for so long, or until a signal, and write back what was there before; ``revisions`` are the keys' since.

    Returns the number of the signal. Raises LostRace where somebody has written since, when all the others are written
    back. An etcd that does not answer is asked again until it does, or until another signal: then its RegistryError is
    raised.
    """
    note(f"it goes back to what it was in {after_s:g}s, or at Ctrl-C")
    number = await heard.during(asyncio.sleep(after_s))
    back = [_undone(each, revisions[each.read.key]) for each in plan if each.changes]
    told = False
    while True:
        try:
            await _write_back(etcd, back, note)
            return number
        except RegistryError as error:
            if not told:
                note(f"not written back yet: {error}")
            told = True
            if await heard.during(asyncio.sleep(_AGAIN_S)) is not None:
                raise


async def _write_back(etcd: Etcd, back: Sequence[Rewrite], note: Callable[[str], None]) -> None:
    """Write each for itself, as a key that somebody has written must not keep the others from going back."""
    revisions: list[int] = []
    lost: list[LostRace] = []
    for each in back:
        try:
            revisions.append(await write(etcd, [each]))
        except LostRace as error:
            lost.append(error)
    if revisions:
        some = f"{len(revisions)} of {len(back)} " if lost else ""
        note(f"{some}written back at revision {max(revisions)}")
    if lost:
        raise LostRace("\n".join(map(str, lost)), lost[0].hint)


def _undone(done: Rewrite, revision: int) -> Rewrite:
    """The change that takes a change back, and beside it: the note of a drain goes, one that was dropped is back."""
    read = done.read._replace(value=done.value or b"", mod_revision=revision)
    beside = tuple(Beside(each.key, each.was, each.lease) for each in done.beside)
    return Rewrite(done.instance, done.instance.weight, read, done.read.value, done.instance.status, beside)
