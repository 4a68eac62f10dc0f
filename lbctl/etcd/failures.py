"""What a failed etcd call means: whether to try again, and what to tell the user."""

from __future__ import annotations

import re
from enum import Enum, auto

import grpc

from lbctl.errors import RegistryError

HINT_UNREACHABLE = "set --endpoints or ETCDCTL_ENDPOINTS, or start one with: lbctl demo"
HINT_USER = "give --user NAME and --password-file FILE"
_HINT_TLS = "check --cacert, --cert, --key, and whether the endpoints are https:// or http://"

_HINT_NO_ETCD = "is this endpoint an etcd? Backends are given with: lbctl hammer --backends HOST:PORT"


class Unreachable(RegistryError):
    """No etcd endpoint answered in time."""


class AccessDenied(RegistryError):
    """etcd answered and does not let us: no user, a wrong password, or a role that does not cover the keys."""


class Unauthenticated(AccessDenied):
    """etcd does not know who we are, whichever keys are asked for: no user, a wrong password, or no users at all."""


class Compacted(RegistryError):
    """The revision asked for is no longer kept."""


class TooLarge(RegistryError):
    """The answer is above the size that a message may have."""


class LeaseGone(RegistryError):
    """The lease does not exist: it expired or was revoked."""


class SessionClosed(RegistryError):
    """The session was closed while, or before, it was used."""


class Kind(Enum):
    """What to do about a failed call."""

    NOT_SENT = auto()  # no connection: safe to repeat anything
    BROKEN = auto()  # the connection broke: the request may or may not have been carried out
    BUSY = auto()  # etcd answered: no leader yet, or overloaded
    TIMEOUT = auto()  # our own deadline passed
    STALE_TOKEN = auto()  # log in again
    FATAL = auto()  # repeating cannot help


# What etcd and gRPC say, in the order to look; the texts are all that tells some causes apart.
_KINDS: tuple[tuple[grpc.StatusCode, str, Kind], ...] = (
    (grpc.StatusCode.UNAUTHENTICATED, "", Kind.STALE_TOKEN),
    (grpc.StatusCode.INVALID_ARGUMENT, "revision of auth store is old", Kind.STALE_TOKEN),
    (grpc.StatusCode.UNAVAILABLE, "handshake failed", Kind.FATAL),
    (grpc.StatusCode.UNAVAILABLE, "hostname verification", Kind.FATAL),
    (grpc.StatusCode.UNAVAILABLE, "failed to create security handshaker", Kind.FATAL),
    (grpc.StatusCode.UNAVAILABLE, "etcdserver:", Kind.BUSY),
    (grpc.StatusCode.UNAVAILABLE, "failed to connect", Kind.NOT_SENT),
    (grpc.StatusCode.UNAVAILABLE, "dns resolution failed", Kind.NOT_SENT),
    (grpc.StatusCode.UNAVAILABLE, "", Kind.BROKEN),
    (grpc.StatusCode.RESOURCE_EXHAUSTED, "too many requests", Kind.BUSY),
    (grpc.StatusCode.DEADLINE_EXCEEDED, "", Kind.TIMEOUT),
)

_ONE_END_ONLY = "it closes the connection; is TLS on at one end only?"
_CLIENT_CERTIFICATE = "it wants a client certificate that it trusts"

_REASONS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), reason)
    for pattern, reason in (
        ("failed parsing http/2|trying to connect an http1", "it speaks no HTTP/2; is it the port of another server?"),
        ("connection refused", "connection refused"),
        ("hostname verification", "the certificate is for another name"),
        ("certificate has expired", "its certificate has expired"),
        ("certificate is not yet valid", "its certificate is not valid yet"),
        ("certificate_verify_failed", "its certificate is not trusted"),
        ("alert_(bad|unsupported)_certificate|certificate_required|alert_certificate|unknown_ca", _CLIENT_CERTIFICATE),
        ("handshake failed", "TLS handshake failed"),
        ("failed to create security handshaker", "the certificates given cannot be used"),
        ("dns resolution failed|errors resolving", "the name does not resolve"),
        ("no route to host", "no route to host"),
        ("network is unreachable", "network is unreachable"),
        (
            "failed to connect.*(socket closed|endpoint closing|connection reset)",
            _ONE_END_ONLY,
        ),
        ("connection reset", "connection reset"),
        ("socket closed|endpoint closing", "connection closed"),
        ("deadline exceeded|timeout occurred", "timed out"),
        ("keepalive watchdog|ping timeout", "no answer to keepalive"),
    )
)

_DENIALS = ("permission", "unauthenticated", "auth token", "user name is empty", "revision of auth store is old")

_ERRORS: tuple[tuple[grpc.StatusCode, str, type[RegistryError], str], ...] = (
    (grpc.StatusCode.INVALID_ARGUMENT, "user name is empty", Unauthenticated, HINT_USER),
    (grpc.StatusCode.INVALID_ARGUMENT, "authentication failed", Unauthenticated, "check --user and --password-file"),
    (grpc.StatusCode.FAILED_PRECONDITION, "authentication is not enabled", Unauthenticated, "leave --user out"),
    (grpc.StatusCode.PERMISSION_DENIED, "", AccessDenied, "the user's role does not cover these keys"),
    (grpc.StatusCode.UNAUTHENTICATED, "", Unauthenticated, HINT_USER),
    (grpc.StatusCode.OUT_OF_RANGE, "compacted", Compacted, ""),
    (grpc.StatusCode.NOT_FOUND, "lease not found", LeaseGone, ""),
    (
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        "larger than max",
        TooLarge,
        "the answer is above the message size limit",
    ),
    (grpc.StatusCode.UNAVAILABLE, "handshake failed", Unreachable, _HINT_TLS),
    (grpc.StatusCode.UNAVAILABLE, "hostname verification", Unreachable, _HINT_TLS),
    (grpc.StatusCode.UNAVAILABLE, "failed to create security handshaker", Unreachable, _HINT_TLS),
    (grpc.StatusCode.UNIMPLEMENTED, "", RegistryError, _HINT_NO_ETCD),
)


def kind_of(error: grpc.RpcError) -> Kind:
    """Classify a failed call."""
    code, details = _parts(error)
    return next((kind for match, text, kind in _KINDS if match is code and text in details.lower()), Kind.FATAL)


def reason_of(error: grpc.RpcError, *, answered: bool = False) -> str:
    """Say in a few words why a call failed; gRPC's own text where it is not one we know.

    An etcd that has ``answered`` before, in the same way, is not suspected of another.
    """
    code, details = _parts(error)
    known = _known(details)
    if known == _ONE_END_ONLY and answered:
        return "connection closed"
    return known or _short(details) or code.name.lower()


def unreachable(endpoints: tuple[str, ...], within_s: float, reason: str) -> Unreachable:
    """Say that no endpoint answered."""
    hint = _HINT_TLS if "TLS" in reason else HINT_UNREACHABLE
    return Unreachable(f"etcd {', '.join(endpoints)} did not answer within {within_s:g}s ({reason})", hint)


def refused(error: grpc.RpcError, endpoint: str) -> RegistryError:
    """Say what etcd answered, as the error class callers can tell apart."""
    code, details = _parts(error)
    for match, text, kind, hint in _ERRORS:
        if match is code and text in details.lower():
            return kind(f"etcd {endpoint}: {_words(code, details)}", hint)
    return RegistryError(f"etcd {endpoint}: {_words(code, details)}")


def canceled(reason: str, endpoint: str) -> RegistryError:
    """Say why etcd refused a watch; its reason is a text only."""
    lowered = reason.lower()
    if any(text in lowered for text in _DENIALS):
        return AccessDenied(f"etcd {endpoint}: the watch was refused: {_short(reason)}", "check the user's role")
    return RegistryError(f"etcd {endpoint}: the watch was refused: {_short(reason) or 'it gave no reason'}")


def _words(code: grpc.StatusCode, details: str) -> str:
    if code is grpc.StatusCode.UNIMPLEMENTED:
        return "it does not know this method of etcd's v3 API"
    known = _known(details) if code is grpc.StatusCode.UNAVAILABLE else ""
    return known or _short(details) or code.name.lower().replace("_", " ")


def _known(details: str) -> str:
    lowered = details.lower()
    return next((reason for pattern, reason in _REASONS if pattern.search(lowered)), "")


def _parts(error: grpc.RpcError) -> tuple[grpc.StatusCode, str]:
    code: grpc.StatusCode = error.code()
    return code, error.details() or ""


def _short(details: str) -> str:
    """Cut a text from the network to one clean line."""
    line = "".join(char if char.isprintable() else " " for char in details)
    line = re.sub(r"^rpc error: code = \w+ desc = ", "", line)  # as etcd spells its own errors in a watch
    return re.sub(r"\s+", " ", line.removeprefix("etcdserver: ")).strip()[:200]
