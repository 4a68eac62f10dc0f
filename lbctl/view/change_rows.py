"""The rows that ``ls -w`` appends: one per change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from lbctl.discovery.changes import Change
from lbctl.model import Identity
from lbctl.view.text import clean, percent
from lbctl.view.theme import Style


def change_rows(
    changes: Iterable[Change], share: Mapping[Identity, float], revision: int, style: Style
) -> Iterator[str]:
    """Yield one row per change: what happened, to whom, and what the instance is like now."""
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
        moved = f"  was {clean(change.before.address)}" if change.op == "moved" and change.before else ""
        where = f"{clean(instance.service)}  {clean(instance.address)}"
        yield _change_row(change.op, where, f"{facts}{moved}  rev {revision}", style)


def _change_row(op: str, where: str, detail: str, style: Style) -> str:
    sgr = {"joined": style.ok, "left": style.err, "invalid": style.err}.get(op, style.warn)
    return f"{sgr}{op.upper():<8}{style.reset if sgr else ''}{where}  {detail}".rstrip()
