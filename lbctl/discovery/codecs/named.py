"""The service's name in a key against the one in its value."""

from __future__ import annotations

from lbctl.discovery.codecs.record import Record


def names(record: Record, service: str) -> bool:
    """Whether the key's folder ends with the service's name; a name may have slashes."""
    folder = record.folder.removesuffix("/")
    return folder == service or folder.endswith(f"/{service}")


def name_warnings(record: Record, service: str, spelled: str | None = None) -> tuple[str, ...]:
    """Warn where the key names another service than the value, which wins; ``spelled`` is how a key has the name."""
    in_key = service if spelled is None else spelled
    if names(record, in_key):
        return ()
    return (f"key says {record.folder}, value says {service}",)
