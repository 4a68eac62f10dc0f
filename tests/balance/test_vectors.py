"""Every vector is the subject of a test."""

from __future__ import annotations

from pathlib import Path

from tests.balance.fleet import VECTORS


def test_every_vector_is_named_by_a_test() -> None:
    here = Path(__file__).parents[1]
    sources = "\n".join(path.read_text() for path in here.rglob("test_*.py"))
    assert [name for name in VECTORS if f'"{name}"' not in sources] == []
