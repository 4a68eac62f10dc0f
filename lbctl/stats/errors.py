"""Failed calls in groups that stay few: alike in code, origin and in what the message says once numbers are gone.

read tcp 10.0.0.7:51234->10.0.0.9:443: reset by peer     read tcp <addr>-><addr>: reset by peer
request 6f9619ff-8b86-d011-b42d-00c04fc964ff failed      request <id> failed
deadline exceeded after 4.998s                           deadline exceeded after <time>
user "bob" is not known                                  user <text> is not known, if a server says so
unexpected HTTP status 503                               unexpected HTTP status 503

Short numbers stay, since they are mostly codes. What lbctl itself quotes stays too: it is the reason a peer gave. Each
group keeps the first of its messages as it was.
"""

from __future__ import annotations

import re
from typing import NamedTuple, TypeAlias

from lbctl.model import Code, Origin, Reply
from lbctl.stats.report import ErrorGroup

GROUPS = 50  # distinct messages; later ones are counted as OTHER of their code and origin
OTHER = "(other messages)"
MESSAGE_CHARS = 300
_KNOWN_TEXTS = 1024

_Raw: TypeAlias = tuple[Code, Origin, str, int | None]

_QUOTED = r"""(?P<text>"[^"]{1,200}"|(?<!\w)'[^']{1,200}'(?!\w)|`[^`]{1,200}`)|"""
_NUMBERS = (
    r"(?P<id>\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b"
    r"|\b0[xX][0-9a-fA-F]+\b"
    r"|\b(?=[0-9a-fA-F]{0,63}[0-9])(?=[0-9a-fA-F]{0,63}[a-fA-F])[0-9a-fA-F]{8,64}\b)"
    r"|(?P<addr>\[[0-9a-fA-F:.]{2,45}(?:%\w{1,15})?\](?::[0-9]{1,5}\b)?"
    r"|\b[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?::[0-9]{1,5})?\b)"
    r"|(?P<port>(?<=[0-9A-Za-z]):[0-9]{2,5}\b(?!\.[0-9]))"
    r"|(?P<time>\b[0-9]{1,18}(?:\.[0-9]{1,18})?(?:ns|us|µs|ms|s|m|h)\b)"
    r"|(?P<n>\b[0-9]{1,18}\.[0-9]{1,18}\b|[0-9]{4,})"
)
_VARYING = re.compile(_NUMBERS)
_VARYING_OF_A_SERVER = re.compile(_QUOTED + _NUMBERS)
_SHOWN = {"id": "<id>", "addr": "<addr>", "port": ":<port>", "time": "<time>", "n": "<n>", "text": "<text>"}


def normalised(message: str, *, quoted: bool = False) -> str:
    """Replace what differs from call to call: addresses, ports, ids, times, long numbers, and what is ``quoted``."""
    varying = _VARYING_OF_A_SERVER if quoted else _VARYING
    return varying.sub(lambda match: _SHOWN[match.lastgroup or "n"], _short(message))


def _short(message: str) -> str:
    return message if len(message) <= MESSAGE_CHARS else message[:MESSAGE_CHARS] + "…"


class _Key(NamedTuple):
    code: Code
    origin: Origin
    message: str


class _Group(NamedTuple):
    key: _Key
    example: str  # the first message, as it was
    counts: dict[str | None, int]  # by backend, None for calls without one


class ErrorTable:
    """Groups of failed calls, bounded in number and in the length of what it remembers."""

    __slots__ = ("_groups", "_known", "_named")

    def __init__(self) -> None:
        self._groups: dict[_Key, _Group] = {}
        self._known: dict[_Raw, _Group] = {}  # a failing run repeats itself thousands of times a second
        self._named = 0  # groups with a message of their own

    def add(self, reply: Reply, backend: str | None) -> None:
        """Count one failed call, for the backend that it went to if there was one."""
        raw = (reply.code, reply.origin, reply.reason, reply.raw_code)
        group = self._known.get(raw)
        if group is None:
            group = self._group(reply)
            if len(self._known) >= _KNOWN_TEXTS:
                self._known.clear()
            if len(reply.reason) <= MESSAGE_CHARS:
                self._known[raw] = group
        group.counts[backend] = group.counts.get(backend, 0) + 1

    def groups(self) -> tuple[ErrorGroup, ...]:
        """Return every group, the largest first; calls without a backend are in ``count`` only."""
        found = map(_told, self._groups.values())
        return tuple(sorted(found, key=lambda group: (-group.count, group.message == OTHER, group.code, group.message)))

    def _group(self, reply: Reply) -> _Group:
        key = _Key(reply.code, reply.origin, _message(reply))
        if key not in self._groups:
            if self._named >= GROUPS:
                key = key._replace(message=OTHER)
            else:
                self._named += 1
        return self._groups.setdefault(key, _Group(key, _short(reply.reason), {}))


def _message(reply: Reply) -> str:
    # A check of ours is told as it was written.
    text = normalised(reply.reason, quoted=reply.origin is Origin.SERVER) if reply.code else _short(reply.reason)
    return text if reply.raw_code is None else f"status {reply.raw_code}: {text}"


def _told(group: _Group) -> ErrorGroup:
    named = [(backend, count) for backend, count in group.counts.items() if backend is not None]
    named.sort(key=lambda item: (-item[1], item[0]))
    key = group.key
    return ErrorGroup(key.code, key.origin, key.message, sum(group.counts.values()), dict(named), group.example)
