"""Header blocks by independent encoders, as one connection after another: each must be read as what was encoded.

``corpus.json`` holds stories, the header lists of a connection in order, and what golang.org/x/net/http2/hpack makes
of them (hexadecimal; values are Latin-1 text). Two stories say different things in the same bytes, which is what a
cache of blocks gets wrong. Python's hpack, and blocks built by hand, encode the same stories here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import cycle, pairwise
from pathlib import Path

import pytest
from hpack import Encoder

from lbctl.wire import header_reader
from lbctl.wire.header_reader import HeaderReader
from tests.wire.frames import literal

Fields = tuple[tuple[bytes, bytes], ...]
Encode = Callable[[list[Fields]], Iterator[bytes]]

CORPUS = json.loads(Path(__file__).with_name("corpus.json").read_text())
STORIES: list[list[Fields]] = [
    [tuple((name.encode("latin-1"), value.encode("latin-1")) for name, value in block) for block in story]
    for story in CORPUS["stories"]
]
RECORDED: dict[str, list[list[str]]] = CORPUS["encoded"]


def by_hpack(sizes: list[int], *, huffman: bool) -> Encode:
    """Python's encoder, its table resized before every fifth block."""

    def encode(story: list[Fields]) -> Iterator[bytes]:
        encoder, size = Encoder(), cycle(sizes)
        for number, block in enumerate(story):
            if number % 5 == 0 and (wanted := next(size)) != encoder.header_table_size:
                encoder.header_table_size = wanted
            yield encoder.encode(block, huffman=huffman)

    return encode


def by_hand(kinds: list[str]) -> Encode:
    """Literals alone: never indexed, without indexing, and with indexing that nobody refers to."""
    first = {"plain": b"\x00", "never": b"\x10", "indexed": b"\x40"}

    def encode(story: list[Fields]) -> Iterator[bytes]:
        kind = cycle(kinds)
        for block in story:
            yield b"".join(first[next(kind)] + literal(name, value)[1:] for name, value in block)

    return encode


ENCODERS: dict[str, Encode] = {
    "hpack": by_hpack([4096], huffman=True),
    "hpack_without_huffman": by_hpack([4096], huffman=False),
    "hpack_small_table": by_hpack([160], huffman=True),
    "hpack_table_of_changing_size": by_hpack([4096, 0, 300, 100, 4096], huffman=True),
    "hand_plain": by_hand(["plain"]),
    "hand_mixed": by_hand(["plain", "never", "indexed", "never"]),
}


def read_fields(blocks: list[bytes]) -> list[object]:
    """What one connection's reader makes of these blocks; needs ``unclassified``."""
    reader = HeaderReader(everything=True)
    return [reader.read(block) for block in blocks]


def mistakes(story: list[Fields], blocks: list[bytes]) -> list[int]:
    """The blocks that are not read as what was encoded."""
    read = read_fields(blocks)
    return [number for number, fields in enumerate(story) if read[number] != fields]


@pytest.fixture
def unclassified(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader keeps and hands out the fields themselves, so that every one of them is compared."""
    monkeypatch.setattr(header_reader, "parse", tuple)


@pytest.mark.usefixtures("unclassified")
@pytest.mark.parametrize("number", range(len(STORIES)))
@pytest.mark.parametrize("encoder", RECORDED)
def test_what_another_encoder_wrote_is_read_back(encoder: str, number: int) -> None:
    blocks = [bytes.fromhex(block) for block in RECORDED[encoder][number]]
    assert len(blocks) == len(STORIES[number])
    assert mistakes(STORIES[number], blocks) == []


@pytest.mark.usefixtures("unclassified")
@pytest.mark.parametrize("number", range(len(STORIES)))
@pytest.mark.parametrize("encode", ENCODERS.values(), ids=ENCODERS)
def test_every_way_to_encode_a_block_is_read_back(encode: Encode, number: int) -> None:
    assert mistakes(STORIES[number], list(encode(STORIES[number]))) == []


@pytest.mark.usefixtures("unclassified")
def test_the_stories_also_hold_when_the_cache_answers() -> None:
    """Each list three times in a row: most blocks are the same bytes as the one before."""
    repeated = 0
    for story in STORIES:
        thrice = [block for block in story for _ in range(3)]
        blocks = list(by_hpack([4096], huffman=True)(thrice))
        assert read_fields(blocks) == thrice
        repeated += sum(block == before for block, before in pairwise(blocks))
    assert repeated > 100
