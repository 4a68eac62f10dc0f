"""The conformance catalogue: 45 server behaviours every client of this kind has to survive, and the tests that show it.

Each number and name stands for one behaviour of a server and what must be seen of it. A test is written as
``module.function`` of this folder, or as ``folder/module.function`` of another one. ``test_named.py`` checks the
catalogue, ``mutants`` breaks the client once for each.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Named(NamedTuple):
    """One behaviour, and the tests that prove what becomes of it."""

    name: str
    tests: tuple[str, ...]


NAMED: Final[dict[int, Named]] = {
    1: Named("unary_ok", ("test_status.test_a_unary_call_is_ok_on_one_connection",)),
    2: Named("trailers_only_error", ("test_status.test_trailers_only_carry_the_servers_code_and_words",)),
    3: Named("errors_are_not_success", ("test_status.test_a_thousand_ended_streams_with_an_error_are_no_success",)),
    4: Named("ok_without_message", ("test_status.test_ok_without_a_message_is_internal",)),
    5: Named("two_messages_unary", ("test_messages.test_two_messages_in_a_unary_answer_are_internal_and_do_not_hang",)),
    6: Named(
        "truncated_message",
        (
            "test_messages.test_a_truncated_message_is_internal_under_status_0",
            "test_messages.test_a_truncated_message_does_not_hide_the_servers_own_error",
        ),
    ),
    7: Named(
        "message_split_bytewise",
        ("test_messages.test_a_message_may_come_one_byte_per_frame_with_empty_frames_between",),
    ),
    8: Named("tcp_segmentation_1byte", ("test_frames.test_how_tcp_cuts_a_reply_makes_no_difference",)),
    9: Named("padded_data", ("test_flow_control.test_one_byte_per_padded_frame_never_stalls_a_reply",)),
    10: Named("headers_padding_priority", ("test_frames.test_padding_and_priority_are_stripped_from_headers",)),
    11: Named("continuation", ("test_frames.test_header_blocks_may_be_cut_anywhere_even_into_empty_pieces",)),
    12: Named(
        "continuation_interrupted",
        ("test_connection_errors.test_a_broken_connection_is_closed_with_the_right_code",),
    ),
    13: Named("unknown_and_priority_frames", ("test_frames.test_unknown_frames_flags_and_reserved_bits_are_ignored",)),
    14: Named("http_status_map", ("test_status.test_an_http_status_without_grpc_status_is_mapped",)),
    15: Named("grpc_status_beats_http", ("test_status.test_grpc_status_beats_the_http_status",)),
    16: Named(
        "missing_status",
        ("test_status.test_a_missing_status_is_unknown_and_the_reason_says_where_it_was_missing",),
    ),
    17: Named(
        "content_types",
        (
            "test_status.test_a_grpc_content_type_is_recognised",
            "test_status.test_status_0_under_another_content_type_is_no_success",
        ),
    ),
    18: Named("grpc_message_decoding", ("test_status.test_grpc_message_is_percent_decoded_and_never_fails_a_call",)),
    19: Named("rst_code_map", ("test_resets.test_a_reset_before_headers_is_mapped_and_named",)),
    20: Named("rst_no_error_after_trailers", ("test_resets.test_a_reset_after_the_trailers_changes_nothing",)),
    21: Named("rst_mid_response", ("test_resets.test_a_reset_in_the_middle_of_a_reply_is_internal_and_not_retried",)),
    22: Named("refused_then_ok", ("test_resets.test_a_refused_call_is_retried_once_and_succeeds",)),
    23: Named("refused_forever", ("test_resets.test_a_call_refused_for_ever_gives_up_after_two_attempts",)),
    24: Named("goaway_last0_retry", ("test_goaway.test_a_call_the_server_did_not_process_goes_to_a_new_connection",)),
    25: Named("goaway_graceful", ("test_goaway.test_a_graceful_goaway_loses_nothing_and_the_client_closes_last",)),
    26: Named("goaway_covers_then_close", ("test_goaway.test_a_call_covered_by_goaway_is_lost_with_the_connection",)),
    27: Named(
        "fin_without_reply",
        (
            "test_goaway.test_a_connection_that_ends_without_a_reply_loses_its_calls",
            "test_goaway.test_fin_and_reset_have_different_reasons",
        ),
    ),
    28: Named("close_after_trailers", ("test_goaway.test_a_connection_closed_after_each_reply_loses_nothing",)),
    29: Named("ping_echo", ("test_frames.test_every_ping_is_echoed_byte_for_byte",)),
    30: Named("max_streams_1", ("test_settings.test_one_stream_at_a_time_serves_every_call",)),
    31: Named(
        "max_streams_0_then_1",
        (
            "test_settings.test_no_streams_allowed_means_waiting_and_then_going_on",
            "test_deadlines.test_a_call_that_never_got_a_slot_sends_nothing",
        ),
    ),
    32: Named("iws_0_then_grow", ("test_flow_control.test_a_stream_window_of_0_holds_the_body_until_it_grows",)),
    33: Named("send_window_exhaustion", ("test_flow_control.test_a_large_body_stops_exactly_where_the_windows_end",)),
    34: Named(
        "conn_window_small_messages", ("test_flow_control.test_small_messages_respect_the_connection_window_too",)
    ),
    35: Named(
        "deadline_silent",
        (
            "test_deadlines.test_a_silent_server_costs_the_deadline_and_is_told_to_stop",
            "test_deadlines.test_grpc_timeout_is_never_shorter_than_the_deadline",
        ),
    ),
    36: Named(
        "late_reply_after_deadline",
        ("test_deadlines.test_a_reply_after_the_deadline_is_late_and_keeps_the_compression_state",),
    ),
    37: Named(
        "compression",
        (
            "test_messages.test_a_message_that_cannot_be_read_is_internal_and_names_why",
            "test_messages.test_an_encoding_nothing_was_encoded_with_is_fine",
            "test_messages.test_a_gzip_message_is_what_it_was_before_and_plain_ones_may_follow",
            "test_messages.test_gzip_that_is_none_is_internal_where_the_message_is_wanted",
        ),
    ),
    38: Named(
        "recv_limit",
        ("test_messages.test_a_message_above_the_limit_is_cancelled_and_the_connection_stays_usable",),
    ),
    39: Named("peer_speaks_http1", ("test_connect.test_a_peer_that_is_no_http2_server_is_recognised_at_once",)),
    40: Named(
        "settings_validation",
        (
            "test_connection_errors.test_a_broken_connection_is_closed_with_the_right_code",
            "test_connection_errors.test_what_only_looks_broken_changes_nothing",
        ),
    ),
    41: Named(
        "frame_size_and_ids",
        ("test_connection_errors.test_a_broken_connection_is_closed_with_the_right_code",),
    ),
    42: Named(
        "hpack_errors",
        (
            "test_connection_errors.test_a_broken_connection_is_closed_with_the_right_code",
            "test_connection_errors.test_a_late_block_that_does_not_decode_breaks_the_connection_too",
        ),
    ),
    43: Named(
        "connect_failures",
        (
            "test_connect.test_a_refused_port_is_named_as_such_at_once",
            "test_connect.test_a_server_without_settings_fails_at_the_connect_timeout",
            "test_connect.test_each_way_to_fail_has_its_own_reason",
            "test_connect.test_a_backend_that_never_gets_ready_is_not_dialled_in_a_loop",
            "test_connect.test_a_backend_that_loses_every_connection_at_once_is_not_dialled_in_a_loop",
            "rpc/test_tls.test_every_way_to_fail_has_its_own_words",
            "rpc/test_tls.test_a_peer_that_never_answers_the_handshake_is_given_up_at_the_connect_timeout",
        ),
    ),
    44: Named(
        "addressing",
        (
            "test_connect.test_the_authority_is_the_one_asked_for",
            "test_addressing.test_an_ipv4_address_is_the_authority_with_its_port",
            "test_addressing.test_an_ipv6_address_stands_in_brackets",
            "test_addressing.test_a_unix_socket_is_dialled_and_the_server_is_told_localhost",
            "e2e/test_hammer_options.test_the_authority_is_the_address_unless_one_is_given",
            "e2e/test_hammer_options.test_the_authority_of_discovered_backends_is_the_service",
        ),
    ),
    45: Named(
        "hpack_corpus",
        (
            "test_hpack_corpus.test_what_another_encoder_wrote_is_read_back",
            "test_hpack_corpus.test_every_way_to_encode_a_block_is_read_back",
        ),
    ),
}

WITHOUT_A_DOOR: Final = frozenset({45})  # about the header reader alone, which both ways into the engine share
