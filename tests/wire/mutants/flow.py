"""Mutants of limits and flow control (behaviours 30 to 34)."""

from __future__ import annotations

import struct
from collections.abc import Callable

from lbctl.wire.state import State
from lbctl.wire.windows import SendWindows
from tests.wire import frames as h2
from tests.wire import test_flow_control, test_settings
from tests.wire.mutants.base import Handler, Mutant, Patch, afterwards, replacing, setting

PLENTY = 1000


def no_connection_window(patch: Patch) -> None:
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


def ignores_changes(handler: Handler) -> Handler:
    """SETTINGS are acknowledged and never applied, but for the first."""

    def on_settings(state: State, flags: int, stream: int, payload: bytes) -> None:
        handler(state, flags, stream, b"" if state.ready else payload)

    return on_settings


def without_setting(ignored: int) -> Callable[[Handler], Handler]:
    """A client that does not know one setting."""

    def make(handler: Handler) -> Handler:
        def on_settings(state: State, flags: int, stream: int, payload: bytes) -> None:
            pairs = struct.iter_unpack(">HL", payload)
            handler(state, flags, stream, b"".join(struct.pack(">HL", *pair) for pair in pairs if pair[0] != ignored))

        return on_settings

    return make


def takes_no_streams_for_any_number(state: State) -> None:
    if not state.limit:
        state.limit = PLENTY


FLOW: dict[str, Mutant] = {
    "ignores_the_stream_limit": Mutant(
        (30,),
        replacing(h2.SETTINGS, without_setting(h2.MAX_CONCURRENT_STREAMS)),
        test_settings.test_one_stream_at_a_time_serves_every_call,
    ),
    "takes_no_streams_for_any_number": Mutant(
        (31,),
        replacing(h2.SETTINGS, afterwards(takes_no_streams_for_any_number)),
        test_settings.test_no_streams_allowed_means_waiting_and_then_going_on,
    ),
    "keeps_the_first_stream_limit": Mutant(
        (31,),
        replacing(h2.SETTINGS, ignores_changes),
        test_settings.test_no_streams_allowed_means_waiting_and_then_going_on,
    ),
    "ignores_the_initial_window": Mutant(
        (32,),
        replacing(h2.SETTINGS, without_setting(h2.INITIAL_WINDOW_SIZE)),
        test_flow_control.test_a_stream_window_of_0_holds_the_body_until_it_grows,
    ),
    "ignores_settings_changes": Mutant(
        (),
        replacing(h2.SETTINGS, ignores_changes),
        test_flow_control.test_a_stream_window_may_become_negative_and_must_be_earned_back,
    ),
    "no_connection_window_large": Mutant(
        (33,), no_connection_window, test_flow_control.test_a_large_body_stops_exactly_where_the_windows_end
    ),
    "no_connection_window": Mutant(
        (34,), no_connection_window, test_flow_control.test_small_messages_respect_the_connection_window_too
    ),
    "goes_on_sending_after_the_status": Mutant(
        (),
        setting(SendWindows, "drop", lambda self, stream: False),
        lambda: test_flow_control.test_a_status_before_the_body_is_through_stands_and_stops_the_body(True),
    ),
    "forgets_late_data": Mutant(
        (),
        replacing(h2.DATA, forgets_late_data),
        test_flow_control.test_late_and_padded_data_is_credited_to_the_connection_to_the_byte,
    ),
}
