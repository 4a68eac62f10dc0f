"""The rows that ``ls -w`` appends: one per change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from lbctl.discovery.changes import Change, became
from lbctl.model import Identity
from lbctl.view.text import clean, percent
from lbctl.view.theme import Style


def change_rows(
    changes: Iterable[Change],
    share: Mapping[Identity, float],
    revision: int,
    style: Style,
    kept: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """Yield one row per change: what happened, to whom, and what the instance is like now.

    ``kept`` says of keys of instances that left and are still there which layout has them now, "" for none.
    """
    kept = kept or {}
    for change in changes:
        instance = change.after or change.before
        if instance is None:
            what = change.invalid
            detail = f"{clean(what.reason)} [{what.code}]" if what else ""
            yield _change_row(change.op, clean(change.key), detail, style)
            continue
        facts = f"weight {instance.effective_weight}"
        if change.after is not None:
            facts += f"  share {percent(share.get(instance.identity, 0.0))}%"
        elif change.key in kept:
            facts += f"  {clean(became(kept[change.key], instance.layout))}"
        where = f"{clean(instance.service)}  {clean(instance.address)}"
        yield _change_row(change.op, where, f"{facts}{_before(change)}  rev {revision}", style)


def _before(change: Change) -> str:
    """What an instance was before it became what it is, where the name of the change does not say it."""
    old, new = change.before, change.after
    if old is None or new is None:
        return ""
    moved = f"  was {clean(old.address)}" if change.op == "moved" else ""
    if old.layout == new.layout:
        return moved
    weight = f" with weight {old.effective_weight}" if old.effective_weight != new.effective_weight else ""
    return f"{moved}  layout {clean(new.layout)}, was {clean(old.layout)}{weight}"


def _change_row(op: str, where: str, detail: str, style: Style) -> str:
    sgr = {"joined": style.ok, "left": style.err, "invalid": style.err}.get(op, style.warn)
    return f"{sgr}{op.upper():<8}{style.reset if sgr else ''}{where}  {detail}".rstrip()
