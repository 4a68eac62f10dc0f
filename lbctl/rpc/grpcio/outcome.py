"""What grpcio tells of a call's end, as a Reply.

C-core hands over one code and one text, whoever decided them: a server that sends ``grpc-message: Socket closed`` looks
like a cut cable. Its own texts are known (grpcio 1.66 to 1.85), and everything else is taken for the server's word.

    text                                                        origin
    Deadline Exceeded                                           client
    CLIENT: Received message larger than max                    client
    Received http2 header with status: 503                      http
    Data frame with END_STREAM flag received                    http, there was no grpc-status
    Socket closed, GOAWAY received, Received RST_STREAM ...     transport
    failed to connect to all addresses ...                      transport
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from lbctl.model import Code, Origin, Reply
from lbctl.wire.frames import error_name

# Streams that a connection's end, a reset or a limit took away.
_REMOVED: Final = re.compile(r"Stream removed \((?P<why>.*)\)", re.DOTALL)
_RESET: Final = re.compile(r"RST_STREAM.*error code (?P<code>\d+)")
_OWN: Final = re.compile(
    r"(?:Deadline Exceeded$"
    r"|(?:CLIENT|SERVER): (?:Received|Sent) message larger than max"
    r"|hash attribute not present$"
    r"|Error parsing '"
    r"|Compression bit set but no encoding configured$"
    r"|received metadata size exceeds|Metadata keys cannot be zero length$"
    r"|Decompression failed due to|Decompressed message larger than max"
    r"|Locally cancelled by application!$)"
)
_HTTP: Final = re.compile(
    r"(?:Received http2 header with status: \d+$|Data frame with END_STREAM flag received$|No status received$)"
)
_CONNECTION: Final = re.compile(
    r"(?:failed to connect to all addresses"
    r"|connections to all backends failing"
    r"|Failed to connect to remote host"
    r"|Socket closed$"
    r"|Transport closed$"
    r"|Connection dropped"
    r"|recvmsg:|sendmsg:"
    r"|GOAWAY received"
    r"|keepalive watchdog timeout"
    r"|\S+: subchannel lost all connections$"
    r"|Empty update$|empty address list)"
)
_REFUSED_STREAM: Final = 7
_LONGEST: Final = 300


class Ending(NamedTuple):
    """How a call ended. ``refused``: the peer says it did not process it. ``reset``: the RST_STREAM code received."""

    reply: Reply
    refused: bool = False
    reset: int | None = None


def ending(code: int, details: str) -> Ending:
    """Read the end of a call that was not OK."""
    known = Code(code)
    removed = _REMOVED.fullmatch(details)
    why = removed["why"] if removed else details
    reset = _RESET.search(why) if removed else None
    if reset is not None:
        number = int(reset["code"])
        reply = Reply(known, Origin.TRANSPORT, f"stream reset by peer: {error_name(number)}")
        return Ending(reply, number == _REFUSED_STREAM, number)
    # C-core ends so those streams alone whose number is above the GOAWAY's last one.
    unprocessed = removed is not None and why.startswith("GOAWAY received")
    return Ending(Reply(known, _origin(why, removed=removed is not None), _reason(why)), unprocessed)


def _origin(why: str, *, removed: bool) -> Origin:
    if _OWN.match(why):
        return Origin.CLIENT
    if _HTTP.match(why):
        return Origin.HTTP
    if removed or _CONNECTION.match(why):
        return Origin.TRANSPORT
    return Origin.SERVER


def _reason(why: str) -> str:
    """C-core's words, which may be a page; a deadline is called what lbctl calls it everywhere."""
    return "deadline exceeded" if why == "Deadline Exceeded" else why[:_LONGEST]
