"""Mutants of what becomes of a reply: its status, its messages, its frames (behaviours 1 to 21)."""

from __future__ import annotations

import gzip
from collections.abc import Callable

from lbctl.model import Code, Origin, Reply
from lbctl.wire import handlers, head, response, status
from lbctl.wire import state as states
from lbctl.wire.frames import ErrorCode
from lbctl.wire.head import Head
from lbctl.wire.session import Session
from lbctl.wire.state import State
from tests.wire import frames as h2
from tests.wire import test_connection_errors, test_flow_control, test_frames, test_messages, test_resets, test_status
from tests.wire.mutants.base import (
    Check,
    Handler,
    Mutant,
    Patch,
    forgiving,
    ignores,
    lenient,
    replacing,
    setting,
)


def end_of_stream_is_success(patch: Patch) -> None:
    patch.setattr(handlers, "of_response", lambda *_, **__: Reply(Code.OK))


def http_status_wins(patch: Patch) -> None:
    original = status.of_response

    def of_response(first: Head, trailers: Head | None, flaw: Reply | None, excerpt: str) -> Reply:
        if first.http_status != 200:
            return Reply(status.from_http(first.http_status or 0), Origin.HTTP, f"HTTP status {first.http_status}")
        return original(first, trailers, flaw, excerpt)

    patch.setattr(handlers, "of_response", of_response)


def trailers_only_carry_nothing(patch: Patch) -> None:
    original = status.of_response

    def of_response(first: Head, trailers: Head | None, flaw: Reply | None, excerpt: str) -> Reply:
        return original(first, None if trailers is first else trailers, flaw, excerpt)

    patch.setattr(handlers, "of_response", of_response)


def expects_whole_prefixes(handler: Handler) -> Handler:
    """DATA that is too short for a message's prefix is taken for noise."""

    def on_data(state: State, flags: int, stream: int, payload: bytes) -> None:
        if len(payload) >= 5 or flags & h2.END_STREAM:
            handler(state, flags, stream, payload)

    return on_data


def reads_are_whole_frames(patch: Patch) -> None:
    original = Session.receive

    def receive(self: Session, data: bytes, *rest: int) -> None:
        _, used = h2.split(data)
        original(self, data[:used], *rest)

    patch.setattr(Session, "receive", receive)


def hears_no_data(patch: Patch) -> None:
    original = Session.receive

    def receive(self: Session, data: bytes, *rest: int) -> None:
        heard, used = h2.split(data)
        kept = b"".join(h2.frame(*each) for each in heard if each.kind != h2.DATA)
        original(self, kept + data[used:], *rest)

    patch.setattr(Session, "receive", receive)


def forgets_padding(handler: Handler) -> Handler:
    def on_data(state: State, flags: int, stream: int, payload: bytes) -> None:
        handler(state, flags, stream, payload)
        if flags & h2.PADDED and payload:
            state.received.uncredited -= payload[0] + 1
            if stream in state.responses:
                state.responses[stream].uncredited -= payload[0] + 1

    return on_data


def without_flag(flag: int) -> Callable[[Handler], Handler]:
    """A handler that does not know one flag."""

    def make(handler: Handler) -> Handler:
        return lambda state, flags, stream, payload: handler(state, flags & ~flag, stream, payload)

    return make


def unknown_frames_are_errors(patch: Patch) -> None:
    def on_unknown(state: State, flags: int, stream: int, payload: bytes) -> None:
        state.fail(ErrorCode.PROTOCOL_ERROR, "unknown frame")

    patch.setitem(handlers.HANDLERS, 0xFA, on_unknown)


def no_excerpt(patch: Patch) -> None:
    patch.setattr(response.Response, "excerpt", lambda self: "")


def only_plain_grpc(value: bytes) -> bool:
    return value == b"application/grpc"


def resets_after_the_end_are_errors(handler: Handler) -> Handler:
    def on_rst_stream(state: State, flags: int, stream: int, payload: bytes) -> None:
        if stream in state.open:
            return handler(state, flags, stream, payload)
        return state.fail(ErrorCode.STREAM_CLOSED, "RST_STREAM on a closed stream")

    return on_rst_stream


def retries_whatever_was_lost(patch: Patch) -> None:
    def finish(self: State, stream: int, reply: Reply) -> None:
        original(self, stream, reply) if reply.code != Code.INTERNAL else self.refuse(stream, reply)

    original = State.finish
    patch.setattr(State, "finish", finish)


def blocks_may_be_interrupted(patch: Patch) -> None:
    original = Session._dispatch

    def dispatch(self: Session, kind: int, flags: int, stream: int, payload: bytes) -> None:
        if self.partial is None or kind == h2.CONTINUATION:
            original(self, kind, flags, stream, payload)

    patch.setattr(Session, "_dispatch", dispatch)


def never_resets(patch: Patch) -> None:
    patch.setattr(states, "rst_stream", lambda stream, code: b"")


async def a_bad_gateway() -> None:
    await test_status.test_an_http_status_without_grpc_status_is_mapped(502, Code.UNAVAILABLE)


async def a_ping_inside_a_block() -> None:
    bad, code = test_connection_errors.EVERY["ping_inside_a_block"]
    await test_connection_errors.test_a_broken_connection_is_closed_with_the_right_code(bad, code)


def unreadable(encoding: str | None, flag: int, *words: str) -> Check:
    return lambda: test_messages.test_a_message_that_cannot_be_read_is_internal_and_names_why(
        encoding, flag, list(words)
    )


REPLIES: dict[str, Mutant] = {
    "loses_the_message": Mutant((1,), hears_no_data, test_status.test_a_unary_call_is_ok_on_one_connection),
    "trailers_only_carry_nothing": Mutant(
        (2,), trailers_only_carry_nothing, test_status.test_trailers_only_carry_the_servers_code_and_words
    ),
    "end_of_stream_is_success": Mutant(
        (3,), end_of_stream_is_success, test_status.test_a_thousand_ended_streams_with_an_error_are_no_success
    ),
    "ok_needs_no_message": Mutant(
        (4,),
        forgiving("no message"),
        lambda: test_status.test_ok_without_a_message_is_internal(lambda sid: h2.trailers_only(sid, 0)),
    ),
    "two_messages_are_fine": Mutant(
        (5,), forgiving("2 messages"), test_messages.test_two_messages_in_a_unary_answer_are_internal_and_do_not_hang
    ),
    "half_a_message_is_fine": Mutant(
        (6,),
        forgiving("truncated"),
        lambda: test_messages.test_a_truncated_message_is_internal_under_status_0(b"\x00\x00\x00\x00\x06ab"),
    ),
    "expects_whole_prefixes": Mutant(
        (7,),
        replacing(h2.DATA, expects_whole_prefixes),
        test_messages.test_a_message_may_come_one_byte_per_frame_with_empty_frames_between,
    ),
    "reads_are_whole_frames": Mutant(
        (8,), reads_are_whole_frames, lambda: test_frames.test_how_tcp_cuts_a_reply_makes_no_difference(1)
    ),
    "forgets_padding": Mutant(
        (9,),
        replacing(h2.DATA, forgets_padding),
        test_flow_control.test_one_byte_per_padded_frame_never_stalls_a_reply,
    ),
    "forgets_padding_of_late_data": Mutant(
        (),
        replacing(h2.DATA, forgets_padding),
        test_flow_control.test_late_and_padded_data_is_credited_to_the_connection_to_the_byte,
    ),
    "keeps_the_padding_of_headers": Mutant(
        (10,),
        replacing(h2.HEADERS, without_flag(h2.PADDED)),
        test_frames.test_padding_and_priority_are_stripped_from_headers,
    ),
    "keeps_the_priority_of_headers": Mutant(
        (10,),
        replacing(h2.HEADERS, without_flag(h2.WITH_PRIORITY)),
        test_frames.test_padding_and_priority_are_stripped_from_headers,
    ),
    "ignores_continuation": Mutant(
        (11,),
        replacing(h2.CONTINUATION, ignores),
        test_frames.test_header_blocks_may_be_cut_anywhere_even_into_empty_pieces,
    ),
    "blocks_may_be_interrupted": Mutant((12,), blocks_may_be_interrupted, a_ping_inside_a_block),
    "knows_no_connection_error_in_a_block": Mutant((12,), lenient, a_ping_inside_a_block),
    "unknown_frames_are_errors": Mutant(
        (13,), unknown_frames_are_errors, test_frames.test_unknown_frames_flags_and_reserved_bits_are_ignored
    ),
    "every_http_error_is_unknown": Mutant((14,), setting(status, "_FROM_HTTP", {}), a_bad_gateway),
    "shows_no_body": Mutant((14,), no_excerpt, a_bad_gateway),
    "http_status_wins": Mutant((15,), http_status_wins, test_status.test_grpc_status_beats_the_http_status),
    "a_missing_status_is_ok": Mutant(
        (16,),
        forgiving("no grpc-status"),
        test_status.test_a_missing_status_is_unknown_and_the_reason_says_where_it_was_missing,
    ),
    "any_content_type_is_grpc": Mutant(
        (17,),
        setting(head, "is_grpc_content_type", lambda value: True),
        lambda: test_status.test_status_0_under_another_content_type_is_no_success("application/json"),
    ),
    "only_plain_grpc": Mutant(
        (17,),
        setting(head, "is_grpc_content_type", only_plain_grpc),
        lambda: test_status.test_a_grpc_content_type_is_recognised("application/grpc+proto"),
    ),
    "decodes_no_percent": Mutant(
        (18,),
        setting(head, "decode_message", lambda raw: raw.decode("utf-8", "replace")),
        lambda: test_status.test_grpc_message_is_percent_decoded_and_never_fails_a_call(b"caf%C3%A9", "café"),
    ),
    "every_reset_is_internal": Mutant(
        (19,),
        setting(handlers, "from_rst", lambda error: Reply(Code.INTERNAL, Origin.TRANSPORT, "reset: CANCEL")),
        lambda: test_resets.test_a_reset_before_headers_is_mapped_and_named(h2.CANCEL, (Code.CANCELLED, "CANCEL")),
    ),
    "resets_after_the_end_are_errors": Mutant(
        (20,),
        replacing(h2.RST_STREAM, resets_after_the_end_are_errors),
        test_resets.test_a_reset_after_the_trailers_changes_nothing,
    ),
    "retries_whatever_was_lost": Mutant(
        (21,),
        retries_whatever_was_lost,
        lambda: test_resets.test_a_reset_in_the_middle_of_a_reply_is_internal_and_not_retried(h2.INTERNAL_ERROR),
    ),
    "any_flag_of_a_message_is_fine": Mutant((37,), forgiving("flag"), unreadable(None, 2, "flag", "2")),
    "a_compressed_message_needs_no_encoding": Mutant((37,), forgiving("ompress"), unreadable(None, 1, "compressed")),
    "any_encoding_is_fine": Mutant((37,), forgiving("br"), unreadable("br", 1, "br")),
    "does_not_unpack": Mutant(
        (37,),
        setting(response, "GZIP", "none"),
        test_messages.test_a_gzip_message_is_what_it_was_before_and_plain_ones_may_follow,
    ),
    "unpacks_without_bounds": Mutant(
        (),
        setting(response.Response, "_inflated", lambda self, body: bytearray(gzip.decompress(body))),
        test_messages.test_a_gzip_bomb_is_unpacked_to_the_limit_and_no_further,
        doors=("caller",),
    ),
    "does_not_stop_a_message_that_is_too_large": Mutant(
        (38,),
        never_resets,
        test_messages.test_a_message_above_the_limit_is_cancelled_and_the_connection_stays_usable,
    ),
}
