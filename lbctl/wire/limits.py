"""What lbctl allows itself and its peers on one connection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

LAST_STREAM: Final = 0x5FFF_FFFF  # 75 % of the ids: a successor takes over long before they run out
OWN_STREAM_LIMIT: Final = 1000  # in flight per connection, where the peer states no limit
HEADER_TABLE_SIZE: Final = 4096  # octets, HTTP/2's default, which we neither raise nor lower
MAX_MESSAGE: Final = 4 << 20  # octets, gRPC's default limit


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one connection.

    ``max_streams`` calls may be in flight, fewer where the peer says so; after ``max_requests`` calls (0: as many as
    there are stream ids) a successor takes over; a reply message may have ``max_message`` octets. With ``reset_late``
    a call whose deadline passed is cancelled at the server; without, its stream is left to the server's own deadline
    and keeps its slot until then. With ``load_reports`` the OK replies that carry one are handed over with it. With
    ``replay`` it is told of calls that they are committed: their reply has begun, or their requests are longer than
    so many octets, which is what a client would keep to send them again. With ``headers`` every reply has all fields of
    the headers and trailers that came.
    """

    max_streams: int = OWN_STREAM_LIMIT
    max_requests: int = 0
    max_message: int = MAX_MESSAGE
    reset_late: bool = True
    load_reports: bool = False
    replay: int = 0
    headers: bool = False

    @property
    def last_stream(self) -> int:
        """The id of the last stream that may be opened."""
        return min(LAST_STREAM, 2 * self.max_requests - 1) if self.max_requests else LAST_STREAM
