"""Weights and what goes with them, as people type them."""

from __future__ import annotations

from typing import Final

from lbctl.cli.values import parse_percent

MOST_WEIGHT: Final = 999_999_999  # nine digits, the most that is read from a registry


def parse_weighted(text: str) -> tuple[str, int]:
    """``10.0.0.11:50051=3``, or a registry key in place of the address; raises ValueError."""
    where, found, weight = text.rpartition("=")
    if not found or not where.strip():
        raise ValueError(f"{text!r} is not ADDRESS=WEIGHT (for example 10.0.0.11:50051=3)")
    return where, parse_weight(weight)


def parse_weight(text: str) -> int:
    """A whole number from 0 (listed, never picked) to 999999999; raises ValueError."""
    if text.startswith("-"):
        raise ValueError(f"weight {text} is negative (0 keeps an instance listed and never picked)")
    if not text.isascii() or not text.isdigit() or len(text) > len(str(MOST_WEIGHT)):
        raise ValueError(f"weight {text!r} is not a whole number from 0 to {MOST_WEIGHT}")
    return int(text)


def parse_limit(text: str) -> int:
    """A weight that others are kept above or below; raises ValueError."""
    weight = parse_weight(text)
    if not weight:
        raise ValueError("weight 0 would take instances out of the rotation for good; 1 is the least")
    return weight


def parse_share(text: str) -> float:
    """A part of all: ``0.1`` or ``10%``; raises ValueError."""
    if "%" in text:
        return parse_percent(text)
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise ValueError(f"{text!r} is not a part of all (for example 0.1, or 10%)")
    return share
