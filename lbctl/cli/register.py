"""``lbctl register``: an instance registered under a lease, for as long as lbctl or a command runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Final

from lbctl.cli.arguments import parse_service
from lbctl.cli.completion_sources import labels, services
from lbctl.cli.completion_values import command_line, free
from lbctl.cli.flags import Flags, argument, option, switch
from lbctl.cli.help import Command
from lbctl.cli.layouts import WRITERS
from lbctl.cli.lease_values import parse_ttl
from lbctl.cli.options import with_settings
from lbctl.cli.settings import Settings
from lbctl.cli.values import parse_positive_duration
from lbctl.cli.weight_options import WriteFlags
from lbctl.cli.weight_values import parse_weight
from lbctl.cli.writing import FORMATS, read_only
from lbctl.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from lbctl.cli.change_output import ChangePrinter
    from lbctl.commands.register import Found, Register, Stands
    from lbctl.discovery.change_report import ChangeReport
    from lbctl.discovery.codecs.registration import Wanted
    from lbctl.etcd.config import EtcdConfig
    from lbctl.model import Endpoint

ABOUT = f"""\
Register an instance under a lease, and keep the lease alive until Ctrl-C, or until COMMAND ends; then deregister it.

COMMAND runs while the instance is registered, on this terminal; its exit status is that of lbctl. Where it is the
server give --wait, and it is registered when it takes connections. A signal deregisters first, and then goes on to
COMMAND. An outage of etcd of any length is survived: where the lease is lost meanwhile the instance is registered anew,
and a key that somebody deletes is put back. What the key holds already is not overwritten without asking; -y answers
yes.

--layout names the layout: {", ".join(WRITERS)} (default seed). --prefix is what the key starts with, instead of the
layout's own."""
EXAMPLES = (
    "lbctl register echo 127.0.0.1:50061 --weight 3",
    "lbctl register echo 10.0.0.11:50051 --ttl 5s --wait 30s -- ./server",
    "lbctl register echo 10.0.0.11:50051 --layout kratos --metadata zone=a",
    "lbctl register echo 127.0.0.1:50061 --once --ttl 60s",
    "lbctl register echo 127.0.0.1:50061 --dry-run",
)
DEFAULT_LAYOUT: Final = "seed"
DEFAULT_TTL_S: Final = 10
_HOW: Final = "The registration"


def parse_pair(text: str) -> tuple[str, str]:
    """``name=value``; raises ValueError."""
    name, found, value = text.partition("=")
    if not found or not name:
        raise ValueError(f"{text!r} is not NAME=VALUE (for example zone=a)")
    return name, value


@dataclass(frozen=True, slots=True)
class RegisterFlags(Flags):
    """What is registered, and for how long."""

    weight: Annotated[
        int | None,
        option(
            "--weight",
            text="weight, where the layout has one (default: what the layout's own writer takes, 1 in seed)",
            metavar="N",
            panel=_HOW,
            parse=parse_weight,
        ),
    ] = None
    metadata: Annotated[  # parsed: typer has no name for what a parser returns
        list[Any] | None,
        option(
            "--metadata",
            text="metadata, where the layout has a place for it; may be repeated",
            metavar="NAME=VALUE",
            panel=_HOW,
            parse=parse_pair,
            completes=labels,
        ),
    ] = None
    ttl: Annotated[
        int | None,
        option(
            "--ttl",
            text="how long the key outlives lbctl when that is killed, in whole seconds (default 10s)",
            metavar="TIME",
            panel=_HOW,
            parse=parse_ttl,
        ),
    ] = None
    wait: Annotated[
        float | None,
        option(
            "--wait",
            text="start COMMAND first, and register when ADDRESS takes connections; give up after this long",
            metavar="TIME",
            panel=_HOW,
            parse=parse_positive_duration,
        ),
    ] = None
    once: Annotated[
        bool, switch("--once", text="register and leave: the key goes when the --ttl is over", panel=_HOW)
    ] = False
    no_lease: Annotated[
        bool, switch("--no-lease", text="a key that stays until it is deleted, at the end or by hand", panel=_HOW)
    ] = False


@with_settings(outputs=FORMATS, layouts=True, names=False, headers=True)
def register(
    service: Annotated[
        str, argument(metavar="SERVICE", text="the service's name", parse=parse_service, completes=services)
    ],
    address: Annotated[str, argument(metavar="ADDRESS", text="host:port, as clients dial it", completes=free)],
    command: Annotated[
        list[str] | None,
        argument(metavar="-- COMMAND", text="run this while it is registered", completes=command_line),
    ] = None,
    *,
    how: RegisterFlags,
    write: WriteFlags,
    settings: Settings,
) -> int:
    """Register an instance and keep it registered."""
    import asyncio

    from lbctl.cli.change_output import ChangePrinter
    from lbctl.cli.loop import run_plain
    from lbctl.cli.registry import etcd_config
    from lbctl.cli.suggestions import again
    from lbctl.clock import SystemClock
    from lbctl.commands.register import report

    request = _request(service, address, how, command or (), settings)
    _refuse_contradictions(how, command or (), write, settings)
    printer = ChangePrinter(settings)
    config = etcd_config(settings)
    found = run_plain(_looked(config, request))
    shown = report(request, found, SystemClock().wall())
    if write.dry_run:
        printer.found(shown)
        return ExitCode.OK
    if (
        found.there is not None
        and not write.yes
        and not _agreed(printer, shown, again(settings).command("ls", service), can_ask=settings.can_ask())
    ):
        return ExitCode.CHECK_FAILED
    if how.once:
        printer.found(asyncio.run(_once(config, request, found, shown)))
        return ExitCode.OK
    return asyncio.run(_run(config, request, found, printer))


def _request(service: str, address: str, how: RegisterFlags, command: Sequence[str], settings: Settings) -> Register:
    from lbctl.commands.register import Register
    from lbctl.discovery.codecs.registration import Wanted
    from lbctl.discovery.directory import normal_prefix

    layout = settings.layout or DEFAULT_LAYOUT
    if layout not in WRITERS:
        raise UsageError(f"lbctl does not register in the layout {layout}", f"use one of: {', '.join(WRITERS)}")
    wanted = Wanted(service, _endpoint(address), how.weight, _metadata(how), normal_prefix(settings.prefix))
    _check(layout, wanted, how)
    ttl_s = None if how.no_lease else how.ttl or DEFAULT_TTL_S
    return Register(layout, wanted, ttl_s, tuple(command), how.wait)


def _endpoint(address: str) -> Endpoint:
    from lbctl.discovery.address import parse_address
    from lbctl.discovery.flaws import Unusable

    try:
        return parse_address(address)
    except Unusable as flaw:
        raise UsageError(f"{address!r} is no address to register: {flaw.reason}", "give host:port") from None


def _metadata(how: RegisterFlags) -> dict[str, str]:
    pairs: list[tuple[str, str]] = how.metadata or []
    names = [name for name, _ in pairs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"--metadata: {twice} is given twice")
    if "weight" in names:
        raise UsageError("--metadata: weight has an option of its own", "give --weight")
    return dict(pairs)


def _check(layout: str, wanted: Wanted, how: RegisterFlags) -> None:
    from lbctl.discovery.flaws import Unusable
    from lbctl.discovery.registering import preview

    try:
        coming = preview(layout, wanted)
    except Unusable as flaw:
        raise UsageError(flaw.reason, "nothing was written") from None
    if coming.named_by_lease and how.no_lease:
        raise UsageError(f"--no-lease: a key of the layout {layout} is named by its lease", "leave --no-lease out")


def _refuse_contradictions(how: RegisterFlags, command: Sequence[str], write: WriteFlags, settings: Settings) -> None:
    if how.once and command:
        raise UsageError("--once leaves at once, and a command is to be run meanwhile", "leave one of them out")
    if how.wait is not None and not command:
        raise UsageError("--wait is for a command, and there is none", "give one after --, or leave it out")
    if how.no_lease and how.ttl is not None:
        raise UsageError("--ttl is that of a lease, and --no-lease wants none", "leave one of them out")
    if write.dry_run and write.yes:
        raise UsageError("--dry-run and -y contradict each other")
    if settings.read_only and not write.dry_run:
        raise read_only(settings)


def _agreed(printer: ChangePrinter, shown: ChangeReport, look: str, *, can_ask: bool) -> bool:
    """Whether a key that is there may be taken over; ``look`` is a command that shows it."""
    from lbctl.redaction import masked_text

    (row,) = shown.rows
    if not can_ask:
        raise UsageError(
            f"{masked_text(row.key)} is registered already: {masked_text(row.value or '')}",
            f"-y takes it over; {look} shows its lease",
        )
    printer.plan(shown)
    if printer.agreed("It is registered already. Take it over?"):
        return True
    printer.note("nothing was written")
    return False


async def _looked(config: EtcdConfig, request: Register) -> Found:
    from lbctl.commands.register import look
    from lbctl.etcd.client import Etcd

    async with Etcd(config) as etcd:
        return await look(etcd, request)


async def _once(config: EtcdConfig, request: Register, found: Found, shown: ChangeReport) -> ChangeReport:
    from lbctl.commands.register import once
    from lbctl.discovery.weight_report import WRITTEN
    from lbctl.etcd.client import Etcd

    async with Etcd(config) as etcd:
        stands, revision = await once(etcd, request, found.read_at)
    row = replace(shown.rows[0], key=stands.key, lease=stands.lease, new_value=stands.value)
    return replace(shown, state=WRITTEN, revision=revision, rows=(row,))


async def _run(config: EtcdConfig, request: Register, found: Found, printer: ChangePrinter) -> int:
    from lbctl.clock import SystemClock
    from lbctl.commands.register import Talk, run
    from lbctl.etcd.client import Etcd

    clock = SystemClock()

    def note(line: str) -> None:
        printer.note(f"{clock.wall().astimezone():%H:%M:%S}  {line}")

    def stands(what: Stands) -> None:
        printer.note(_told(what, request))

    async with Etcd(config) as etcd:
        return await run(etcd, request, found.read_at, Talk(stands, note))


def _told(stands: Stands, request: Register) -> str:
    from lbctl.redaction import masked_text

    lease = "without a lease" if request.ttl_s is None else f"under lease {stands.lease:x} of {request.ttl_s}s"
    until = "until the command ends" if request.command else "until Ctrl-C"
    return f"registered {masked_text(stands.key)} -> {masked_text(stands.value)} {lease}, {until}"


COMMAND = Command(register, ABOUT, EXAMPLES)
