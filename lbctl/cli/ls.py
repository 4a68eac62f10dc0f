"""``lbctl ls``: its options, and its result on standard output."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from lbctl.cli.arguments import AnyServiceArgument
from lbctl.cli.explaining import explain_key
from lbctl.cli.help import Command
from lbctl.cli.ls_options import Check, Everything, ExitZero, Expect, Explain, Follow, Label, Sort
from lbctl.cli.options import with_settings
from lbctl.cli.settings import Settings
from lbctl.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from lbctl.cli.ls_output import LsPrinter
    from lbctl.commands.ls import Ls
    from lbctl.discovery.listing import Listing
    from lbctl.etcd.config import EtcdConfig
    from lbctl.model import Endpoint, Instance
    from lbctl.rpc.access import Access
    from lbctl.suggestion import Again

ABOUT = """\
List the services that etcd knows, or the instances of one of them. An address that has several keys is one instance.

SERVICE is a full key prefix or the last part of a name. Health is checked by grpc.health.v1 where --check says so; by
default that is when one service is listed on a terminal."""
EXAMPLES = (
    "lbctl ls",
    "lbctl ls echo",
    "lbctl ls echo -l zone=az1 --sort rtt",
    "lbctl ls echo --check -o json",
    "lbctl ls echo -w",
    "lbctl ls echo --expect backends.txt",
    "lbctl ls --all",
    "lbctl ls --explain /services/echo/10.0.0.11:50051",
)
FORMATS = ("table", "wide", "json", "yaml", "csv", "name")


@with_settings(outputs=FORMATS, layouts=True, headers=True, backends=True)
def ls(
    service: AnyServiceArgument = None,
    label: Label = None,
    sort: Sort = None,
    check: Check = None,
    watch: Follow = False,
    expect: Expect = None,
    *,
    exit_zero: ExitZero = False,
    everything: Everything = False,
    explain: Explain = None,
    settings: Settings,
) -> int:
    """List services, or the instances of one service."""
    from lbctl.cli.ls_output import LsPrinter
    from lbctl.cli.registry import etcd_config
    from lbctl.cli.screens import caps_of
    from lbctl.cli.suggestions import again
    from lbctl.commands.ls import Ls

    same = again(settings)
    if explain is not None:
        _refuse_beside("--explain", service, watch=watch, everything=everything)
        return explain_key(explain, settings)
    _refuse_contradictions(service, sort, watch=watch, output=settings.output, again=same)
    if everything:
        _refuse_beside("--all", service, watch=watch, output=settings.output)
    caps, checked = caps_of(settings), _is_checked(service, check, settings)
    request = Ls(
        service=service,
        prefix=settings.prefix,
        layout=settings.layout,
        labels=tuple(label or ()),
        check=checked,
        check_timeout_s=settings.check_timeout_s,
        access_for=_access(settings) if checked else None,
        named_by=settings.service_from,
        everything=everything,
        expected=None if expect is None else _expected(expect, service, watch=watch, output=settings.output),
        again=same,
    )
    status = _list(etcd_config(settings), request, LsPrinter(settings, caps, same, sort or ""), watch=watch)
    return ExitCode.OK if exit_zero and status == ExitCode.CHECK_FAILED else status


def _is_checked(service: str | None, asked: bool | None, settings: Settings) -> bool:
    """Health is checked where it is asked for, or else for one service on a terminal."""
    wanted = next((each for each in (asked, settings.check) if each is not None), None)
    return service is not None and sys.stdout.isatty() if wanted is None else wanted


def _access(settings: Settings) -> Callable[[Instance], Access]:
    from lbctl.commands.reach import Reaching, ready_for

    return Reaching(settings.reach, ready_for(settings.reach)).access


def _expected(source: str, service: str | None, *, watch: bool, output: str | None) -> tuple[Endpoint, ...]:
    from lbctl.cli.expected import read_expected

    if service is None:
        raise UsageError("--expect needs a SERVICE", "say whose backends are expected")
    if watch:
        raise UsageError("--expect does not go with -w", "leave one of them out")
    if output in ("csv", "name"):
        raise UsageError(f"--expect has no output format {output!r}", "use one of: table, wide, json, yaml")
    return read_expected(source)


def _refuse_contradictions(
    service: str | None, sort: str | None, *, watch: bool, output: str | None, again: Again
) -> None:
    if sort is not None and service is None:
        raise UsageError("--sort needs a SERVICE", "without one, services are listed by name")
    if watch and output not in ("table", "wide"):
        follow = again.command("watch", service or "SERVICE", options=("-o", "jsonl"))
        raise UsageError(f"-w prints rows, not {output}", f"use -o table, or: {follow}")


def _refuse_beside(
    flag: str, service: str | None, *, watch: bool, everything: bool = False, output: str | None = None
) -> None:
    if service is not None:
        raise UsageError(f"{flag} goes with no SERVICE", "leave one of them out")
    if watch or everything:
        raise UsageError(f"{flag} does not go with {'-w' if watch else '--all'}", "leave one of them out")
    if output in ("csv", "name"):
        raise UsageError(f"{flag} has no output format {output!r}", "use one of: table, wide, json, yaml")


def _list(config: EtcdConfig, request: Ls, printer: LsPrinter, *, watch: bool) -> int:
    from lbctl.cli.loop import run_plain
    from lbctl.cli.reading_progress import reading
    from lbctl.commands.heard import Heard
    from lbctl.commands.ls import run
    from lbctl.commands.stopping import status_after
    from lbctl.etcd.client import Etcd

    async def listed(etcd: Etcd) -> Listing:
        with reading(quiet=printer.quiet) as tell:
            listing = await run(etcd, request, tell)
        printer.result(listing, request.service)
        return listing

    async def once() -> Listing:
        async with Etcd(config) as etcd:
            return await listed(etcd)

    async def for_ever() -> None:
        from lbctl.cli.listeners import while_read
        from lbctl.commands.ls_stream import stream

        async with Etcd(config) as etcd:
            await while_read(stream(etcd, await listed(etcd), request, printer.moment))

    async def until_stopped() -> int | None:
        with Heard() as heard:
            return await heard.during(for_ever())

    if watch:
        return status_after(run_plain(until_stopped()))
    expectation = run_plain(once()).expectation
    return ExitCode.OK if expectation is None or expectation.is_met else ExitCode.CHECK_FAILED


COMMAND = Command(ls, ABOUT, EXAMPLES)
