"""Why a registry value cannot be used."""

from __future__ import annotations


class Unusable(Exception):
    """A key that belongs to a layout and cannot be used; ``code`` is stable, ``reason`` is for people."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason
