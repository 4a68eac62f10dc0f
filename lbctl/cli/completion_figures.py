"""What expressions about figures begin with: those of thresholds, and those of regressions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from lbctl.cli.completion_values import Candidate, Typed, listed


def expressions(typed: Typed) -> Iterator[Candidate]:
    """Figures of a run, of its backends and of its methods; what they are compared with is free."""
    from lbctl.stats.metrics import names_of_backends, names_of_methods, names_of_runs

    yield from (Candidate(name, unit, more=True) for name, unit in names_of_runs())
    for begin, names in (("backend.", names_of_backends()), ("method.", names_of_methods())):
        yield from (Candidate(begin + name, unit, more=True) for name, unit in names)


def _metrics(typed: Typed) -> Iterator[Candidate]:
    from lbctl.stats.regression import judged

    yield from (Candidate(f"{name}<", f"the limit is in {unit}", more=True) for name, unit in judged())


limits: Final = listed(_metrics)
