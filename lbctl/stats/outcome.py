"""What became of something that was asked of a run: a plain value, so that a report can carry it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Outcome:
    """One threshold, judged; of a condition that ends a run ``ok`` means that it never came true.

    ``value`` and ``limit`` are in ``unit``: ms, %, pp, or nothing for a plain number. ``value`` is None where there is
    none, and ``reason`` says why. ``backend`` is the address of the backend that the value is of, and ``method`` the
    name of the method.
    """

    expr: str
    ok: bool
    value: float | None
    unit: str
    limit: float
    backend: str | None = None
    reason: str = ""
    method: str | None = None

    @property
    def where(self) -> str:
        """What the value is of, where it is not the whole run."""
        return self.backend or self.method or ""

    @property
    def figure(self) -> str:
        """The value in its unit, exact to a thousandth."""
        if self.value is None:
            return "none"
        return f"{self.value:,.3f}".rstrip("0").rstrip(".") + self.unit
