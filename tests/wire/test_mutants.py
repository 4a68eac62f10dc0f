"""Engines that are wrong on purpose: for each, the named test must notice. A test no mutant fails proves nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random

import pytest

from lbctl.model import Code, Reply
from lbctl.wire import handlers, state
from lbctl.wire.head import Head
from lbctl.wire.header_reader import HeaderReader
from lbctl.wire.state import State
from lbctl.wire.whole_reply import WholeReply
from lbctl.wire.windows import SendWindows
from tests.wire import frames as h2
from tests.wire import (
    test_connection_errors,
    test_deadlines,
    test_flow_control,
    test_frames,
    test_goaway,
    test_hpack,
    test_properties,
    test_resets,
    test_status,
    test_whole_reply,
)

Mutate = Callable[[pytest.MonkeyPatch], None]
Handler = Callable[[State, int, int, bytes], None]


def replacing(kind: int, make: Callable[[Handler], Handler]) -> Mutate:
    """A mutant of one frame's handler."""
    return lambda patch: patch.setitem(handlers.HANDLERS, kind, make(handlers.HANDLERS[kind]))


def naive_cache(patch: pytest.MonkeyPatch) -> None:
    def remember(self: HeaderReader, block: bytes, head: Head, *, changed: bool) -> None:
        self.cache[bytes(block)] = head

    patch.setattr(HeaderReader, "_remember", remember)


def trusts_the_pattern(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(WholeReply, "holds", lambda self, cache: True)


def end_of_stream_is_success(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(handlers, "of_response", lambda *_: Reply(Code.OK))


def no_connection_window(patch: pytest.MonkeyPatch) -> None:
    original = SendWindows.__init__

    def init(self: SendWindows) -> None:
        original(self)
        self.connection = 1 << 30

    patch.setattr(SendWindows, "__init__", init)


def forgets_late_data(handler: Handler) -> Handler:
    def on_data(state: State, flags: int, stream: int, payload: bytes) -> None:
        late, before = stream not in state.open, state.received.uncredited
        handler(state, flags, stream, payload)
        if late:
            state.received.uncredited = before

    return on_data


def forgets_padding(handler: Handler) -> Handler:
    def on_data(state: State, flags: int, stream: int, payload: bytes) -> None:
        handler(state, flags, stream, payload)
        if flags & h2.PADDED and payload:
            state.received.uncredited -= payload[0] + 1
            if stream in state.responses:
                state.responses[stream].uncredited -= payload[0] + 1

    return on_data


def ignores(handler: Handler) -> Handler:
    return lambda state, flags, stream, payload: None


def ignores_changes(handler: Handler) -> Handler:
    """SETTINGS are acknowledged and never applied, but for the first."""

    def on_settings(state: State, flags: int, stream: int, payload: bytes) -> None:
        handler(state, flags, stream, b"" if state.ready else payload)

    return on_settings


def echoes_its_own_ping(handler: Handler) -> Handler:
    return lambda state, flags, stream, payload: handler(state, flags, stream, payload[:7] + b"!")


def every_goaway_covers_everything(handler: Handler) -> Handler:
    return lambda state, flags, stream, payload: handler(state, flags, stream, b"\x7f\xff\xff\xff" + payload[4:])


def retries_whatever_was_lost(patch: pytest.MonkeyPatch) -> None:
    def finish(self: State, stream: int, reply: Reply) -> None:
        original(self, stream, reply) if reply.code != Code.INTERNAL else self.refuse(stream, reply)

    original = State.finish
    patch.setattr(State, "finish", finish)


def never_resets(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(state, "rst_stream", lambda stream, code: b"")


def never_says_goaway(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(state, "goaway", lambda code, debug="": b"")


async def random_trailers() -> None:
    wrong = [answer for seed in range(5) for answer in test_properties.wrong_answers(Random(seed), calls=120)]
    assert wrong == []


async def the_end_of_a_pattern() -> None:
    test_whole_reply.test_the_pattern_ends_where_its_bytes_mean_something_else()


Check = Callable[[], Awaitable[None]]
bad_settings, bad_settings_code = test_connection_errors.EVERY["initial_window_2_31"]
MUTANTS: dict[str, tuple[Mutate, Check]] = {
    "naive_cache": (naive_cache, test_hpack.test_the_same_trailer_bytes_are_ok_first_and_an_error_later),
    "naive_cache_random": (naive_cache, random_trailers),
    "naive_cache_late": (naive_cache, test_hpack.test_an_insert_by_a_late_reply_counts_too),
    "trusts_the_pattern": (
        trusts_the_pattern,
        the_end_of_a_pattern,
    ),
    "end_of_stream_is_success": (
        end_of_stream_is_success,
        test_status.test_a_thousand_ended_streams_with_an_error_are_no_success,
    ),
    "no_connection_window": (
        no_connection_window,
        test_flow_control.test_small_messages_respect_the_connection_window_too,
    ),
    "no_connection_window_large": (
        no_connection_window,
        test_flow_control.test_a_large_body_stops_exactly_where_the_windows_end,
    ),
    "forgets_late_data": (
        replacing(h2.DATA, forgets_late_data),
        test_flow_control.test_late_and_padded_data_is_credited_to_the_connection_to_the_byte,
    ),
    "forgets_padding": (
        replacing(h2.DATA, forgets_padding),
        test_flow_control.test_one_byte_per_padded_frame_never_stalls_a_reply,
    ),
    "forgets_padding_of_late_data": (
        replacing(h2.DATA, forgets_padding),
        test_flow_control.test_late_and_padded_data_is_credited_to_the_connection_to_the_byte,
    ),
    "ignores_pings": (replacing(h2.PING, ignores), test_frames.test_every_ping_is_echoed_byte_for_byte),
    "echoes_other_bytes": (
        replacing(h2.PING, echoes_its_own_ping),
        test_frames.test_every_ping_is_echoed_byte_for_byte,
    ),
    "ignores_settings_changes": (
        replacing(h2.SETTINGS, ignores_changes),
        test_flow_control.test_a_stream_window_may_become_negative_and_must_be_earned_back,
    ),
    "ignores_goaway": (
        replacing(h2.GOAWAY, ignores),
        test_goaway.test_a_graceful_goaway_loses_nothing_and_the_client_closes_last,
    ),
    "every_goaway_covers_everything": (
        replacing(h2.GOAWAY, every_goaway_covers_everything),
        test_goaway.test_goaway_divides_open_calls_by_its_last_stream,
    ),
    "retries_whatever_was_lost": (
        retries_whatever_was_lost,
        lambda: test_resets.test_a_reset_in_the_middle_of_a_reply_is_internal_and_not_retried(h2.INTERNAL_ERROR),
    ),
    "never_resets": (never_resets, test_deadlines.test_a_silent_server_costs_the_deadline_and_is_told_to_stop),
    "never_says_goaway": (
        never_says_goaway,
        lambda: test_connection_errors.test_a_broken_connection_is_closed_with_the_right_code(
            bad_settings, bad_settings_code
        ),
    ),
}


@pytest.mark.usefixtures("door")
@pytest.mark.parametrize(("mutate", "check"), MUTANTS.values(), ids=MUTANTS)
async def test_the_named_test_notices_the_mutant(mutate: Mutate, check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    mutate(monkeypatch)
    monkeypatch.setattr("tests.scripted.WAIT_S", 0.3)
    monkeypatch.setattr("tests.wire.harness.TEST_S", 1.0)
    with pytest.raises((AssertionError, TimeoutError)):
        await asyncio.wait_for(check(), 3)
