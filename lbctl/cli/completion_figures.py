"""What expressions about figures begin with: those of thresholds, and those of regressions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from lbctl.cli.completion_sources import called, methods
from lbctl.cli.completion_values import Candidate, Typed, listed


def expressions(typed: Typed) -> Iterator[Candidate]:
    """Figures of a run, of its backends and of its methods; what they are compared with is free."""
    from lbctl.stats.metrics import names_of_backends, names_of_methods, names_of_runs

    kind, bracket, _ = typed.text.partition("[")
    if bracket:
        yield from _of_one(kind, typed)
        return
    yield from (Candidate(name, unit, more=True) for name, unit in names_of_runs())
    for begin, names in (("backend", names_of_backends()), ("method", names_of_methods())):
        yield from (Candidate(f"{begin}.{name}", unit, more=True) for name, unit in names)
        if typed.text:
            yield Candidate(f"{begin}[", f"one {begin}", more=True)


def _of_one(kind: str, typed: Typed) -> Iterator[Candidate]:
    """``backend[ADDRESS].FIGURE``, ``method[NAME].FIGURE``: which one, and then which figure."""
    from lbctl.stats.metrics import names_of_backends, names_of_methods

    begin, closed, _ = typed.text.rpartition("].")
    if closed:
        for name, unit in names_of_backends() if kind == "backend" else names_of_methods():
            yield Candidate(begin + closed + name, unit, more=True, shown=name)
    elif kind == "backend":
        yield from (Candidate(f"backend[{one}].", more=True) for one in called(typed))
    else:
        known = methods(typed.ending(typed.text.partition("[")[2]))
        yield from (Candidate(f"method[{one.text}].", more=True) for one in known)


def _metrics(typed: Typed) -> Iterator[Candidate]:
    from lbctl.stats.regression import judged

    yield from (Candidate(f"{name}<", f"the limit is in {unit}", more=True) for name, unit in judged())


limits: Final = listed(_metrics)
