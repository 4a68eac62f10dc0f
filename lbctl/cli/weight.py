"""``lbctl weight``: weights in the registry, given or found by measurement; nobody's write is overwritten."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from lbctl.cli.options import with_settings
from lbctl.cli.request_options import RequestFlags
from lbctl.cli.settings import Settings
from lbctl.cli.weight_options import AutoFlags, RuleFlags, WriteFlags
from lbctl.cli.weight_values import parse_weighted
from lbctl.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lbctl.cli.weight_output import Printer
    from lbctl.commands.weight import Registered, Rewrite, Where, Wish
    from lbctl.etcd.config import EtcdConfig

SUMMARY = "change weights in the registry, also by measurement"
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
    "lbctl weight echo --auto",
    'lbctl weight echo --auto Echo/Say -d \'{"message": "hi"}\' --window 30s --apply',
    "lbctl weight echo --auto --every 60s --window 5m --apply -o jsonl",
    "lbctl weight echo --auto --from run.json --base 127.0.0.1:50061=5",
)
FORMATS = ("table", "wide", "json", "jsonl", "yaml")


@with_settings(outputs=FORMATS, layouts=True, headers=True, backends=True)
def weight(
    service: Annotated[str, typer.Argument(metavar="SERVICE", help="key prefix, or last part of a name")],
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ADDRESS=WEIGHT... | METHOD",
            help="an address, or a key, and its weight; with --auto the method to measure by",
            show_default=False,
        ),
    ] = None,
    *,
    write: WriteFlags,
    auto: AutoFlags,
    rule: RuleFlags,
    request: RequestFlags,
    settings: Settings,
) -> int:
    """Write weights of registered instances, or find them."""
    from lbctl.cli.weight_output import Printer

    if write.dry_run and (write.yes or auto.apply):
        raise UsageError(f"--dry-run and {'--apply' if auto.apply else '-y'} contradict each other")
    printer = Printer(settings)
    if auto.auto:
        from lbctl.cli.weight_auto import adjust

        return adjust(service, targets or (), auto, rule, request, settings, printer)
    _refuse_auto_options(auto, rule, request)
    wishes = _wishes(targets or ())
    if settings.read_only and not write.dry_run:
        raise read_only(settings)
    return _by_hand(service, wishes, write, settings, printer)


def read_only(settings: Settings) -> UsageError:
    """Say that nothing may be written, and since when."""
    return UsageError(
        f"{settings.origins.get('read_only', '--read-only')}: nothing is written to etcd", "use --dry-run"
    )


def _refuse_auto_options(auto: AutoFlags, rule: RuleFlags, request: RequestFlags) -> None:
    given = auto.only_auto
    if given is not None:
        raise UsageError(f"{given} is for --auto", "give --auto, or leave it out")
    if rule.any_given or request != RequestFlags():
        raise UsageError("options of the rule and of calls are for --auto", "give --auto, or leave them out")


def _wishes(targets: Sequence[str]) -> list[Wish]:
    from lbctl.commands.weight import Wish

    if not targets:
        raise UsageError("which weight? give ADDRESS=WEIGHT", "or let it be found: --auto")
    try:
        return [Wish(*parse_weighted(text)) for text in targets]
    except ValueError as error:
        raise UsageError(str(error)) from None


def _by_hand(service: str, wishes: Sequence[Wish], write: WriteFlags, settings: Settings, printer: Printer) -> int:
    import asyncio

    from lbctl.cli.registry import etcd_config
    from lbctl.clock import SystemClock
    from lbctl.commands.weight import Where, left_in_rotation, report

    config = etcd_config(settings)
    if not write.dry_run and not write.yes and not sys.stdin.isatty():
        raise UsageError("standard input is no terminal, so nobody can be asked", "give -y to write, or --dry-run")
    found, plan = asyncio.run(_prepared(config, Where(service, settings.prefix, settings.format), wishes))
    shown = report(found, plan, SystemClock().wall())
    changing = sum(each.changes for each in plan)
    if write.dry_run or not changing:
        printer.found(shown, many=False)
        return ExitCode.OK
    left = left_in_rotation(found, plan)
    if not left:
        printer.note(f"warning: no instance of {found.service.name} is left in the rotation")
    if not write.yes:
        printer.plan(shown)
        printer.note(f"{len(found.service.instances)} instances, {left} left in the rotation")
        if not printer.agreed(f"Write {'it' if changing == 1 else 'them'} for every client?"):
            printer.note("nothing was written")
            return ExitCode.CHECK_FAILED
    printer.written(shown, asyncio.run(_written(config, plan)))
    return ExitCode.OK


async def _prepared(config: EtcdConfig, where: Where, wishes: Sequence[Wish]) -> tuple[Registered, tuple[Rewrite, ...]]:
    from lbctl.commands.weight import planned, registered
    from lbctl.etcd.client import Etcd

    async with Etcd(config) as etcd:
        found = await registered(etcd, where)
    return found, planned(found, wishes)


async def _written(config: EtcdConfig, plan: Sequence[Rewrite]) -> int:
    from lbctl.commands.weight import write
    from lbctl.etcd.client import Etcd

    async with Etcd(config) as etcd:
        return await write(etcd, plan)
