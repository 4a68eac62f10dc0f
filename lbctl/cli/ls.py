"""``lbctl ls``: its options, and its result on standard output."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lbctl.cli.explaining import explain_key
from lbctl.cli.options import with_settings
from lbctl.cli.settings import Settings
from lbctl.cli.values import option_parser, parse_label
from lbctl.errors import UsageError

if TYPE_CHECKING:
    from lbctl.commands.ls import Ls, Moment
    from lbctl.discovery.listing import Listing, Rest
    from lbctl.etcd.config import EtcdConfig
    from lbctl.view.caps import Caps
    from lbctl.view.plain_table import Rendered
    from lbctl.view.services import Look

SUMMARY = "services in etcd, or the instances of one service"
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
    "lbctl ls --all",
    "lbctl ls --explain /services/echo/10.0.0.11:50051",
)
FORMATS = ("table", "wide", "json", "yaml", "csv", "name")
SORTS = ("address", "weight", "share", "health", "rtt", "ttl", "created")


def _sort(text: str) -> str:
    if text not in SORTS:
        raise ValueError(f"{text!r} is not a column to sort by (use one of {', '.join(SORTS)})")
    return text


@with_settings(outputs=FORMATS, layouts=True, headers=True, backends=True)
def ls(
    service: Annotated[str | None, typer.Argument(metavar="SERVICE", show_default=False)] = None,
    label: Annotated[
        list[Any] | None,
        typer.Option(
            "-l",
            "--label",
            parser=option_parser(parse_label),
            metavar="KEY=VALUE",
            help="only instances whose metadata has this; may be repeated",
            show_default=False,
        ),
    ] = None,
    sort: Annotated[
        str | None,
        typer.Option(
            "--sort",
            parser=option_parser(_sort),
            metavar="COLUMN",
            help=f"{', '.join(SORTS)} (default: key order)",
            show_default=False,
        ),
    ] = None,
    check: Annotated[
        bool | None,
        typer.Option("--check/--no-check", help="ask every instance for its health", show_default=False),
    ] = None,
    watch: Annotated[
        bool, typer.Option("-w", "--watch", help="then print a row for every change, for ever", show_default=False)
    ] = False,
    *,
    everything: Annotated[
        bool,
        typer.Option("--all", help="also what may be a service, and every key that is none", show_default=False),
    ] = False,
    explain: Annotated[
        str | None,
        typer.Option(
            "--explain",
            metavar="KEY",
            help="tell which layouts were tried on this key, and why they do not have it",
            show_default=False,
        ),
    ] = None,
    settings: Settings,
) -> int:
    """List services, or the instances of one service."""
    from lbctl.cli.registry import etcd_config
    from lbctl.cli.screens import caps_of
    from lbctl.commands.ls import Ls
    from lbctl.commands.reach import Reaching, ready_for

    if explain is not None:
        _refuse_beside("--explain", service, watch=watch, everything=everything)
        return explain_key(explain, settings)
    _refuse_contradictions(service, sort, watch=watch, output=settings.output)
    if everything:
        _refuse_beside("--all", service, watch=watch, output=settings.output)
    caps = caps_of(settings)
    wanted = next((each for each in (check, settings.check) if each is not None), None)
    if wanted is None:
        wanted = service is not None and sys.stdout.isatty()
    access_for = Reaching(settings.reach, ready_for(settings.reach)).access if wanted else None
    request = Ls(
        service=service,
        prefix=settings.prefix,
        layout=settings.layout,
        labels=tuple(label or ()),
        check=wanted,
        check_timeout_s=settings.check_timeout_s,
        access_for=access_for,
        named_by=settings.service_from,
        everything=everything,
    )
    return _list(etcd_config(settings), request, _Printer(settings, caps, sort or ""), watch=watch)


def _refuse_contradictions(service: str | None, sort: str | None, *, watch: bool, output: str | None) -> None:
    if sort is not None and service is None:
        raise UsageError("--sort needs a SERVICE", "without one, services are listed by name")
    if watch and output not in ("table", "wide"):
        raise UsageError(f"-w prints rows, not {output}", "use -o table, or: lbctl watch SERVICE -o jsonl")


def _refuse_beside(
    flag: str, service: str | None, *, watch: bool, everything: bool = False, output: str | None = None
) -> None:
    if service is not None:
        raise UsageError(f"{flag} goes with no SERVICE", "leave one of them out")
    if watch or everything:
        raise UsageError(f"{flag} does not go with {'-w' if watch else '--all'}", "leave one of them out")
    if output in ("csv", "name"):
        raise UsageError(f"{flag} has no output format {output!r}", "use one of: table, wide, json, yaml")


def _list(config: EtcdConfig, request: Ls, printer: _Printer, *, watch: bool) -> int:
    import asyncio

    from lbctl.cli.listeners import while_read
    from lbctl.cli.reading_progress import reading
    from lbctl.commands.ls import run, stream
    from lbctl.etcd.client import Etcd

    async def work() -> None:
        async with Etcd(config) as etcd:
            with reading(quiet=printer.quiet) as tell:
                listing = await run(etcd, request, tell)
            printer.result(listing, one=request.service is not None)
            if watch:
                await while_read(stream(etcd, listing, request, printer.moment))

    try:
        asyncio.run(work())
    except KeyboardInterrupt:
        if not watch:
            raise
    return 0


class _Printer:
    """Standard output for the result, standard error for what is said about it."""

    def __init__(self, settings: Settings, caps: Caps, sort: str) -> None:
        self._settings = settings
        self._caps = caps
        self._sort = sort
        self._hidden: list[str] = []
        self.quiet = settings.quiet

    def result(self, listing: Listing, *, one: bool) -> None:
        """Print the listing in the format asked for; ``one`` for the instances of one service."""
        text = self._text(listing, one=one)
        if text:
            print(text, flush=True)  # noqa: T201
        from lbctl.view.listing_notes import notes

        for line in notes(listing, one=one, endpoints=[str(each) for each in self._settings.endpoints]):
            self._note(line)
        if self._hidden:
            self._note(f"hidden: {', '.join(self._hidden)} (use -o wide)")

    def moment(self, moment: Moment) -> None:
        """Print a row for every change."""
        from lbctl.view.change_rows import change_rows

        if moment.notice:
            self._note(f"note: {moment.notice}")
        for row in change_rows(moment.changes, moment.shares, moment.revision, self._caps.out_style):
            print(row, flush=True)  # noqa: T201

    def _text(self, listing: Listing, *, one: bool) -> str:
        from lbctl.view import output
        from lbctl.view.document import services_document

        headers = not self._settings.no_headers
        match self._settings.output:
            case "json":
                return output.as_json(services_document(listing))
            case "yaml":
                return output.as_yaml(services_document(listing))
            case "csv":
                return output.listing_csv(listing, headers=headers)
            case "name":
                return output.listing_names(listing, instances=one)
        return self._tables(listing, one=one)

    def _tables(self, listing: Listing, *, one: bool) -> str:
        from lbctl.view.services import Look, instances_table, invalid_table, services_table

        wide = self._settings.output == "wide"
        look = Look(
            self._caps.out_style,
            self._caps.out_glyphs,
            None if wide else self._caps.out_width,
            headers=not self._settings.no_headers,
        )
        services, invalid = listing.registry.services, listing.registry.invalid
        tables = []
        if one and services[0].instances:
            tables.append(instances_table(listing, services[0], look, wide=wide, sort=self._sort))
        elif services and not one:
            tables.append(services_table(listing, look, wide=wide))
        if invalid:
            tables.append(invalid_table(invalid, look))
        if listing.rest is not None:
            tables += _rest_tables(listing.rest, look)
        self._hidden = [title for table in tables for title in table.hidden]
        return "\n\n".join("\n".join(table.lines) for table in tables)

    def _note(self, line: str) -> None:
        if not self.quiet:
            print(line, file=sys.stderr, flush=True)  # noqa: T201


def _rest_tables(rest: Rest, look: Look) -> list[Rendered]:
    from lbctl.view.services import others_table, possible_table

    tables = [possible_table(rest.possible, look)] if rest.possible else []
    return [*tables, others_table(rest, look)] if rest.others or rest.unread else tables
