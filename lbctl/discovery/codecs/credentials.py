"""Whether a JSON object is an application's configuration: one that holds credentials is no registration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lbctl.redaction import is_credential

_NAMES: Final = frozenset(("pass", "token", "dsn", "user", "username", "database", "db"))


def has_credentials(document: Mapping[str, Any]) -> bool:
    """Whether a member says how to log in somewhere; deeper ones count where their name leaves no doubt."""
    return any(name.lower() in _NAMES for name in document) or _is_secret(document)


def _is_secret(part: object) -> bool:
    if isinstance(part, dict):
        return any(is_credential(name) or _is_secret(inner) for name, inner in part.items())
    return isinstance(part, list) and any(map(_is_secret, part))
