"""Every test here fails if something was raised in a callback, or if a task was left running."""

from __future__ import annotations

from tests.fakes import quiet_loop

__all__ = ["quiet_loop"]
