"""``lbctl weight``: weights in the registry, given or found by measurement; nobody's write is overwritten."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from lbctl.cli.arguments import ServiceArgument
from lbctl.cli.completion_sources import weights_or_method
from lbctl.cli.flags import argument
from lbctl.cli.help import Command
from lbctl.cli.options import with_settings
from lbctl.cli.request_options import RequestFlags
from lbctl.cli.schema_options import SchemaFlags
from lbctl.cli.settings import Settings
from lbctl.cli.weight_options import AutoFlags, RevertFlags, RuleFlags, WriteFlags
from lbctl.cli.weight_values import parse_weighted
from lbctl.cli.writing import FORMATS, refuse_unasked, settle
from lbctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lbctl.cli.weight_output import WeightPrinter
    from lbctl.commands.weight import Wish

ABOUT = """\
Write weights of registered instances, for every client: lbctl weight SERVICE ADDRESS=WEIGHT ...

A key is only written while it is as it was read, all of them at once, and keeps its lease. On a terminal you are asked
first; elsewhere -y is needed. 0 keeps an instance listed and never picked. An instance that registers again writes its
own weight.

With --auto the weights are found: SERVICE --auto [METHOD] calls every instance for a --window, the health check if no
METHOD is given. Too many errors halve a weight and hardly any double it, then high latency takes 1 and low latency adds
1, from the base weight each time. What is found is shown; --apply writes it; --every goes on. Calls have 5s unless -t
says otherwise."""
EXAMPLES = (
    "lbctl weight echo 127.0.0.1:50061=3 127.0.0.1:50062=1 --dry-run",
    "lbctl weight echo 127.0.0.1:50061=3 -y",
    "lbctl weight echo 127.0.0.1:50061=1 -y --revert-after 5m",
    "lbctl weight echo --auto",
    'lbctl weight echo --auto Echo/Say -d \'{"message": "hi"}\' --apply',
    "lbctl weight echo --auto --every 60s --window 5m --apply -o jsonl",
    "lbctl weight echo --auto --from run.json --base 127.0.0.1:50061=5",
)


@with_settings(outputs=FORMATS, layouts=True, headers=True, backends=True)
def weight(
    service: ServiceArgument,
    targets: Annotated[
        list[str] | None,
        argument(
            metavar="ADDRESS=WEIGHT... | METHOD",
            text="an address, or a key, and its weight; with --auto the method to measure by",
            completes=weights_or_method,
        ),
    ] = None,
    *,
    write: WriteFlags,
    revert: RevertFlags,
    auto: AutoFlags,
    rule: RuleFlags,
    request: RequestFlags,
    schema: SchemaFlags,
    settings: Settings,
) -> int:
    """Write weights of registered instances, or find them."""
    from lbctl.cli.weight_output import WeightPrinter

    if write.dry_run and auto.apply:
        raise UsageError("--dry-run and --apply contradict each other")
    printer = WeightPrinter(settings)
    if auto.auto:
        from lbctl.cli.weight_auto import Calls, adjust

        if write.dry_run and write.yes:
            raise UsageError("--dry-run and -y contradict each other")
        if revert.revert_after is not None:
            raise UsageError("--revert-after is for weights that are given", "leave it out, or --auto")
        return adjust(service, targets or (), auto, rule, Calls(request, schema), settings, printer)
    _refuse_auto_options(auto, rule, given=request != RequestFlags() or schema != SchemaFlags())
    wishes = _wishes(targets or ())
    refuse_unasked(write, settings)
    return _by_hand(service, wishes, write, revert, settings, printer)


def _refuse_auto_options(auto: AutoFlags, rule: RuleFlags, *, given: bool) -> None:
    """Raise UsageError for options of --auto; ``given`` says whether those of calls are there."""
    only = auto.only_auto
    if only is not None:
        raise UsageError(f"{only} is for --auto", "give --auto, or leave it out")
    if rule.any_given or given:
        raise UsageError("options of the rule and of calls are for --auto", "give --auto, or leave them out")


def _wishes(targets: Sequence[str]) -> list[Wish]:
    from lbctl.commands.weight import Wish

    if not targets:
        raise UsageError("which weight? give ADDRESS=WEIGHT", "or let it be found: --auto")
    try:
        return [Wish(*parse_weighted(text)) for text in targets]
    except ValueError as error:
        raise UsageError(str(error)) from None


def _by_hand(
    service: str,
    wishes: Sequence[Wish],
    write: WriteFlags,
    revert: RevertFlags,
    settings: Settings,
    printer: WeightPrinter,
) -> int:
    from lbctl.cli.rotation import Turn, offered
    from lbctl.commands.turning import weighing
    from lbctl.discovery.weight_report import WEIGHT

    turn = Turn(
        plan=lambda etcd, found: weighing(etcd, found, wishes),
        action=WEIGHT,
        ask=lambda count: f"Write {'it' if count == 1 else 'them'}",
        note=printer.note,
        back_after_s=revert.revert_after,
    )
    return settle(offered(service, turn, settings), write, printer)


COMMAND = Command(weight, ABOUT, EXAMPLES)
