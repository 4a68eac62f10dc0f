"""Where lbctl and grpc.aio (C-core) make something else of the same behaviour, on purpose, and why.

The documents meant here: gRPC's PROTOCOL-HTTP2.md, its status code and HTTP status mapping pages, and RFC 9113.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from lbctl.model import Code

OK, UNKNOWN, INTERNAL, UNAVAILABLE = Code.OK, Code.UNKNOWN, Code.INTERNAL, Code.UNAVAILABLE
NOT_FOUND, TOO_LATE = Code.NOT_FOUND, Code.DEADLINE_EXCEEDED


class Difference(NamedTuple):
    """What each of the two says, and lbctl's reason to say something else."""

    ours: Code
    theirs: Code
    reason: str


_GROUPS: Final[dict[str, tuple[Code, Code, str]]] = {
    "a unary reply of status OK has exactly one message; C-core returns None": (
        INTERNAL,
        OK,
        "only_trailers_'0' only_trailers_'00' message_none",
    ),
    "a message that is cut short is no message, whatever the status says": (
        INTERNAL,
        OK,
        "message_cut_prefix message_prefix_only message_cut",
    ),
    "a second message must not make a unary call wait for its deadline": (
        INTERNAL,
        TOO_LATE,
        "message_two message_two_failing message_one_and_a_piece message_one_and_a_piece_failing",
    ),
    "a message's flag is 0 or 1": (INTERNAL, OK, "message_flag_2 message_flag_255"),
    "a status that cannot be parsed is UNKNOWN by the status code page": (
        UNKNOWN,
        INTERNAL,
        "status_'' status_'abc' status_'-1' status_'1.0' status_'4294967296' only_trailers_'' only_trailers_'abc' "
        "only_trailers_'-1' only_trailers_'1.0' only_trailers_'4294967296'",
    ),
    "a field value with blanks around it is malformed (RFC 9113 8.2.1), so this is no number": (
        UNKNOWN,
        OK,
        "status_'~0' status_'0~' only_trailers_'~0' only_trailers_'0~'",
    ),
    "statuses that contradict each other never show as OK": (UNAVAILABLE, OK, "status_14_and_0"),
    "the HTTP mapping page has 431 as INTERNAL": (INTERNAL, UNKNOWN, "http_431_bare http_431_html"),
    "an HTTP/2 error code nobody knows says nothing": (
        UNKNOWN,
        INTERNAL,
        "rst_127_at_once rst_127_after_head rst_127_after_message",
    ),
    "status 0 under another content type is some other server's, and nothing of it was read as a message": (
        UNKNOWN,
        OK,
        "content_type_'application/grpc-web' content_type_'application/grpcx' content_type_'application/json' "
        "content_type_'text/html' content_type_'' content_type_'application/grpc~;a=b' content_type_missing",
    ),
    "the status stands, even when its details or other metadata cannot be decoded": (
        NOT_FOUND,
        INTERNAL,
        "details_3 details_4",
    ),
    "binary metadata that cannot be decoded, or is a list, does not undo a call": (
        OK,
        INTERNAL,
        "head_with_binary_bad trailers_with_binary_bad head_with_binary_list trailers_with_binary_list",
    ),
    "an encoding that is not supported matters only where something is encoded (compression.md)": (
        OK,
        INTERNAL,
        "encoding_br_not_used",
    ),
    "padding is legal; C-core does not know the flag of padded DATA": (
        OK,
        INTERNAL,
        "data_padded_0 data_padded_1 data_padded_100 data_padded_255",
    ),
    "padding is legal; C-core reads it as part of the block": (
        OK,
        INTERNAL,
        "head_padded_0 head_padded_1 head_padded_100 head_padded_255 head_padded_0_with_priority "
        "head_padded_1_with_priority head_padded_100_with_priority head_padded_255_with_priority",
    ),
    "interim responses come before the real one (RFC 9110 15.2)": (OK, UNKNOWN, "first_interim_103 first_interim_100"),
    "a SETTINGS acknowledgement too many hurts nobody": (OK, UNKNOWN, "first_settings_ack"),
    "the server's limit on a header list is kept by not sending the request; C-core ignores it": (
        INTERNAL,
        OK,
        "settings_header_list_50_first",
    ),
    "a connection error of the peer is a lost connection, UNAVAILABLE by PROTOCOL-HTTP2.md": (
        UNAVAILABLE,
        UNKNOWN,
        "settings_push_2_later settings_window_too_large_later settings_frame_1000_later "
        "settings_frame_too_large_later first_ping_of_7 first_settings_ack_payload first_settings_of_5 "
        "first_settings_on_stream first_credit_0 first_credit_of_3 first_data_of_16385 first_rst_of_3 "
        "first_continuation_alone first_head_interrupted goaway_of_7",
    ),
    "a block that cannot be decoded loses the compression state, and so the connection (RFC 9113 4.3)": (
        UNAVAILABLE,
        INTERNAL,
        "first_hpack_index_0 first_hpack_index_far first_hpack_cut",
    ),
    "padding longer than its frame is a connection error (RFC 9113 6.1)": (
        UNAVAILABLE,
        INTERNAL,
        "first_data_pad_too_long",
    ),
    "a connection error by RFC 9113 that C-core lets pass": (
        UNAVAILABLE,
        OK,
        "first_priority_on_0 first_ping_on_stream first_credit_too_much first_credit_on_idle first_push "
        "first_data_on_0 first_data_on_idle first_head_on_0 first_head_on_even first_rst_on_idle",
    ),
    "a stream error by RFC 9113 that C-core lets pass": (
        INTERNAL,
        OK,
        "first_priority_of_4 head_with_nul trailers_with_nul head_with_cr trailers_with_cr head_with_status_twice "
        "http_status_missing",
    ),
    "a stream error by RFC 9113, for one call alone; C-core says UNKNOWN": (
        INTERNAL,
        UNKNOWN,
        "first_credit_0_on_stream http_status_of_2_digits head_twice trailers_that_do_not_end",
    ),
    "DATA before the response headers is a malformed response and ends the call at once": (
        INTERNAL,
        TOO_LATE,
        "first_data_before_head",
    ),
}


# A call whose replies are a stream has no such difference, or another one.
_ONLY_UNARY: Final = (
    "only_trailers_'0' only_trailers_'00' message_none message_two message_two_failing message_one_and_a_piece "
    "message_one_and_a_piece_failing first_data_before_head"
)
_STREAM_GROUPS: Final[dict[str, tuple[Code, Code, str]]] = {
    "a stream of messages ends with a whole one": (INTERNAL, OK, "message_one_and_a_piece"),
    "DATA before the response headers is a malformed response": (INTERNAL, OK, "first_data_before_head"),
}


def _listed(groups: Mapping[str, tuple[Code, Code, str]]) -> Iterator[tuple[str, Difference]]:
    for reason, (ours, theirs, names) in groups.items():
        for name in names.split():
            yield name.replace("~", " "), Difference(ours, theirs, reason)


DIFFERENCES: Final[dict[str, Difference]] = dict(_listed(_GROUPS))
STREAM_DIFFERENCES: Final[dict[str, Difference]] = {
    **{name: difference for name, difference in DIFFERENCES.items() if name not in _ONLY_UNARY.split()},
    **dict(_listed(_STREAM_GROUPS)),
}

# Where C-core answers now this, now that: replies in tiny pieces; headers between its soft and its hard limit, which it
# refuses at random; and streams that end with an HTTP error and a body, whose status it may lose.
UNSTEADY: Final = re.compile(r"in_chunks_of_\d+|(head|trailers)_with_of_15_kb")
UNSTEADY_STREAM: Final = re.compile(rf"{UNSTEADY.pattern}|http_\d+_html")

# A load counts messages and does not unpack them, so only a single call sees that one is corrupt.
NOT_UNPACKED_IN_A_LOAD: Final = frozenset({"encoding_gzip_corrupt", "encoding_gzip_cut"})

# These wait for the deadline, lbctl or C-core or both.
WAITING: Final = frozenset(
    {"silent", "settings_streams_0_first", "settings_window_0_first"}
    | {name for name, difference in DIFFERENCES.items() if difference.theirs is TOO_LATE}
)
