"""Which status the user sees, and who decided it (gRPC over HTTP/2, http-grpc-status-mapping, statuscodes)."""

from __future__ import annotations

from typing import Final

from lbctl.model import Code, Origin, Reply
from lbctl.wire.frames import error_name
from lbctl.wire.head import Head, grpc_code

OK_REPLY: Final = Reply(Code.OK)

# Only for responses without a usable grpc-status.
_FROM_HTTP: Final = {
    400: Code.INTERNAL,
    401: Code.UNAUTHENTICATED,
    403: Code.PERMISSION_DENIED,
    404: Code.UNIMPLEMENTED,
    429: Code.UNAVAILABLE,
    431: Code.INTERNAL,
    502: Code.UNAVAILABLE,
    503: Code.UNAVAILABLE,
    504: Code.UNAVAILABLE,
}

_FROM_RST: Final = {
    7: Code.UNAVAILABLE,
    8: Code.CANCELLED,
    11: Code.RESOURCE_EXHAUSTED,
    12: Code.PERMISSION_DENIED,
}


def from_http(status: int) -> Code:
    """The code of an HTTP status without grpc-status."""
    return _FROM_HTTP.get(status, Code.UNKNOWN)


def from_rst(error: int) -> Reply:
    """The reply of a stream the peer reset before its status."""
    known = _FROM_RST.get(error, Code.INTERNAL if error <= 13 else Code.UNKNOWN)
    return Reply(known, Origin.TRANSPORT, f"stream reset by peer: {error_name(error)}")


def local(code: Code, reason: str) -> Reply:
    """A reply lbctl itself decided on."""
    return Reply(code, Origin.CLIENT, reason)


def lost(reason: str) -> Reply:
    """A reply for a call whose connection went away."""
    return Reply(Code.UNAVAILABLE, Origin.TRANSPORT, reason)


def of_response(head: Head, trailers: Head | None, flaw: Reply | None, excerpt: str) -> Reply:
    """The status of a whole response.

    ``head`` is the first final block and ``trailers`` the last one (None when END_STREAM came on DATA); for a
    trailers-only response both are the same. ``flaw`` is what is wrong with its messages and counts only under OK.
    """
    stated = trailers.grpc_status if trailers is not None else ()
    if not stated:
        return _unstated(head, trailers, excerpt)
    decoded = grpc_code(stated)
    if decoded is None:
        return local(Code.UNKNOWN, f"malformed grpc-status {stated[-1][:40].decode('utf-8', 'replace')!r}")
    code, raw = decoded
    assert trailers is not None
    if code != Code.OK or raw is not None:
        return Reply(code, Origin.SERVER, trailers.grpc_message, raw_code=raw)
    return flaw or OK_REPLY if head.is_grpc else _foreign(head, excerpt)


def of_partial(head: Head | None, flaw: Reply | None, excerpt: str) -> Reply:
    """The status of a response that we ended ourselves, having had enough of it: OK unless it was none."""
    if head is None:
        return OK_REPLY
    if head.http_status != 200:
        return _unstated(head, None, excerpt)
    return flaw or OK_REPLY if head.is_grpc else _foreign(head, excerpt)


def _foreign(head: Head, excerpt: str) -> Reply:
    return Reply(Code.UNKNOWN, Origin.HTTP, f"content-type {head.content_type!r} is not gRPC{excerpt}")


def _unstated(head: Head, trailers: Head | None, excerpt: str) -> Reply:
    http = head.http_status or 0
    if http != 200:
        return Reply(from_http(http), Origin.HTTP, f"HTTP status {http} without grpc-status{excerpt}")
    if trailers is None:
        how = "the response ended on DATA"
    elif trailers is head:
        how = "the response ended on its headers"
    else:
        how = "the trailers lack it"
    suffix = excerpt if not head.is_grpc else ""
    return Reply(Code.UNKNOWN, Origin.HTTP, f"no grpc-status: {how}{suffix}")
