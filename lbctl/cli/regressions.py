"""What ``--fail-on-regression`` takes, and what becomes of a comparison that does not hold it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from lbctl.errors import ExitCode, LbctlError

if TYPE_CHECKING:
    from lbctl.stats.comparison import Comparison
    from lbctl.stats.regression import Limit


class Regressed(LbctlError):
    """The comparison is printed; something got worse by more than it may."""

    exit_code = ExitCode.CHECK_FAILED


def parse_limits_or_default(text: str) -> object:
    """Limits of ``--fail-on-regression``; of the option alone the default ones."""
    from lbctl.stats.regression import DEFAULT, parse_limits

    return parse_limits(DEFAULT if text == "on" else text)


def regressed(found: Comparison | None, limits: tuple[Limit, ...], note: Callable[[str], None]) -> Regressed | None:
    """The error of a comparison for which a limit does not hold; what cannot be judged is noted, and is none."""
    from lbctl.stats.regression import regressions, unjudged
    from lbctl.view.comparison import regression_sentence

    if found is None:
        if limits:
            note("warning: --fail-on-regression: there is nothing to compare")
        return None
    for label, limit, difference in unjudged(found, limits):
        note(f"warning: {limit.metric.name} of {label} cannot be judged: {difference.verdict}")
    sentences = [regression_sentence(each, found.base.label) for each in regressions(found, limits)]
    return Regressed("\n".join(sentences)) if sentences else None
