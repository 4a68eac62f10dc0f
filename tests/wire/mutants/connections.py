"""Mutants of what a connection does: retries, GOAWAY, losses, PING, settings, deadlines, connecting."""

from __future__ import annotations

from dataclasses import replace

from lbctl.model import Reply
from lbctl.rpc import connector
from lbctl.rpc.backoff import Backoff
from lbctl.rpc.link import Link
from lbctl.wire import handlers
from lbctl.wire import state as states
from lbctl.wire.frames import ErrorCode
from lbctl.wire.request import Request
from lbctl.wire.session import Session
from lbctl.wire.state import State
from tests.scripted import Connection
from tests.wire import frames as h2
from tests.wire import test_connect, test_connection_errors, test_deadlines, test_frames, test_goaway, test_resets
from tests.wire.mutants.base import Check, Handler, Mutant, Patch, afterwards, ignores, lenient, replacing, setting
from tests.wire.mutants.replies import never_resets


def never_retries(patch: Patch) -> None:
    original = State.refuse

    def refuse(self: State, stream: int, reply: Reply) -> None:
        original(self, stream, reply)
        self.replies += self.refused
        self.refused.clear()

    patch.setattr(State, "refuse", refuse)


def retries_for_ever(patch: Patch) -> None:
    """A call that was not processed counts as one that was never sent."""
    original = State.refuse

    def refuse(self: State, stream: int, reply: Reply) -> None:
        original(self, stream, reply)
        self.unsent += [call for call, _ in self.refused]
        self.refused.clear()

    patch.setattr(State, "refuse", refuse)


def goaway_is_a_loss(state: State) -> None:
    state.lose("GOAWAY")


def every_goaway_covers_everything(handler: Handler) -> Handler:
    return lambda state, flags, stream, payload: handler(state, flags, stream, b"\x7f\xff\xff\xff" + payload[4:])


def no_goaway_covers_anything(handler: Handler) -> Handler:
    return lambda state, flags, stream, payload: handler(state, flags, stream, bytes(4) + payload[4:])


def retries_what_a_loss_took(patch: Patch) -> None:
    original = State.lose

    def lose(self: State, reason: str) -> None:
        before = len(self.replies)
        original(self, reason)
        self.unsent += [call for call, _ in self.replies[before:]]
        del self.replies[before:]

    patch.setattr(State, "lose", lose)


def losses_are_all_alike(patch: Patch) -> None:
    original = State.lose
    patch.setattr(State, "lose", lambda self, reason: original(self, "connection lost"))


def trusts_write(patch: Patch) -> None:
    """The loss of a connection is not noticed: writing to it raises nothing."""
    original = Link.connection_lost

    def connection_lost(self: Link, error: Exception | None) -> None:
        if self.session.next_id == 1 or self._ours:
            original(self, error)

    patch.setattr(Link, "connection_lost", connection_lost)


def echoes_its_own_ping(handler: Handler) -> Handler:
    return lambda state, flags, stream, payload: handler(state, flags, stream, payload[:7] + b"!")


def never_says_goaway(patch: Patch) -> None:
    patch.setattr(states, "goaway", lambda code, debug="": b"")


def waits_for_whole_frames(patch: Patch) -> None:
    patch.setattr(Session, "_is_foreign", lambda self, data: False)


def states_half_the_deadline(patch: Patch) -> None:
    original = Request.varying
    patch.setattr(Request, "varying", lambda self, timeout_ns: original(self, timeout_ns // 2))


def is_called_by_its_address(patch: Patch) -> None:
    original = Request.headers
    patch.setattr(Request, "headers", lambda self: original(replace(self, authority="127.0.0.1:1")))


def breaking(name: str) -> Check:
    """One frame that breaks a connection."""
    bad, code = test_connection_errors.EVERY[name]
    return lambda: test_connection_errors.test_a_broken_connection_is_closed_with_the_right_code(bad, code)


def harmless(name: str) -> Check:
    odd = test_connection_errors.LENIENT[name]
    return lambda: test_connection_errors.test_what_only_looks_broken_changes_nothing(odd)


def refuses_push(handler: Handler) -> Handler:
    """ENABLE_PUSH 1 is an error by the letter; real servers send it."""

    def on_settings(state: State, flags: int, stream: int, payload: bytes) -> None:
        if payload[:2] == b"\x00\x02":
            return state.fail(ErrorCode.PROTOCOL_ERROR, "ENABLE_PUSH")
        return handler(state, flags, stream, payload)

    return on_settings


def of_any_stream(handler: Handler) -> Handler:
    """Streams that were never opened are taken for finished ones."""

    def on_frame(state: State, flags: int, stream: int, payload: bytes) -> None:
        if stream % 2 and stream < state.next_id:
            handler(state, flags, stream, payload)

    return on_frame


CONNECTIONS: dict[str, Mutant] = {
    "never_retries": Mutant((22,), never_retries, test_resets.test_a_refused_call_is_retried_once_and_succeeds),
    "retries_for_ever": Mutant(
        (23,), retries_for_ever, test_resets.test_a_call_refused_for_ever_gives_up_after_two_attempts
    ),
    "goaway_is_a_loss": Mutant(
        (24,),
        replacing(h2.GOAWAY, lambda _: afterwards(goaway_is_a_loss)(lambda *_: None)),
        test_goaway.test_a_call_the_server_did_not_process_goes_to_a_new_connection,
    ),
    "ignores_goaway": Mutant(
        (25,),
        replacing(h2.GOAWAY, ignores),
        test_goaway.test_a_graceful_goaway_loses_nothing_and_the_client_closes_last,
    ),
    "every_goaway_covers_everything": Mutant(
        (24,),
        replacing(h2.GOAWAY, every_goaway_covers_everything),
        test_goaway.test_goaway_divides_open_calls_by_its_last_stream,
    ),
    "retries_what_has_begun": Mutant(
        (),
        setting(handlers, "_has_begun", lambda state, stream: False),
        test_goaway.test_a_call_whose_response_has_begun_is_not_sent_again_even_if_goaway_disowns_it,
    ),
    "no_goaway_covers_anything": Mutant(
        (26,),
        replacing(h2.GOAWAY, no_goaway_covers_anything),
        test_goaway.test_a_call_covered_by_goaway_is_lost_with_the_connection,
    ),
    "retries_what_a_loss_took": Mutant(
        (27,),
        retries_what_a_loss_took,
        lambda: test_goaway.test_a_connection_that_ends_without_a_reply_loses_its_calls(Connection.close),
    ),
    "losses_are_all_alike": Mutant((27,), losses_are_all_alike, test_goaway.test_fin_and_reset_have_different_reasons),
    "trusts_write": Mutant((28,), trusts_write, test_goaway.test_a_connection_closed_after_each_reply_loses_nothing),
    "ignores_pings": Mutant((29,), replacing(h2.PING, ignores), test_frames.test_every_ping_is_echoed_byte_for_byte),
    "echoes_other_bytes": Mutant(
        (29,), replacing(h2.PING, echoes_its_own_ping), test_frames.test_every_ping_is_echoed_byte_for_byte
    ),
    "never_resets": Mutant(
        (35,), never_resets, test_deadlines.test_a_silent_server_costs_the_deadline_and_is_told_to_stop
    ),
    "states_half_the_deadline": Mutant(
        (35,),
        states_half_the_deadline,
        lambda: test_deadlines.test_grpc_timeout_is_never_shorter_than_the_deadline(7.0),
    ),
    "waits_for_whole_frames": Mutant(
        (39,),
        waits_for_whole_frames,
        lambda: test_connect.test_a_peer_that_is_no_http2_server_is_recognised_at_once(test_connect.HTTP1, "HTTP/1.x"),
    ),
    "never_says_goaway": Mutant((40,), never_says_goaway, breaking("initial_window_2_31")),
    "takes_any_setting": Mutant((40,), lenient, breaking("max_frame_size_1000")),
    "refuses_push": Mutant((40,), replacing(h2.SETTINGS, refuses_push), harmless("enable_push_1")),
    "takes_any_frame": Mutant((41,), lenient, breaking("data_of_16385_bytes")),
    "takes_data_on_any_stream": Mutant((41,), replacing(h2.DATA, of_any_stream), breaking("data_on_idle")),
    "takes_resets_of_any_stream": Mutant((41,), replacing(h2.RST_STREAM, of_any_stream), breaking("rst_on_0")),
    "every_failure_is_the_same": Mutant(
        (43,),
        setting(connector, "describe_failure", lambda error: "unavailable"),
        test_connect.test_a_refused_port_is_named_as_such_at_once,
    ),
    "never_waits_before_connecting": Mutant(
        (43,),
        setting(Backoff, "next", lambda self: 0.0),
        lambda: test_connect.test_a_backend_that_loses_every_connection_at_once_is_not_dialled_in_a_loop(b""),
    ),
    "is_called_by_its_address": Mutant(
        (44,),
        is_called_by_its_address,
        lambda: test_connect.test_the_authority_is_the_one_asked_for("shop.example:8443"),
    ),
}
