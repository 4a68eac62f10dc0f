from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lbctl.view.keys import parse


@pytest.mark.parametrize(
    ("chunk", "keys"),
    [
        (b"q", ["q"]),
        (b"++-", ["+", "+", "-"]),
        (b"\x1b[A\x1b[Bj", ["up", "down", "j"]),
        (b"\x1bOA", ["up"]),
        (b"\x1b[5~\x1b[6~", ["pgup", "pgdn"]),
        (b"\x1b[H\x1b[F\x1b[1~\x1b[4~", ["g", "G", "g", "G"]),
        (b"\x1b", ["esc"]),
        (b"\x1b\x1b", ["esc", "esc"]),
        (b"\x1b[24;80R", []),  # an answer to a question nobody asked
        (b"\x1b[200~q", ["q"]),
        (b"\r \x0c", ["enter", "space", "repaint"]),
        (b"\x00\x01", []),
        ("é".encode(), ["é"]),
        (b"", []),
    ],
)
def test_a_chunk_is_read_as_keys(chunk: bytes, keys: list[str]) -> None:
    assert parse(chunk) == keys


@given(st.binary(max_size=64))
def test_no_bytes_break_the_reader(chunk: bytes) -> None:
    assert all(key and key.isprintable() for key in parse(chunk))
