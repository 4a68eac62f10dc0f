"""One event as one line of text, for pipes and logs."""

from __future__ import annotations

from datetime import datetime

from lbctl.model import Event
from lbctl.view.text import NONE, clean


def event_line(event: Event, at: datetime) -> str:
    """Spell ``time op addr detail``; the time is local, the address ``-`` for news about the registry."""
    time = at.astimezone().isoformat(sep=" ", timespec="milliseconds")[11:23]
    address = clean(event.backend) if event.backend else NONE
    return f"{time} {event.kind:<7}{address:<22} {clean(event.text)}"
