"""Mutants of the compression contexts (behaviours 36, 42 and 45), and of what is recognised by its bytes alone."""

from __future__ import annotations

from random import Random

from lbctl.wire import header_reader
from lbctl.wire.head import Head, parse
from lbctl.wire.header_block import BlockReader, CompressionError
from lbctl.wire.header_reader import HeaderReader
from lbctl.wire.header_table import Field
from lbctl.wire.state import State
from lbctl.wire.whole_reply import WholeReply
from tests.wire import frames as h2
from tests.wire import (
    test_connection_errors,
    test_deadlines,
    test_hpack,
    test_hpack_corpus,
    test_properties,
    test_whole_reply,
)
from tests.wire.mutants.base import Handler, Mutant, Patch, lenient, replacing


def naive_cache(patch: Patch) -> None:
    def remember(self: HeaderReader, block: bytes, head: Head, *, changed: bool) -> None:
        self.cache[bytes(block)] = head

    patch.setattr(HeaderReader, "_remember", remember)


def trusts_the_pattern(patch: Patch) -> None:
    patch.setattr(WholeReply, "holds", lambda self, cache: True)


def skips_late_headers(handler: Handler) -> Handler:
    """Blocks of finished streams are not decoded: the table falls behind."""

    def on_headers(state: State, flags: int, stream: int, payload: bytes) -> None:
        if stream in state.open:
            return handler(state, flags, stream, payload)
        state.counters["late_frames"] += 1
        return None

    return on_headers


def has_no_table(patch: Patch) -> None:
    """A reader that decodes every block on its own."""

    class Forgetful(BlockReader):
        def read(self, block: bytes) -> list[Field]:
            return BlockReader().read(block)

    patch.setattr(header_reader, "BlockReader", lambda **_: Forgetful())


async def random_trailers() -> None:
    wrong = [answer for seed in range(5) for answer in test_properties.wrong_answers(Random(seed), calls=120)]
    assert wrong == []


async def the_end_of_a_pattern() -> None:
    test_whole_reply.test_the_pattern_ends_where_its_bytes_mean_something_else()


def parsed_mistakes(encoder: str) -> list[str]:
    """Which blocks of the whole corpus are read as something else, by their classification."""
    wrong = []
    for story, recorded in zip(test_hpack_corpus.STORIES, test_hpack_corpus.RECORDED[encoder], strict=True):
        reader = HeaderReader()
        for fields, block in zip(story, recorded, strict=True):
            if read_as(reader, block) != parse(list(fields)):
                wrong.append(block)
    return wrong


def read_as(reader: HeaderReader, block: str) -> Head | None:
    try:
        return reader.read(bytes.fromhex(block))
    except CompressionError:
        return None


async def the_corpus() -> None:
    assert [parsed_mistakes(encoder) for encoder in test_hpack_corpus.RECORDED] == [[], [], []]


async def a_block_that_does_not_decode() -> None:
    bad, code = test_connection_errors.EVERY["index_0"]
    await test_connection_errors.test_a_broken_connection_is_closed_with_the_right_code(bad, code)


async def a_late_block_that_does_not_decode() -> None:
    bad, code = test_connection_errors.EVERY["table_size_after_a_field"]
    await test_connection_errors.test_a_late_block_that_does_not_decode_breaks_the_connection_too(bad, code)


CONTEXT: dict[str, Mutant] = {
    "naive_cache": Mutant((), naive_cache, test_hpack.test_the_same_trailer_bytes_are_ok_first_and_an_error_later),
    "naive_cache_random": Mutant((), naive_cache, random_trailers),
    "naive_cache_late": Mutant((), naive_cache, test_hpack.test_an_insert_by_a_late_reply_counts_too),
    "naive_cache_corpus": Mutant((45,), naive_cache, the_corpus),
    "has_no_table": Mutant((45,), has_no_table, the_corpus),
    "trusts_the_pattern": Mutant((), trusts_the_pattern, the_end_of_a_pattern),
    "skips_late_headers": Mutant(
        (36,),
        replacing(h2.HEADERS, skips_late_headers),
        test_deadlines.test_a_reply_after_the_deadline_is_late_and_keeps_the_compression_state,
    ),
    "takes_any_block": Mutant((42,), lenient, a_block_that_does_not_decode),
    "does_not_read_late_blocks": Mutant(
        (42,), replacing(h2.HEADERS, skips_late_headers), a_late_block_that_does_not_decode
    ),
}
