"""What the streams of this process can show, given the settings."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lbctl.cli.settings import Settings

if TYPE_CHECKING:
    from lbctl.view.caps import Caps


def caps_of(settings: Settings, ui: str = "auto", fps: float | None = None) -> Caps:
    """Decide once what each stream may be given."""
    from lbctl.view.caps import Wishes, decide, observe

    wishes = Wishes(colour=settings.color or "auto", ui=ui, ascii_only=settings.ascii, fps=fps)
    return decide(os.environ, observe(), wishes)
