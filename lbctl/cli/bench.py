"""``lbctl bench policies``: what picks cost, measured on this machine."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Self

from lbctl.cli.completion_values import free, words
from lbctl.cli.flags import Flags, argument, one_of, option
from lbctl.cli.help import Command
from lbctl.cli.options import with_settings
from lbctl.cli.policy_options import policies
from lbctl.cli.settings import Settings
from lbctl.cli.values import parse_count
from lbctl.errors import UsageError

if TYPE_CHECKING:
    from lbctl.balance.policies.base import Policy
    from lbctl.commands.bench import Bench, Cost, Strategy

ABOUT = """\
Measure what a call costs a policy, by number of backends: the pick, what is learnt when the call ends, the time to
build a picker, and the memory it keeps. Keys are new with every call; AGAIN is a pick with a key that was picked
before. The budget is that of a pick. It takes about half a minute."""
EXAMPLES = (
    "lbctl bench policies",
    "lbctl bench policies smooth_wrr weighted_random",
    "lbctl bench policies maglev --backends 10,1000 --weights skewed -o json",
)
FORMATS = ("table", "json", "yaml", "csv")
_MOST = 100_000
_FLEETS = "Fleets"


def _sizes(text: str) -> tuple[int, ...]:
    sizes = tuple(parse_count(part) for part in text.split(","))
    if max(sizes) > _MOST:
        raise ValueError(f"{text!r}: more than {_MOST:,} backends")
    return sizes


@dataclass(frozen=True, slots=True)
class BenchFlags(Flags):
    """The fleets that are measured."""

    backends: Annotated[  # parsed: typer has no name for what a parser returns
        Any,
        option(
            "--backends",
            text="how many, comma-separated (default 3,10,50,100,1000)",
            metavar="LIST",
            panel=_FLEETS,
            parse=_sizes,
            completes=free,
        ),
    ] = None
    weights: Annotated[
        str | None,
        option(
            "--weights",
            text="uniform: 1 to 100 by chance; skewed: 1, and 100 for every tenth (default: both)",
            metavar="KIND",
            panel=_FLEETS,
            parse=one_of("uniform", "skewed"),
        ),
    ] = None


@with_settings(registry=False, outputs=FORMATS, headers=True)
def bench(
    what: Annotated[str, argument(metavar="policies", text="what to measure", completes=words("policies"))],
    names: Annotated[list[str] | None, argument(metavar="NAME", text="only these policies", completes=policies)] = None,
    *,
    measure: BenchFlags,
    settings: Settings,
) -> int:
    """Measure what picks cost."""
    from lbctl.commands.bench import SIZES, WEIGHTS, Bench

    if what != "policies":
        raise UsageError(f"bench measures policies, not {what!r}", "lbctl bench policies [NAME...]")
    wanted = Bench(_chosen(names or []), measure.backends or SIZES, (measure.weights,) if measure.weights else WEIGHTS)
    print(_measured(wanted, settings), flush=True)  # noqa: T201
    return 0


def _chosen(names: list[str]) -> list[Policy]:
    from lbctl.balance.guide import known
    from lbctl.balance.policies.table import POLICIES

    chosen = [known(name) for name in names] if names else list(POLICIES.values())
    for policy in chosen:
        if policy.name not in POLICIES:
            raise UsageError(f"{policy.name} is gRPC's own balancer: its picks cannot be timed from here")
    return list(dict.fromkeys(chosen))


def _measured(wanted: Bench, settings: Settings) -> str:
    from lbctl.commands.bench import article, measured
    from lbctl.view import output
    from lbctl.view.bench import bench_csv, bench_document

    forms: list[tuple[Strategy, Cost]] = []
    by_name = {policy.name: policy for policy in wanted.policies}
    with _Progress(len(wanted), quiet=settings.quiet) as progress:
        costs = [progress.counted(cost) for cost in measured(wanted)]
        if "weighted_random" in by_name and settings.output == "table":
            forms = list(article(by_name["weighted_random"]))
    match settings.output:
        case "json":
            return output.as_json(bench_document(costs))
        case "yaml":
            return output.as_yaml(bench_document(costs))
        case "csv":
            return bench_csv(costs, headers=not settings.no_headers)
    return _tables(costs, forms, settings)


def _tables(costs: list[Cost], forms: list[tuple[Strategy, Cost]], settings: Settings) -> str:
    from lbctl.cli.screens import caps_of
    from lbctl.view.bench import article_table, costs_table
    from lbctl.view.services import Look

    caps = caps_of(settings)
    look = Look(caps.out_style, caps.out_glyphs, caps.out_width, headers=not settings.no_headers)
    tables = [costs_table(costs, look), *([article_table(forms, look)] if forms else [])]
    return "\n\n".join("\n".join(table.lines) for table in tables)


class _Progress:
    """One line on a terminal's standard error that says how far it is, gone afterwards; nothing elsewhere."""

    def __init__(self, total: int, *, quiet: bool) -> None:
        self._total = total
        self._done = 0
        self._shown = not quiet and sys.stderr.isatty()
        self._width = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown:
            print(f"\r{' ' * self._width}\r", end="", file=sys.stderr, flush=True)  # noqa: T201

    def counted(self, cost: Cost) -> Cost:
        self._done += 1
        if self._shown:
            text = f"{self._done}/{self._total} {cost.policy}"
            print(f"\r{text.ljust(self._width)}", end="", file=sys.stderr, flush=True)  # noqa: T201
            self._width = len(text)
        return cost


COMMAND = Command(bench, ABOUT, EXAMPLES)
