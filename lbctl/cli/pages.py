"""Results that are pages for a browser, and no text for a terminal."""

from __future__ import annotations

import sys

from lbctl.cli.settings import Settings
from lbctl.errors import UsageError


def refuse_terminal(settings: Settings) -> None:
    """Raise UsageError where a page would be written to a terminal; done before there is anything to lose."""
    if settings.output == "html" and sys.stdout.isatty():
        raise UsageError("-o html is a page for a browser, and standard output is a terminal", "add: > run.html")
