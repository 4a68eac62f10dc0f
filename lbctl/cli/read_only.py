"""``--read-only`` in words."""

from __future__ import annotations

from lbctl.cli.settings import Settings


def refusal(settings: Settings) -> str:
    """Why nothing may be written to etcd, by the option or variable that says so; "" where it may."""
    if not settings.read_only:
        return ""
    return f"{settings.origins.get('read_only', '--read-only')}: nothing is written to etcd"
