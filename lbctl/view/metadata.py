"""Metadata of registrations as it is shown: without the secrets in it, and not more of it than anybody reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from lbctl.redaction import HIDDEN, is_secret, masked, masked_text
from lbctl.view.figures import Document
from lbctl.view.text import NONE, clean

MOST_BYTES: Final = 64 * 1024  # of an instance's metadata, as JSON
_NAMED: Final = 20  # members that are left out, by name
_NAME: Final = 100
_CELL: Final = 60


def metadata_document(metadata: Mapping[str, Any]) -> Document:
    """Return ``metadata`` without secrets, and ``metadata_cut``: None, or how much there is and what is left out.

    Of more than ``MOST_BYTES`` the largest members are left out, whole.
    """
    if _is_small(metadata) or _size(metadata) <= MOST_BYTES:
        return {"metadata": masked(metadata), "metadata_cut": None}
    sizes = {name: _size({name: value}) for name, value in metadata.items()}
    kept, room = set(), MOST_BYTES
    for name in sorted(sizes, key=sizes.__getitem__):
        room -= sizes[name]
        if room < 0:
            break
        kept.add(name)
    left_out = sorted(sizes.keys() - kept)
    cut = {
        "bytes": _size(metadata),
        "members": len(left_out),
        "names": [masked_text(name[:_NAME]) for name in left_out[:_NAMED]],
    }
    return {"metadata": masked({name: metadata[name] for name in metadata if name in kept}), "metadata_cut": cut}


def metadata_cell(metadata: Mapping[str, Any], name: str) -> str:
    """Return one member as a cell of a table."""
    value = metadata.get(name)
    if value is None:
        return NONE
    if is_secret(name) and not isinstance(value, bool):
        return HIDDEN
    return clean(str(masked(value)), _CELL)


def _is_small(metadata: Mapping[str, Any]) -> bool:
    """Whether nothing has to be spelled to know: texts, of which no character takes more than six bytes."""
    texts = [text for name, value in metadata.items() for text in (name, value)]
    return all(isinstance(text, str) for text in texts) and 6 * sum(map(len, texts)) + 6 * len(texts) < MOST_BYTES


def _size(metadata: Mapping[str, Any]) -> int:
    return len(json.dumps(metadata, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))
