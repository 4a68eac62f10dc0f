"""Why a backend cannot be called: one word to sort by, words that continue its address, and what to try."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from lbctl.model import Code, Endpoint, Origin, Reply
from lbctl.suggestion import PLAIN, Again

MAX_TEXT: Final = 200
_MAX_REASONS: Final = 5  # that are told in one error
_MAX_ADDRESSES: Final = 3  # that are told of one reason
_DISTRUSTED: Final = "cannot be trusted: "


class Kind(StrEnum):
    """Why a backend cannot be called, as one word."""

    REFUSED = "REFUSED"
    TIMEOUT = "TIMEOUT"
    TLS = "TLS"  # it speaks TLS, and we do not
    PLAINTEXT = "PLAINTEXT"  # we speak TLS, and it does not
    CERTIFICATE = "CERTIFICATE"  # its certificate, or ours, is not accepted
    HTTP1 = "HTTP1"
    UNIMPLEMENTED = "UNIMPLEMENTED"
    ERROR = "ERROR"


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why a backend cannot be called; ``text`` continues a sentence that begins with its address."""

    kind: Kind
    text: str


REFUSED: Final = Obstacle(Kind.REFUSED, "refused the connection")
TLS: Final = Obstacle(Kind.TLS, "speaks TLS, not plaintext HTTP/2")
PLAINTEXT: Final = Obstacle(Kind.PLAINTEXT, "does not speak TLS")
HTTP1: Final = Obstacle(Kind.HTTP1, "speaks HTTP/1.x, not HTTP/2")
NOT_HTTP2: Final = Obstacle(Kind.ERROR, "does not speak HTTP/2")

# How a failed connection is told by those that saw it, where that is not simply the same words.
_SAID: Final = {
    "connection refused": REFUSED,
    f"peer protocol error: peer {NOT_HTTP2.text}": NOT_HTTP2,
}
_HUNG_UP: Final = re.compile(r"connection (closed|reset) by peer")
_OF_PEER: Final = re.compile(r"(?:the )?peer (.*)")
_ABOUT_CERTIFICATES: Final = re.compile(r"certificate|server name")
_KINDS: Final = {known.text: known.kind for known in (TLS, PLAINTEXT, HTTP1)}

_LOOK: Final = " {look}"
_METHOD: Final = "pkg.Service/Method"
_RAW: Final = ("--binary-file", "FILE")
# What to try, by the most telling obstacle; the first of these that any backend met.
_HINTS: Final = (
    (
        Kind.UNIMPLEMENTED,
        "turn reflection on in the server, give --protoset FILE or --proto FILE, or the "
        "full method and raw bytes: {raw}",
    ),
    (Kind.TLS, "give --tls, and --tls-ca FILE where its certificate is not from a public authority"),
    (Kind.PLAINTEXT, "give --plaintext"),
    (Kind.CERTIFICATE, "give {certificate}"),
    (Kind.HTTP1, "is this the port of the gRPC server?"),
    (Kind.ERROR, f"is a gRPC server running there?{_LOOK} shows what is registered"),
    (Kind.REFUSED, f"is it running?{_LOOK} shows what is registered"),
    (Kind.TIMEOUT, f"is it running?{_LOOK} shows what is registered"),
)
# What answers a complaint about a certificate, by a word of it; the last one answers all others.
_CERTIFICATES: Final = (
    ("client certificate", "--tls-cert FILE and --tls-key FILE: a certificate that the server accepts"),
    ("expired", "--tls-skip-verify, to accept it all the same"),
    ("not valid yet", "--tls-skip-verify, to accept it all the same"),
    ("not for", "--tls-server-name NAME: the name its certificate is for"),
    ("server name", "--tls-server-name NAME: a name that the server knows"),
    ("", "--tls-ca FILE: the authority that signed it; or --tls-skip-verify to accept any certificate"),
)


def silent(timeout_s: float) -> Obstacle:
    """Describe a backend that took longer than we wait."""
    return Obstacle(Kind.TIMEOUT, f"did not answer within {timeout_s:g}s")


def of_reason(reason: str) -> Obstacle:
    """Sort and word the reason why a connection could not be made, or was lost."""
    if reason in _SAID:
        return _SAID[reason]
    text = _HUNG_UP.sub(r"peer \1 the connection", printable(reason))
    if text.startswith("no ") and " within " in text:
        return Obstacle(Kind.TIMEOUT, f"gave {text}")
    if text.startswith("the certificate "):
        return Obstacle(Kind.CERTIFICATE, f"{_DISTRUSTED}{text}")
    if text.startswith("ALPN "):
        return Obstacle(Kind.ERROR, f"speaks TLS without HTTP/2 ({text})")
    if text.startswith("peer protocol error: "):
        return Obstacle(Kind.ERROR, f"breaks HTTP/2: {text.partition(': ')[2]}")
    of_peer = _OF_PEER.fullmatch(text)
    if of_peer is None:
        return Obstacle(Kind.ERROR, f"cannot be reached ({text})")
    kind = Kind.CERTIFICATE if _ABOUT_CERTIFICATES.search(text) else _KINDS.get(of_peer[1], Kind.ERROR)
    return Obstacle(kind, of_peer[1])


def told(reply: Reply) -> str:
    """How a call failed, in words that continue the backend's address; who said what stays clear."""
    reason = printable(reply.reason)
    if reply.origin is Origin.SERVER:
        code = reply.code.name if reply.raw_code is None else f"code {reply.raw_code}"
        return f"answered {code}: {reason}" if reason else f"answered {code}"
    if reply.origin is Origin.HTTP:
        return f"answered with something that is not gRPC: {reason}"
    return f"gave no answer: {reason}" if reply.origin is Origin.TRANSPORT else f"gave no usable answer: {reason}"


def listed(obstacles: Mapping[Endpoint, Obstacle] | Mapping[str, Obstacle]) -> str:
    """Say why backends cannot be called; a reason that several share is told once, with their addresses behind it."""
    alike: dict[str, list[str]] = {}
    for address, obstacle in obstacles.items():
        alike.setdefault(obstacle.text, []).append(str(address))
    shared = len(alike) < len(obstacles)
    groups = list(alike.items())[:_MAX_REASONS]
    rest = len(obstacles) - sum(len(addresses) for _, addresses in groups)
    reasons = [_of_several(text, each) if shared else f"{each[0]} {text}" for text, each in groups]
    return "; ".join(reasons + ([f"and {rest} more"] if rest else []))


def _of_several(text: str, addresses: Sequence[str]) -> str:
    shown = addresses if len(addresses) <= _MAX_ADDRESSES else addresses[: _MAX_ADDRESSES - 1]
    more = len(addresses) - len(shown)
    return f"{text.removeprefix(_DISTRUSTED)} ({', '.join(shown)}{f' and {more} more' if more else ''})"


def is_late(reply: Reply) -> bool:
    """Whether a call ran out of time; a server that is told the deadline may well say so first."""
    return reply.code is Code.DEADLINE_EXCEEDED


def hint(obstacles: Iterable[Obstacle], service: str, *, registered: bool = True, again: Again = PLAIN) -> str:
    """What to try where none of a service's backends can be called.

    Where they are in no registry (``registered``) the user is not sent to it; ``again`` spells commands that look there
    for the service of this name.
    """
    first = {obstacle.kind: obstacle for obstacle in reversed(list(obstacles))}
    kind, template = next(entry for entry in _HINTS if entry[0] in first)
    certificate = next(flags for word, flags in _CERTIFICATES if word in first[kind].text)
    text = template.replace("{certificate}", certificate)
    if not registered:
        return text.partition(_LOOK)[0].replace("{raw}", f"{_METHOD} {' '.join(_RAW)}")
    name = service or "SERVICE"
    raw, look = again.command("hammer", name, _METHOD, options=_RAW), again.command("ls", name)
    return text.replace("{raw}", raw).replace("{look}", look)


def printable(text: str, limit: int = MAX_TEXT) -> str:
    """Make one line of a text from the network that cannot move the cursor or change colours."""
    shown = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in " ".join(text[: limit * 2].split()))
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"
