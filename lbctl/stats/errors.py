"""Failed calls in groups that stay few: alike in code, origin and in what the message says once numbers are gone.

read tcp 10.0.0.7:51234->10.0.0.9:443: reset by peer     read tcp <addr>-><addr>: reset by peer
request 6f9619ff-8b86-d011-b42d-00c04fc964ff failed      request <id> failed
deadline exceeded after 4.998s                           deadline exceeded after <time>
unexpected HTTP status 503                               unexpected HTTP status 503
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from lbctl.model import Code, Origin, Reply
from lbctl.stats.report import ErrorGroup

GROUPS = 50  # distinct messages; later ones are counted as OTHER of their code and origin
OTHER = "(other messages)"
MESSAGE_CHARS = 300
_KNOWN_TEXTS = 1024

_VARYING = re.compile(
    r"(?P<id>\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b"
    r"|\b0[xX][0-9a-fA-F]+\b"
    r"|\b(?=[0-9a-fA-F]{0,63}[0-9])(?=[0-9a-fA-F]{0,63}[a-fA-F])[0-9a-fA-F]{8,64}\b)"
    r"|(?P<addr>\[[0-9a-fA-F:.]{2,45}(?:%\w{1,15})?\](?::[0-9]{1,5}\b)?"
    r"|\b[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?::[0-9]{1,5})?\b)"
    r"|(?P<port>(?<=[0-9A-Za-z]):[0-9]{2,5}\b(?!\.[0-9]))"
    r"|(?P<time>\b[0-9]{1,18}(?:\.[0-9]{1,18})?(?:ns|us|µs|ms|s|m|h)\b)"
    r"|(?P<n>\b[0-9]{1,18}\.[0-9]{1,18}\b|[0-9]{4,})"
)
_SHOWN = {"id": "<id>", "addr": "<addr>", "port": ":<port>", "time": "<time>", "n": "<n>"}


def normalised(message: str) -> str:
    """Replace what differs from call to call: addresses, ports, ids, times, long numbers."""
    short = message if len(message) <= MESSAGE_CHARS else message[:MESSAGE_CHARS] + "…"
    return _VARYING.sub(lambda match: _SHOWN[match.lastgroup or "n"], short)


class _Key(NamedTuple):
    code: Code
    origin: Origin
    message: str


class ErrorTable:
    """Groups of failed calls, bounded in number and in the length of what it remembers."""

    __slots__ = ("_groups", "_texts")

    def __init__(self) -> None:
        self._groups: dict[_Key, dict[str | None, int]] = {}
        self._texts: dict[str, str] = {}  # raw to normalised; a failing run repeats itself thousands of times a second

    def add(self, reply: Reply, backend: str | None) -> None:
        """Count one failed call, for the backend that it went to if there was one."""
        key = _Key(reply.code, reply.origin, self._text(reply))
        group = self._groups.get(key)
        if group is None:
            group = self._opened(key)
        group[backend] = group.get(backend, 0) + 1

    def groups(self) -> tuple[ErrorGroup, ...]:
        """Return every group, the largest first; calls without a backend are in ``count`` only."""
        found = (_group(key, backends) for key, backends in self._groups.items())
        return tuple(sorted(found, key=lambda group: (-group.count, group.message == OTHER, group.code, group.message)))

    def _opened(self, key: _Key) -> dict[str | None, int]:
        if sum(known.message != OTHER for known in self._groups) >= GROUPS:
            key = key._replace(message=OTHER)
        return self._groups.setdefault(key, {})

    def _text(self, reply: Reply) -> str:
        text = self._texts.get(reply.reason)
        if text is None:
            if len(self._texts) >= _KNOWN_TEXTS:
                self._texts.clear()
            # A check of ours is told as it was written.
            text = normalised(reply.reason) if reply.code else reply.reason[:MESSAGE_CHARS]
            if len(reply.reason) <= MESSAGE_CHARS:
                self._texts[reply.reason] = text
        return text if reply.raw_code is None else f"status {reply.raw_code}: {text}"


def _group(key: _Key, counts: Mapping[str | None, int]) -> ErrorGroup:
    named = [(backend, count) for backend, count in counts.items() if backend is not None]
    named.sort(key=lambda item: (-item[1], item[0]))
    return ErrorGroup(key.code, key.origin, key.message, sum(counts.values()), dict(named))
