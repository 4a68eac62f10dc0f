"""C-core's words for the end of a call, read; each line was seen from grpcio 1.85.3."""

from __future__ import annotations

import pytest

from lbctl.model import Code, Origin
from lbctl.rpc.grpcio.outcome import ending

SAID = [
    (4, "Deadline Exceeded", Origin.CLIENT, "deadline exceeded"),
    (4, "Stream removed (Deadline Exceeded)", Origin.CLIENT, "deadline exceeded"),
    (8, "Stream removed (CLIENT: Received message larger than max (5 vs. 4))", Origin.CLIENT, "CLIENT: Received"),
    (14, "Received http2 header with status: 503", Origin.HTTP, "503"),
    (2, "Stream removed (Data frame with END_STREAM flag received)", Origin.HTTP, "END_STREAM"),
    (14, "Stream removed (Socket closed)", Origin.TRANSPORT, "Socket closed"),
    (14, "Stream removed (recvmsg:Connection reset by peer (104))", Origin.TRANSPORT, "reset by peer"),
    (14, "failed to connect to all addresses; last error: UNKNOWN: ...", Origin.TRANSPORT, "failed to connect"),
    (14, "ipv4:127.0.0.1:1: subchannel lost all connections", Origin.TRANSPORT, "lost all"),
    (13, "Compression bit set but no encoding configured", Origin.CLIENT, "Compression bit"),
    (13, "Stream removed (Error parsing 'grpc-status' metadata)", Origin.CLIENT, "grpc-status"),
    (2, "No status received", Origin.HTTP, "No status"),
    (5, "nope", Origin.SERVER, "nope"),
    (14, "", Origin.SERVER, ""),
    (4, "", Origin.SERVER, ""),
    (13, "hash attribute not present", Origin.CLIENT, "hash attribute"),
]


@pytest.mark.parametrize(("code", "said", "origin", "word"), SAID)
def test_who_decided_is_told_by_the_words(code: int, said: str, origin: Origin, word: str) -> None:
    end = ending(code, said)
    assert (end.reply.code, end.reply.origin) == (Code(code), origin)
    assert word in end.reply.reason
    assert not end.refused


def test_a_reset_is_named_and_a_refused_stream_may_be_sent_again() -> None:
    cancelled = ending(1, "Stream removed (RST_STREAM (Received RST_STREAM with error code 8))")
    refused = ending(14, "Stream removed (RST_STREAM (Received RST_STREAM with error code 7))")
    assert (cancelled.reply.reason, cancelled.reset, cancelled.refused) == ("stream reset by peer: CANCEL", 8, False)
    assert (refused.reply.origin, refused.reset, refused.refused) == (Origin.TRANSPORT, 7, True)


def test_what_a_goaway_left_unprocessed_may_be_sent_again_and_what_it_covered_may_not() -> None:
    unprocessed = ending(14, "Stream removed (GOAWAY received; Error code: 0; Debug Text: )")
    covered = ending(14, "Stream removed (Socket closed (GOAWAY received; Error code: 11; Debug Text: too_many_pings))")
    assert (unprocessed.refused, covered.refused) == (True, False)
    assert covered.reply.origin is Origin.TRANSPORT


def test_a_server_that_talks_like_c_core_cannot_be_told_apart_and_its_code_stands() -> None:
    assert ending(7, "Socket closed").reply.code is Code.PERMISSION_DENIED
