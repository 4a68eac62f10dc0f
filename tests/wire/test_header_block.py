"""lbctl's own reader of header blocks against ``hpack``, which is the judge: the same fields, block after block."""

from __future__ import annotations

from random import Random

import pytest
from hpack import Decoder, Encoder
from hpack.exceptions import HPACKError
from hypothesis import given, settings
from hypothesis import strategies as st

from lbctl.wire import huffman
from lbctl.wire.header_block import BlockReader, CompressionError, HeaderBomb
from lbctl.wire.header_reader import SOFT_LIMIT, HeaderReader
from lbctl.wire.header_table import BadIndex

Fields = list[tuple[bytes, bytes]]
NAMES = [b"date", b"x-request-id", b"server", b"grpc-status", b":status", b"content-type", b"x-bin", b"Upper", b"a"]


def reads(reader: BlockReader, block: bytes) -> Fields:
    return [(each.name, each.value) for each in reader.read(block)]


def judged(decoder: Decoder, block: bytes) -> Fields | None:
    try:
        return [(bytes(name), bytes(value)) for name, value in decoder.decode(block, raw=True)]
    except (HPACKError, ValueError, IndexError):
        return None


def ours(reader: BlockReader, block: bytes) -> Fields | None:
    try:
        return reads(reader, block)
    except (CompressionError, BadIndex):
        return None


values = st.one_of(st.binary(max_size=40), st.sampled_from([b"", b"0", b"200", b"application/grpc"]))
lists = st.lists(st.tuples(st.sampled_from(NAMES), values, st.booleans()), max_size=8)
steps = st.one_of(lists, st.integers(0, 4096))


@settings(max_examples=300)
@given(st.lists(steps, max_size=12), st.booleans())
def test_whatever_an_encoder_says_is_read_as_the_judge_reads_it(story: list[object], coded: bool) -> None:
    encoder, decoder, reader = Encoder(), Decoder(), BlockReader(everything=True)
    for step in story:
        if isinstance(step, int):
            if step != encoder.header_table_size:  # set twice, it would forget to say so
                encoder.header_table_size = step
            continue
        assert isinstance(step, list)
        block = encoder.encode([(name, value, secret) for name, value, secret in step], huffman=coded)
        assert ours(reader, block) == judged(decoder, block) is not None


@settings(max_examples=500)
@given(st.lists(st.binary(max_size=30), max_size=6), st.randoms(use_true_random=False))
def test_octets_that_are_no_block_are_refused_where_the_judge_refuses_them(noise: list[bytes], rng: Random) -> None:
    decoder, reader, encoder = Decoder(), BlockReader(everything=True), Encoder()
    for raw in noise:
        block = bytearray(
            encoder.encode([(b"x-request-id", raw), (b"grpc-status", b"0")]) if rng.random() < 0.7 else raw
        )
        for _ in range(rng.randrange(3)):
            if block:
                block[rng.randrange(len(block))] = rng.randrange(256)
        expected = judged(decoder, bytes(block))
        assert ours(reader, bytes(block)) == expected
        if expected is None:
            return  # the context is lost


def test_every_value_of_an_octet_survives_the_huffman_code() -> None:
    rng = Random(5)
    for length in (0, 1, 2, 3, 50, 300):
        for _ in range(40):
            value = bytes(rng.randrange(256) for _ in range(length))
            coded = Encoder().huffman_coder.encode(value)
            assert huffman.decode(coded) == value


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"\xff\xff\xff\xfc", "end-of-string"),
        (b"\x1f\xff", "padding"),  # one code, then eleven ones
        (b"\x18", "padding"),  # a code, and zeros behind it
        (b"\xff", "padding"),  # eight ones are no padding
    ],
)
def test_bad_ends_of_huffman_strings_are_refused(raw: bytes, why: str) -> None:
    with pytest.raises(huffman.BadHuffman, match=why):
        huffman.decode(raw)


@pytest.mark.parametrize(
    ("block", "why"),
    [
        ("80", "index 0"),
        ("ff00", "index 127"),
        ("c0", "index 64"),
        ("4003616263", "inside a field"),
        ("40ff", "inside a number"),
        ("00", "inside a field"),
        ("0003616263830f", "inside a field"),
        ("7fffffffffff7f", "out of range"),
        ("3fe21f", "update to 4097"),
        ("8820", "behind a field"),
    ],
)
def test_a_block_that_cannot_be_read_says_why(block: str, why: str) -> None:
    with pytest.raises((CompressionError, BadIndex), match=why):
        BlockReader().read(bytes.fromhex(block))


def test_a_field_larger_than_the_table_empties_it() -> None:
    reader, encoder, decoder = BlockReader(everything=True), Encoder(), Decoder()
    for fields in ([(b"a", b"1")], [(b"b", b"x" * 5000)], [(b"a", b"1")], [(b"a", b"1"), (b"c", b"2")]):
        block = encoder.encode(fields)
        assert ours(reader, block) == judged(decoder, block) == fields


def test_a_block_that_would_decode_to_over_a_mebibyte_is_left_half_way() -> None:
    reader, encoder = HeaderReader(), Encoder()
    reader.read(encoder.encode([(b"x", b"y" * 4000)]))
    with pytest.raises(HeaderBomb):
        reader.read(b"\xbe" * 300)


def test_headers_above_the_soft_limit_are_a_flaw_and_the_context_lives() -> None:
    reader, encoder = HeaderReader(), Encoder()
    reader.read(encoder.encode([(b"x", b"y" * 3900)]))
    status = encoder.encode([(b":status", b"200")])
    large = reader.read(status + b"\xbe" * 17)
    assert large.flaw == f"response headers of {17 * 3933 + 42} bytes exceed {SOFT_LIMIT}"
    assert large.http_status is None  # nobody looks into it
    assert reader.read(status + b"\xbe").flaw == ""
    assert reader.read(status + b"\xbe" * 17).flaw == large.flaw


def test_headers_above_the_soft_limit_may_change_what_later_blocks_mean() -> None:
    reader, encoder = HeaderReader(), Encoder()
    reader.read(encoder.encode([(b"x", b"y" * 3000), (b"grpc-status", b"0")]))
    trailers = b"\xbe"
    assert [reader.read(trailers).grpc_status for _ in range(2)] == [(b"0",)] * 2
    assert reader.read(b"\xbf" * 22 + encoder.encode([(b"grpc-status", b"5")])).flaw
    assert reader.read(trailers).grpc_status == (b"5",)


def test_only_fields_that_tell_something_are_looked_at() -> None:
    reader, encoder = BlockReader(), Encoder()
    told = [(b":status", b"200"), (b"x-bin", b"AA"), (b"Upper", b"a"), (b"x", b"two\nlines"), (b"grpc-status", b"0")]
    silent = [(b"date", b"today"), (b"server", b"envoy"), (b"x-request-id", b"1")]
    assert reads(reader, encoder.encode(silent + told)) == told
    assert reads(reader, encoder.encode(silent + told)) == told
    assert reader.size == sum(len(name) + len(value) + 32 for name, value in silent + told)
