"""What the tests of the balance have in common: what they are given, what they find, and how they put it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

ALPHA: Final = 0.001
ROUNDING: Final = 1e-6


class Counted(Protocol):
    """One backend's picks and expected picks; see ``lbctl.balance.evidence`` for the sums."""

    @property
    def address(self) -> str: ...
    @property
    def picks(self) -> int: ...
    @property
    def expected(self) -> float: ...
    @property
    def bounded_picks(self) -> int: ...
    @property
    def bounded_expected(self) -> float: ...
    @property
    def below(self) -> float: ...
    @property
    def below_squares(self) -> float: ...
    @property
    def above(self) -> float: ...
    @property
    def above_squares(self) -> float: ...
    @property
    def chance_picks(self) -> int: ...
    @property
    def chance_expected(self) -> float: ...
    @property
    def pooled_picks(self) -> int: ...
    @property
    def pooled_expected(self) -> float: ...


class Evidence(Protocol):
    """What the balancer knows about all epochs."""

    @property
    def expectation(self) -> str: ...
    @property
    def bounded(self) -> int: ...
    @property
    def overrun(self) -> float: ...
    @property
    def drawn(self) -> int: ...
    @property
    def chi2(self) -> float: ...
    @property
    def dof(self) -> int: ...
    @property
    def pooled(self) -> int: ...
    @property
    def chances(self) -> int: ...
    @property
    def log_factor(self) -> float: ...
    @property
    def unjudged(self) -> int: ...
    @property
    def unfinished(self) -> int: ...
    @property
    def strays(self) -> int: ...
    @property
    def backends(self) -> Sequence[Counted]: ...
    @property
    def keys(self) -> str: ...


class Finding(NamedTuple):
    """A verdict, the sentence that explains it, and the figures of a test where one was made."""

    verdict: str
    note: str
    chi2: float | None = None
    dof: int | None = None
    p: float | None = None
    effect: float | None = None


def blame(rows: Sequence[Counted]) -> str:
    """Name the backend with the largest difference."""
    worst = max(rows, key=lambda row: (abs(row.picks - row.expected), row.address))
    return f"{worst.address} got {in_picks(worst.picks)} where {worst.expected:,.1f} were expected"


def in_picks(count: int) -> str:
    """``1 pick``, ``2 picks``."""
    return f"{count:,} pick" if count == 1 else f"{count:,} picks"


def of_keys(evidence: Evidence) -> str:
    """What hash policies go by, to follow a word."""
    return f" the keys ({evidence.keys})" if evidence.keys else " the keys"
