"""What is compared: the cells of the matrix, and how many calls each is worth. One place for every number."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

BACKENDS: Final = 3
IN_FLIGHT: Final = 96
TIMEOUT_S: Final = 20  # of a call, where the client has deadlines
METHOD: Final = "lbctl.bench.Echo/Say"
SIZES: Final = (1, 1024, 65536)
CONNECTIONS: Final = (1, 4)


class Replies(StrEnum):
    """What the server's replies are like."""

    PLAIN = "plain"
    DATED = "dated"  # a trailer differs from reply to reply
    TLS = "tls"
    REFLEX = "reflex"  # from a server that answers without looking


MEANING: Final = {
    Replies.PLAIN: "plaintext, replies that look alike",
    Replies.DATED: "plaintext, a trailer that differs from reply to reply",
    Replies.TLS: "TLS 1.3",
    Replies.REFLEX: "plaintext, a server that answers without looking: its core is not what bounds the client",
}

# Calls of the fastest client in one run: one to two seconds of load.
CALLS: Final = {1: 120_000, 1024: 100_000, 65536: 12_000}


@dataclass(frozen=True, slots=True)
class Scenario:
    """One cell: bytes in a message each way, what replies are like, connections to each backend."""

    replies: Replies
    size: int
    connections: int

    def __str__(self) -> str:
        plural = "" if self.connections == 1 else "s"
        return f"{self.replies}, {bytes_text(self.size)}, {self.connections} connection{plural} per backend"

    @property
    def secure(self) -> bool:
        return self.replies is Replies.TLS


UNBOUND: Final = Scenario(Replies.REFLEX, 1, 1)  # the same where the server is not in the way
PLAINEST: Final = Scenario(Replies.PLAIN, 1, 1)  # the cell that budgets are about
MATRIX: Final[tuple[Scenario, ...]] = (
    *(
        Scenario(replies, size, connections)
        for replies in (Replies.PLAIN, Replies.DATED, Replies.TLS)
        for size in SIZES
        for connections in CONNECTIONS
    ),
    UNBOUND,
)
# Every value of every axis once or more, for a look.
QUICK: Final = (
    PLAINEST,
    Scenario(Replies.PLAIN, 65536, 1),
    Scenario(Replies.PLAIN, 1024, 4),
    Scenario(Replies.DATED, 1, 1),
    Scenario(Replies.TLS, 1024, 1),
)


def bytes_text(size: int) -> str:
    """A message size for people."""
    return f"{size} B" if size < 1024 else f"{size // 1024} KiB"
