"""Options of ``lbctl hammer`` that ``lbctl compare`` does not have: hidden, and refused with what to do instead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from lbctl.cli.flags import Flags
from lbctl.errors import UsageError


def _value(name: str) -> Any:  # noqa: ANN401 - typer's own type for it
    return typer.Option(name, metavar="VALUE", hidden=True)


def _switch(name: str) -> Any:  # noqa: ANN401 - typer's own type for it
    return typer.Option(name, hidden=True)


@dataclass(frozen=True, slots=True)
class UnservedFlags(Flags):
    """What a comparison of policies cannot do, or does in another way."""

    threshold: Annotated[list[str] | None, _value("--threshold")] = None
    policy_opt: Annotated[list[str] | None, _value("--policy-opt")] = None
    baseline: Annotated[list[str] | None, _value("--baseline")] = None
    find_max: Annotated[list[str] | None, _value("--find-max")] = None
    metrics: Annotated[str | None, _value("--metrics")] = None
    otlp: Annotated[str | None, _value("--otlp")] = None
    ci: Annotated[list[str] | None, typer.Option("--ci", metavar="[github|junit=FILE|auto]", hidden=True)] = None
    window: Annotated[str | None, _value("--window")] = None
    strict: Annotated[bool, _switch("--strict")] = False
    explain: Annotated[bool, _switch("--explain")] = False
    explain_call: Annotated[str | None, _value("--explain-call")] = None

    def refuse(self) -> None:
        """Raise UsageError for the first that was given."""
        for name, (why, instead) in _WHY.items():
            if getattr(self, name):
                raise UsageError(f"--{name.replace('_', '-')}: {why}", instead)


_ALONE: Final = "lbctl hammer has it, for one policy"
_WHY: Final[Mapping[str, tuple[str, str]]] = {
    "threshold": (
        "compare judges differences between policies, and no single run",
        "--fail-on-regression 'p99<10%' exits with 1 for a difference, --abort-on EXPR ends what gets too bad",
    ),
    "policy_opt": (
        "each policy has options of its own",
        "write them behind its name: --policy least_request,choice-count=3",
    ),
    "baseline": ("the first --policy is the baseline", "lbctl report --baseline compares saved runs"),
    "find_max": ("compare puts the same load on every policy, and searches none", _ALONE),
    "metrics": ("the runs of a comparison are served to nobody", f"{_ALONE}; -o jsonl tells of each run as it ends"),
    "otlp": ("the runs of a comparison are pushed to nobody", f"{_ALONE}; -o jsonl tells of each run as it ends"),
    "ci": ("compare makes no annotations", "its exit status is 1 by --fail-on-regression; -o json has the sentences"),
    "window": ("the live view of a comparison shows whole runs", _ALONE),
    "strict": ("compare does not judge how backends speak HTTP/2", _ALONE),
    "explain": ("compare explains no single pick", _ALONE),
    "explain_call": ("compare explains no single pick", _ALONE),
}
