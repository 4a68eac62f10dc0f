"""``lbctl health``: its options, and what backends say on standard output."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final

from lbctl.cli.arguments import AnyServiceArgument
from lbctl.cli.check_options import backends_option, exit_zero_option, timeout_option
from lbctl.cli.completion_sources import grpc_services
from lbctl.cli.flags import Flags, option, switch
from lbctl.cli.help import Command
from lbctl.cli.options import with_settings
from lbctl.cli.printing import hidden_note, print_result
from lbctl.cli.settings import Settings
from lbctl.cli.values import parse_positive_duration
from lbctl.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from lbctl.commands.health import HealthCheck
    from lbctl.discovery.checkup import Checkup, Row
    from lbctl.view.caps import Caps

ABOUT = """\
Ask every backend of a service, or of all services, for its health by grpc.health.v1.

HEALTH is what it answers, SERVING or not, or why it does not: UNIMPLEMENTED without health checks, REFUSED, TIMEOUT,
TLS and so on. The exit status is 1 where a backend that clients pick does not serve; one without health checks counts
as serving unless --strict. With --watch every change is a row, by Health/Watch, or by a check every --interval where a
server has none; backends that join are followed too, until Ctrl-C."""
EXAMPLES = (
    "lbctl health",
    "lbctl health echo",
    "lbctl health echo --service demo.echo.v1.Echo -o json",
    "lbctl health echo --watch",
    "lbctl health --backends 127.0.0.1:50051,127.0.0.1:50052 --strict",
)
FORMATS = ("table", "wide", "json", "yaml", "csv", "name")
_PANEL: Final = "Health"


@dataclass(frozen=True, slots=True)
class HealthFlags(Flags):
    """What is asked, for how long, and what counts as health."""

    asked: Annotated[
        str | None,
        option(
            "--service",
            text="the gRPC service to ask about (default: the server)",
            metavar="NAME",
            panel=_PANEL,
            completes=grpc_services,
        ),
    ] = None
    timeout: Annotated[float | None, timeout_option(_PANEL)] = None
    watch: Annotated[bool, switch("--watch", text="print every change, for ever", panel=_PANEL)] = False
    interval: Annotated[
        float | None,
        option(
            "--interval",
            text="between two checks, where a server has no Watch (default 1s)",
            metavar="TIME",
            panel=_PANEL,
            parse=parse_positive_duration,
        ),
    ] = None
    strict: Annotated[bool, switch("--strict", text="without health checks a backend fails", panel=_PANEL)] = False
    exit_zero: Annotated[bool, exit_zero_option(_PANEL)] = False
    backends: Annotated[Any, backends_option(_PANEL, "ask these instead of those in etcd")] = None


@with_settings(outputs=FORMATS, layouts=True, headers=True, backends=True)
def health(
    service: AnyServiceArgument = None,
    *,
    flags: HealthFlags,
    settings: Settings,
) -> int:
    """Ask backends for their health."""
    _refuse_contradictions(service, flags, settings)
    request = _request(service, flags, settings)
    if flags.watch:
        return _watch(request, settings)
    return ExitCode.OK if _check(request, settings) or flags.exit_zero else ExitCode.CHECK_FAILED


def _refuse_contradictions(service: str | None, flags: HealthFlags, settings: Settings) -> None:
    from lbctl.cli.suggestions import again

    if flags.backends is not None and service is not None:
        raise UsageError("--backends goes with no SERVICE", "leave one of them out")
    if flags.watch and settings.output not in ("table", "wide"):
        follow = again(settings).command("watch", service or "SERVICE", options=("-o", "jsonl"))
        raise UsageError(f"--watch prints rows, not {settings.output}", f"use -o table, or: {follow}")
    if flags.interval is not None and not flags.watch:
        raise UsageError("--interval is for --watch", "leave it out, or give --watch too")


def _request(service: str | None, flags: HealthFlags, settings: Settings) -> HealthCheck:
    from lbctl.cli.hammer_request import given
    from lbctl.cli.suggestions import again
    from lbctl.commands.health import HealthCheck
    from lbctl.commands.ls import Ls
    from lbctl.commands.reach import Reaching, ready_for

    same = again(settings)
    reaching = Reaching(settings.reach, ready_for(settings.reach), discovered=flags.backends is None)
    return HealthCheck(
        which=Ls(service, settings.prefix, settings.layout, named_by=settings.service_from, again=same),
        access_for=reaching.access,
        asked=flags.asked or "",
        timeout_s=flags.timeout or settings.check_timeout_s,
        interval_s=flags.interval or settings.check_interval_s,
        strict=flags.strict,
        given=given("backends", flags.backends or ()),
        again=same,
    )


def _check(request: HealthCheck, settings: Settings) -> bool:
    """Ask once and print; whether all is well."""
    from contextlib import AsyncExitStack

    from lbctl.cli.loop import run_plain
    from lbctl.cli.registry import etcd_config
    from lbctl.cli.screens import caps_of
    from lbctl.commands.health import run
    from lbctl.etcd.client import Etcd

    async def work() -> Checkup:
        async with AsyncExitStack() as owned:
            direct = bool(request.given)
            etcd = None if direct else await owned.enter_async_context(Etcd(etcd_config(settings)))
            return await run(etcd, request)

    found = run_plain(work())
    one = request.which.service is not None or bool(request.given)
    _print(found, settings, caps_of(settings), one=one)
    return found.healthy


def _print(found: Checkup, settings: Settings, caps: Caps, *, one: bool) -> None:
    from lbctl.view.health import health_notes
    from lbctl.view.listing_notes import no_services

    notes = list(health_notes(found))
    if not found.rows:
        notes.append(no_services([str(each) for each in settings.endpoints], settings.prefix))
    text, hidden = _text(found, settings, caps, one=one)
    print_result(text, [*notes, *hidden_note(hidden)], settings)


def _text(found: Checkup, settings: Settings, caps: Caps, *, one: bool) -> tuple[str, list[str]]:
    """The result in the format asked for, and the columns that had no room."""
    from lbctl.view import output
    from lbctl.view.health import health_csv, health_document, health_names, health_table
    from lbctl.view.services import Look

    match settings.output:
        case "json":
            return output.as_json(health_document(found)), []
        case "yaml":
            return output.as_yaml(health_document(found)), []
        case "csv":
            return health_csv(found, headers=not settings.no_headers), []
        case "name":
            return health_names(found), []
    if not found.rows:
        return "", []
    wide = settings.output == "wide"
    look = Look(caps.out_style, caps.out_glyphs, None if wide else caps.out_width, headers=not settings.no_headers)
    table = health_table(found, look, one=one, wide=wide)
    return "\n".join(table.lines), table.hidden


def _watch(request: HealthCheck, settings: Settings) -> int:
    """Print changes until a signal; that is its normal end."""
    import asyncio
    from contextlib import AsyncExitStack
    from random import Random

    from lbctl.cli.listeners import while_read
    from lbctl.cli.registry import etcd_config
    from lbctl.cli.screens import caps_of
    from lbctl.clock import SystemClock
    from lbctl.commands.health import watch
    from lbctl.commands.stopping import status_after
    from lbctl.etcd.client import Etcd
    from lbctl.view.health import health_row

    style = caps_of(settings).out_style

    def show(row: Row) -> None:
        print(health_row(row, SystemClock().wall().astimezone(), style), flush=True)  # noqa: T201

    def note(line: str) -> None:
        if not settings.quiet:
            print(f"note: {line}", file=sys.stderr, flush=True)  # noqa: T201

    async def work() -> int | None:
        async with AsyncExitStack() as owned:
            direct = bool(request.given)
            etcd = None if direct else await owned.enter_async_context(Etcd(etcd_config(settings)))
            return await while_read(watch(etcd, request, Random(), show, note))

    return status_after(asyncio.run(work()))


COMMAND = Command(health, ABOUT, EXAMPLES)
