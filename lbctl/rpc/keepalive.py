"""Whether a silent peer is still there: when to ask it with a PING, and when to give it up; decisions only.

Any octet that is read counts as a sign of life. A peer is asked when streams are open and either it has been silent
for the keepalive time, or calls end by nothing but their deadlines and it was silent for all of their time-out.
"""

from __future__ import annotations

from typing import Final

KEEPALIVE_TIMEOUT: Final = "keepalive timeout"
DEAD_PEER: Final = "dead peer"

# Servers take PINGs more often than that, without an answer of theirs in between, for an attack.
_PROBE_AGAIN_NS: Final = 300_000_000_000


class Heartbeat:
    """One connection's. Times in ns of one clock; ``every_ns`` 0 asks only when calls were given up."""

    __slots__ = ("_asked_ns", "_every_ns", "_may_probe_ns", "_patience_ns", "_why")

    def __init__(self, every_ns: int, patience_ns: int) -> None:
        self._every_ns = every_ns
        self._patience_ns = patience_ns
        self._asked_ns = 0  # 0: no question is open
        self._may_probe_ns = 0
        self._why = ""

    def should_ask(self, now_ns: int, heard_ns: int) -> bool:
        """Whether keepalive asks now, with streams open; the question is open from then on."""
        if not self._every_ns or self._is_waiting(heard_ns) or now_ns - heard_ns < self._every_ns:
            return False
        self._asked_ns, self._why = now_ns, KEEPALIVE_TIMEOUT
        return True

    def should_probe(self, now_ns: int, heard_ns: int, timeout_ns: int) -> bool:
        """The same, after calls that were given ``timeout_ns`` have ended by their deadlines, with others open."""
        silent = now_ns - heard_ns > timeout_ns
        if not silent or self._is_waiting(heard_ns) or now_ns < self._may_probe_ns:
            return False
        self._asked_ns, self._why = now_ns, DEAD_PEER
        self._may_probe_ns = now_ns + _PROBE_AGAIN_NS
        return True

    def verdict(self, now_ns: int, heard_ns: int) -> str:
        """Why the peer is given up, or nothing."""
        if self._is_waiting(heard_ns) and now_ns - self._asked_ns >= self._patience_ns:
            return self._why
        return ""

    def next_look_ns(self, now_ns: int, heard_ns: int) -> int:
        """When there may be something to decide; 0: not before something is asked."""
        if self._is_waiting(heard_ns):
            return self._asked_ns + self._patience_ns
        if not self._every_ns:
            return 0
        due = heard_ns + self._every_ns
        return due if due > now_ns else now_ns + self._every_ns  # nothing was open when it was due

    def _is_waiting(self, heard_ns: int) -> bool:
        if self._asked_ns and heard_ns >= self._asked_ns:
            self._asked_ns = 0
        return self._asked_ns > 0
