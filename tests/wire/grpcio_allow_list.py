"""Conformance tests that grpcio fails, and why: what C-core does (grpcio 1.85.3, measured) where lbctl does otherwise.

``test_grpcio.py`` runs the suite through grpcio and compares. Ids are those of pytest, without the folder.
"""

from __future__ import annotations

from typing import Final

_WHY: Final[dict[str, tuple[str, ...]]] = {
    "C-core ignores this breach of the protocol and goes on": (
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-data_on_0]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-data_on_even]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-data_on_idle]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-goaway_on_a_stream]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-headers_on_0]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-headers_on_even]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-headers_on_idle]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-ping_on_a_stream]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-priority_on_0]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-push_promise]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-rst_on_0]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-rst_on_idle]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-unknown_frame_of_16385_bytes]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-window_overflow]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-window_update_on_idle]",
    ),
    "C-core ends the calls of a broken connection with INTERNAL or UNKNOWN, not UNAVAILABLE, and sends no GOAWAY": (
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-block_of_300_kilobytes]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-continuation_flood]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-continuation_of_another_stream]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-data_of_16385_bytes]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-dynamic_index_of_an_empty_table]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-enable_push_2]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-endless_integer]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-goaway_of_7_bytes]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-head_of_a_megabyte_from_few_bytes]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-headers_inside_a_block]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-headers_of_16385_bytes]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-headers_padded_beyond_their_end]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-headers_shorter_than_their_priority]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-huffman_padding_of_8_bits]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-index_0]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-index_beyond_the_tables]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-initial_window_2_31]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-max_frame_size_1000]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-max_frame_size_2_24]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-ping_inside_a_block]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-ping_of_7_bytes]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-rst_of_3_bytes]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-settings_ack_with_payload]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-settings_of_5_bytes]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-settings_on_a_stream]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-stray_continuation]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-table_size_above_ours]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-table_size_after_a_field]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-truncated_integer]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-truncated_literal]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-truncated_value]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-unknown_frame_inside_a_block]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-window_update_of_0]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-window_update_of_3_bytes]",
        "test_connection_errors.py::test_a_late_block_that_does_not_decode_breaks_the_connection_too[grpcio-dynamic_index_of_an_empty_table]",
        "test_connection_errors.py::test_a_late_block_that_does_not_decode_breaks_the_connection_too[grpcio-endless_integer]",
        "test_connection_errors.py::test_a_late_block_that_does_not_decode_breaks_the_connection_too[grpcio-huffman_padding_of_8_bits]",
        "test_connection_errors.py::test_a_late_block_that_does_not_decode_breaks_the_connection_too[grpcio-index_0]",
        "test_connection_errors.py::test_a_late_block_that_does_not_decode_breaks_the_connection_too[grpcio-index_beyond_the_tables]",
        "test_connection_errors.py::test_a_late_block_that_does_not_decode_breaks_the_connection_too[grpcio-table_size_above_ours]",
        "test_connection_errors.py::test_a_late_block_that_does_not_decode_breaks_the_connection_too[grpcio-table_size_after_a_field]",
        "test_connection_errors.py::test_a_late_block_that_does_not_decode_breaks_the_connection_too[grpcio-truncated_integer]",
        "test_connection_errors.py::test_a_late_block_that_does_not_decode_breaks_the_connection_too[grpcio-truncated_literal]",
        "test_connection_errors.py::test_a_late_block_that_does_not_decode_breaks_the_connection_too[grpcio-truncated_value]",
        "test_hpack.py::test_an_entry_evicted_by_size_is_gone_for_good[grpcio]",
        "test_hpack.py::test_an_entry_larger_than_the_table_empties_it[grpcio]",
    ),
    "C-core does not take padded DATA, nor DATA with undefined flags (grpc/grpc#9779)": (
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-data_padded_beyond_its_end]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-data_padded_by_its_length]",
        "test_connection_errors.py::test_a_broken_connection_is_closed_with_the_right_code[grpcio-data_padded_without_a_length]",
        "test_flow_control.py::test_one_byte_per_padded_frame_never_stalls_a_reply[grpcio]",
        "test_frames.py::test_a_frame_may_be_nothing_but_padding[grpcio]",
        "test_frames.py::test_unknown_frames_flags_and_reserved_bits_are_ignored[grpcio]",
    ),
    "C-core does not take padded HEADERS": (
        "test_frames.py::test_padding_and_priority_are_stripped_from_headers[grpcio]",
    ),
    "grpcio tells nothing of frames, resets and anomalies, so nothing can be counted": (
        "test_deadlines.py::test_a_reply_after_the_deadline_is_late_and_keeps_the_compression_state[grpcio]",
        "test_deadlines.py::test_a_silent_server_costs_the_deadline_and_is_told_to_stop[grpcio]",
        "test_frames.py::test_a_pseudo_field_in_trailers_is_an_anomaly_and_not_a_failure[grpcio]",
        "test_frames.py::test_odd_response_fields_are_anomalies_and_not_failures[grpcio-:path]",
        "test_frames.py::test_odd_response_fields_are_anomalies_and_not_failures[grpcio-connection]",
        "test_frames.py::test_odd_response_fields_are_anomalies_and_not_failures[grpcio-content-length]",
        "test_frames.py::test_odd_response_fields_are_anomalies_and_not_failures[grpcio-transfer-encoding]",
        "test_goaway.py::test_a_call_the_server_did_not_process_goes_to_a_new_connection[grpcio]",
        "test_goaway.py::test_a_goaway_that_raises_its_last_stream_is_clamped[grpcio]",
        "test_goaway.py::test_a_graceful_goaway_loses_nothing_and_the_client_closes_last[grpcio]",
        "test_resets.py::test_a_reset_after_the_trailers_changes_nothing[grpcio]",
        "test_stream_errors.py::test_data_on_a_finished_stream_is_counted_as_late[grpcio]",
        "test_stream_errors.py::test_headers_on_a_finished_stream_are_decoded_and_ignored[grpcio]",
    ),
    "C-core does not tell the body of an HTTP error, and maps 431 to UNKNOWN": (
        "test_status.py::test_an_http_status_without_grpc_status_is_mapped[grpcio-204-2]",
        "test_status.py::test_an_http_status_without_grpc_status_is_mapped[grpcio-302-2]",
        "test_status.py::test_an_http_status_without_grpc_status_is_mapped[grpcio-400-13]",
        "test_status.py::test_an_http_status_without_grpc_status_is_mapped[grpcio-401-16]",
        "test_status.py::test_an_http_status_without_grpc_status_is_mapped[grpcio-403-7]",
        "test_status.py::test_an_http_status_without_grpc_status_is_mapped[grpcio-404-12]",
        "test_status.py::test_an_http_status_without_grpc_status_is_mapped[grpcio-415-2]",
        "test_status.py::test_an_http_status_without_grpc_status_is_mapped[grpcio-429-14]",
        "test_status.py::test_an_http_status_without_grpc_status_is_mapped[grpcio-431-13]",
        "test_status.py::test_an_http_status_without_grpc_status_is_mapped[grpcio-500-2]",
        "test_status.py::test_an_http_status_without_grpc_status_is_mapped[grpcio-502-14]",
        "test_status.py::test_an_http_status_without_grpc_status_is_mapped[grpcio-503-14]",
        "test_status.py::test_an_http_status_without_grpc_status_is_mapped[grpcio-504-14]",
    ),
    "C-core takes OK without a whole message for OK": (
        "test_messages.py::test_a_truncated_message_is_internal_under_status_0[grpcio-\\x00\\x00\\x00\\x00\\x01]",
        "test_messages.py::test_a_truncated_message_is_internal_under_status_0[grpcio-\\x00\\x00\\x00\\x00\\x06ab]",
        "test_messages.py::test_a_truncated_message_is_internal_under_status_0[grpcio-\\x00\\x00]",
        "test_status.py::test_ok_without_a_message_is_internal[grpcio-after_headers]",
        "test_status.py::test_ok_without_a_message_is_internal[grpcio-trailers_only]",
    ),
    "C-core hangs to the deadline where a unary reply has a second message": (
        "test_messages.py::test_a_message_followed_by_a_piece_of_another_is_internal[grpcio]",
        "test_messages.py::test_two_messages_in_a_unary_answer_are_internal_and_do_not_hang[grpcio]",
    ),
    "C-core takes any compression flag but 1 for uncompressed": (
        "test_messages.py::test_a_message_that_cannot_be_read_is_internal_and_names_why[grpcio-None-2-words3]",
        "test_messages.py::test_a_message_that_cannot_be_read_is_internal_and_names_why[grpcio-gzip-255-words4]",
    ),
    "the same end in C-core's own words": (
        "test_goaway.py::test_a_call_covered_by_goaway_is_lost_with_the_connection[grpcio]",
        "test_goaway.py::test_a_connection_that_ends_without_a_reply_loses_its_calls[grpcio-fin]",
        "test_messages.py::test_a_message_that_cannot_be_read_is_internal_and_names_why[grpcio-None-1-words0]",
        "test_messages.py::test_a_message_that_cannot_be_read_is_internal_and_names_why[grpcio-br-1-words2]",
        "test_messages.py::test_a_message_that_cannot_be_read_is_internal_and_names_why[grpcio-identity-1-words1]",
        "test_messages.py::test_gzip_that_is_none_is_internal_where_the_message_is_wanted[grpcio-cut_short]",
        "test_messages.py::test_gzip_that_is_none_is_internal_where_the_message_is_wanted[grpcio-not_gzip]",
        "test_messages.py::test_gzip_that_is_none_is_internal_where_the_message_is_wanted[grpcio-octets_behind]",
        "test_status.py::test_a_missing_status_is_unknown_and_the_reason_says_where_it_was_missing[grpcio]",
    ),
    "C-core fails a call whose grpc-encoding it does not know, whether or not a message uses it": (
        "test_messages.py::test_an_encoding_nothing_was_encoded_with_is_fine[grpcio-br]",
    ),
    "C-core does not look at the content-type where there is a grpc-status": (
        "test_status.py::test_status_0_under_another_content_type_is_no_success[grpcio-None]",
        "test_status.py::test_status_0_under_another_content_type_is_no_success[grpcio-application/grpc-web]",
        "test_status.py::test_status_0_under_another_content_type_is_no_success[grpcio-application/grpcx]",
        "test_status.py::test_status_0_under_another_content_type_is_no_success[grpcio-application/json]",
    ),
    "C-core hands over no grpc-status above 16 and none that is malformed": (
        "test_status.py::test_a_code_above_16_is_unknown_and_its_number_is_kept[grpcio]",
        "test_status.py::test_a_malformed_grpc_status_is_said_to_be_malformed[grpcio--1]",
        "test_status.py::test_a_malformed_grpc_status_is_said_to_be_malformed[grpcio-1.0]",
        "test_status.py::test_a_malformed_grpc_status_is_said_to_be_malformed[grpcio-1234567890]",
        "test_status.py::test_a_malformed_grpc_status_is_said_to_be_malformed[grpcio-\\u0663]",
        "test_status.py::test_a_malformed_grpc_status_is_said_to_be_malformed[grpcio-]",
        "test_status.py::test_a_malformed_grpc_status_is_said_to_be_malformed[grpcio-abc]",
    ),
    "C-core takes the last of several grpc-status fields, and tells of no conflict": (
        "test_status.py::test_leading_zeros_and_repeated_statuses_never_hide_an_error[grpcio-statuses3-5]",
        "test_status.py::test_leading_zeros_and_repeated_statuses_never_hide_an_error[grpcio-statuses4-7]",
    ),
    "C-core hands over octets that are no UTF-8 as Latin-1": (
        "test_status.py::test_grpc_message_is_percent_decoded_and_never_fails_a_call[grpcio-%FF%FE-\\ufffd\\ufffd]",
        "test_status.py::test_grpc_message_is_percent_decoded_and_never_fails_a_call[grpcio-raw \\xff byte-raw \\ufffd byte]",  # noqa: E501
    ),
    "C-core drops the whole connection, or reads on, where one stream is broken": (
        "test_stream_errors.py::test_a_broken_end_is_no_success_and_the_connection_goes_on[grpcio-bad_status]",
        "test_stream_errors.py::test_a_broken_end_is_no_success_and_the_connection_goes_on[grpcio-informational_with_end_stream]",
        "test_stream_errors.py::test_a_broken_end_is_no_success_and_the_connection_goes_on[grpcio-no_status]",
        "test_stream_errors.py::test_a_broken_end_is_no_success_and_the_connection_goes_on[grpcio-nul_in_trailer]",
        "test_stream_errors.py::test_a_broken_end_is_no_success_and_the_connection_goes_on[grpcio-upper_case_name]",
        "test_stream_errors.py::test_a_broken_stream_is_reset_and_fails_alone[grpcio-carriage_return_in_value]",
        "test_stream_errors.py::test_a_broken_stream_is_reset_and_fails_alone[grpcio-data_after_informational]",
        "test_stream_errors.py::test_a_broken_stream_is_reset_and_fails_alone[grpcio-data_before_headers]",
        "test_stream_errors.py::test_a_broken_stream_is_reset_and_fails_alone[grpcio-line_feed_in_value]",
        "test_stream_errors.py::test_a_broken_stream_is_reset_and_fails_alone[grpcio-no_status]",
        "test_stream_errors.py::test_a_broken_stream_is_reset_and_fails_alone[grpcio-nul_in_value]",
        "test_stream_errors.py::test_a_broken_stream_is_reset_and_fails_alone[grpcio-priority_of_4_bytes]",
        "test_stream_errors.py::test_a_broken_stream_is_reset_and_fails_alone[grpcio-second_headers]",
        "test_stream_errors.py::test_a_broken_stream_is_reset_and_fails_alone[grpcio-second_headers_after_data]",
        "test_stream_errors.py::test_a_broken_stream_is_reset_and_fails_alone[grpcio-status_not_a_number]",
        "test_stream_errors.py::test_a_broken_stream_is_reset_and_fails_alone[grpcio-status_of_two_digits]",
        "test_stream_errors.py::test_a_broken_stream_is_reset_and_fails_alone[grpcio-two_statuses]",
        "test_stream_errors.py::test_a_broken_stream_is_reset_and_fails_alone[grpcio-upper_case_name]",
        "test_stream_errors.py::test_a_broken_stream_is_reset_and_fails_alone[grpcio-window_update_of_0]",
        "test_stream_errors.py::test_data_before_headers_is_blamed_on_the_message_not_the_transport[grpcio]",
    ),
    "C-core takes 1xx headers for the final ones (grpc-go had the same flaw: grpc/grpc-go#8485)": (
        "test_frames.py::test_informational_headers_come_before_the_real_ones[grpcio]",
    ),
    "C-core does not heed the peer's MAX_HEADER_LIST_SIZE": (
        "test_settings.py::test_a_head_above_the_peers_limit_is_not_sent_and_says_both_sizes[grpcio]",
        "test_settings.py::test_a_head_limit_lowered_between_calls_holds_for_the_next_one[grpcio]",
        "test_settings.py::test_a_head_of_exactly_the_limit_is_sent[grpcio]",
    ),
    "C-core introduces itself with other settings": (
        "test_settings.py::test_the_client_introduces_itself_as_specified[grpcio]",
    ),
    "C-core sends no table size update where SETTINGS_HEADER_TABLE_SIZE went down and up again": (
        "test_settings.py::test_a_table_size_changed_between_calls[grpcio-[0, 4096]]",
        "test_settings.py::test_a_table_size_changed_between_calls[grpcio-[2000, 100, 4096]]",
    ),
    "C-core gives flow-control credit by its own estimate of the path, in many small pieces": (
        "test_flow_control.py::test_credit_is_given_in_large_pieces[grpcio]",
        "test_flow_control.py::test_late_and_padded_data_is_credited_to_the_connection_to_the_byte[grpcio]",
    ),
    "C-core keeps a connection that it is making to the end of the connect timeout, also when its user left": (
        "test_connect.py::test_a_deadline_shorter_than_the_connect_timeout_is_kept[grpcio]",
        "test_connect.py::test_a_server_without_settings_fails_at_the_connect_timeout[grpcio]",
        "test_connect.py::test_each_way_to_fail_has_its_own_reason[grpcio]",
        "test_goaway.py::test_a_call_between_connections_still_ends_at_its_deadline[grpcio]",
    ),
    "C-core waits for SETTINGS to the end of the connect timeout where something else came first": (
        "test_connect.py::test_a_peer_that_is_no_http2_server_is_recognised_at_once[grpcio-settings_ack_first]",
        "test_connect.py::test_a_peer_that_is_no_http2_server_is_recognised_at_once[grpcio-tls]",
    ),
    "lbctl looks with a connection of its own why there is none, since C-core does not say: the server sees two": (
        "test_connect.py::test_a_backend_that_never_gets_ready_is_not_dialled_in_a_loop[grpcio]",
    ),
    "C-core waits out its backoff although the server is back, and calls fail meanwhile": (
        "test_connect.py::test_a_server_that_comes_back_is_found_again[grpcio]",
    ),
    "C-core connects again at once after a connection that was ready, also where it served nothing": (
        "test_connect.py::test_a_backend_that_loses_every_connection_at_once_is_not_dialled_in_a_loop[grpcio-broken]",
        "test_connect.py::test_a_backend_that_loses_every_connection_at_once_is_not_dialled_in_a_loop[grpcio-fin]",
        "test_connect.py::test_a_backend_that_loses_every_connection_at_once_is_not_dialled_in_a_loop[grpcio-goaway]",
    ),
    "C-core closes without GOAWAY when its user leaves": (
        "test_connect.py::test_leaving_says_goodbye_and_ends_open_calls[grpcio]",
    ),
    "grpcio does not tell whether response headers came before a reset, so a refused call is sent again in any case": (
        "test_goaway.py::test_a_call_whose_response_has_begun_is_not_sent_again_even_if_goaway_disowns_it[grpcio]",
        "test_resets.py::test_a_call_refused_after_its_headers_is_not_retried[grpcio]",
    ),
    "C-core maps an RST_STREAM code nobody has defined to INTERNAL": (
        "test_resets.py::test_a_reset_before_headers_is_mapped_and_named[grpcio-0x7f]",
    ),
    "C-core fails calls with RESOURCE_EXHAUSTED (Too many streams) where the peer lowers MAX_CONCURRENT_STREAMS": (
        "test_rolling.py::test_a_stream_limit_under_load_is_never_exceeded_and_costs_nothing[grpcio]",
    ),
    "C-core ends calls that waited for a slot in the words of those that were sent: they count as retries": (
        "test_goaway.py::test_calls_waiting_for_a_slot_move_on_without_a_retry[grpcio]",
    ),
    "C-core resets the stream with CANCEL where lbctl says another code, or where lbctl resets nothing": (
        "test_messages.py::test_a_body_that_is_not_grpc_is_never_parsed_as_messages[grpcio]",
        "test_messages.py::test_a_message_above_the_limit_is_cancelled_and_the_connection_stays_usable[grpcio]",
    ),
    "C-core breaks the connection over a SETTINGS ACK nobody asked for": (
        "test_connection_errors.py::test_what_only_looks_broken_changes_nothing[grpcio-unasked_settings_ack]",
    ),
    "C-core ignores a flow-control window above the limit": (
        "test_flow_control.py::test_a_window_above_the_limit_resets_the_stream_that_is_still_sending[grpcio]",
        "test_flow_control.py::test_initial_window_that_overflows_an_open_stream_breaks_the_connection[grpcio]",
    ),
    "C-core writes one blocked body after the other, where lbctl takes turns": (
        "test_flow_control.py::test_two_blocked_bodies_share_new_credit[grpcio]",
    ),
    "C-core takes 64 KiB of response headers and more": (
        "test_stream_errors.py::test_a_head_above_the_soft_limit_fails_its_call_alone[grpcio]",
    ),
}

ALLOWED: Final[dict[str, str]] = {test: why for why, tests in _WHY.items() for test in tests}

_TIMEOUT: Final = (
    "C-core states the time that is left as grpc-timeout, rounded in its own way: heads of equal calls may differ"
)

# Tests that grpcio passes or fails as the moment wants it.
UNSTEADY: Final[dict[str, str]] = {
    "test_frames.py::test_how_tcp_cuts_a_reply_makes_no_difference": (
        "C-core measures the path with PINGs, and the script answers them in the middle of the pieces it is sending"
    ),
    "test_deadlines.py::test_grpc_timeout_is_never_shorter_than_the_deadline": _TIMEOUT,
    "test_rolling.py::test_graceful_replacement_under_load_costs_no_error_and_no_retry": (
        "a call that C-core was about to send on the connection which is leaving is tried again, now and then"
    ),
    "test_rolling.py::test_abrupt_replacement_under_load_costs_retries_and_no_error": (
        "where connections end abruptly C-core now and then refuses a call twice"
    ),
    "test_settings.py::test_the_request_head_is_a_grpc_request": _TIMEOUT,
    "test_settings.py::test_a_table_size_changed_between_calls[grpcio-[0]]": _TIMEOUT,
    "test_settings.py::test_a_table_size_changed_between_calls[grpcio-[100]]": _TIMEOUT,
    "test_settings.py::test_a_table_size_changed_between_calls[grpcio-[4096, 0]]": _TIMEOUT,
    "test_settings.py::test_a_table_size_changed_between_calls[grpcio-[8192]]": _TIMEOUT,
}
