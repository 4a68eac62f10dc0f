"""The options of commands that ask for a schema and call nothing: whom, for how long, with which metadata."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final

from lbctl.cli.arguments import parse_service, parse_where
from lbctl.cli.check_options import backends_option
from lbctl.cli.completion_sources import addresses, services_or
from lbctl.cli.completion_values import Source
from lbctl.cli.flags import Flags, argument, option, switch
from lbctl.cli.header_option import header_option
from lbctl.cli.metadata import headers
from lbctl.cli.schema_options import PANEL, SchemaFlags, source_of
from lbctl.cli.settings import Settings
from lbctl.cli.values import parse_positive_timeout
from lbctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from lbctl.commands.describing import Asked
    from lbctl.etcd.client import Etcd

DEFAULT_TIMEOUT_S: Final = 3.0


def service_argument(others: Source) -> Any:  # noqa: ANN401 - typer's own type for it
    """Declare the SERVICE; ``others`` are offered where there is none."""
    return argument(
        metavar="SERVICE",
        text="key prefix, or last part of a name; left out with --backends and files",
        parse=parse_service,
        completes=services_or(others),
    )


@dataclass(frozen=True, slots=True)
class AskFlags(Flags):
    """Who is asked by server reflection."""

    backend: Annotated[
        str | None,
        option(
            "--backend",
            text="ask this one of the service's backends (default: the first that answers)",
            metavar="ADDRESS",
            panel=PANEL,
            parse=parse_where,
            completes=addresses,
        ),
    ] = None
    backends: Annotated[Any, backends_option(PANEL, "ask these instead of those in etcd")] = None
    timeout: Annotated[
        float | None,
        option(
            "--timeout",
            text="how long a backend may take to answer (default 3s)",
            metavar="TIME",
            panel=PANEL,
            parse=parse_positive_timeout,
        ),
    ] = None
    header: Annotated[list[Any] | None, header_option("metadata to send with the questions", PANEL)] = None
    expand_headers: Annotated[
        bool, switch("--expand-headers", text="replace ${NAME} in metadata by environment variables", panel=PANEL)
    ] = False


def words_of(
    service: str | None, word: str | None, flags: AskFlags, schema: SchemaFlags, *, look: str
) -> tuple[str, str | None]:
    """SERVICE and the word behind it; with ``--backends`` or files there is no SERVICE, and the first word is that.

    ``look`` is the command that shows which services there are. Raises UsageError.
    """
    instead = _instead(flags, schema)
    if not instead:
        if service is None:
            raise UsageError("it needs a SERVICE, or --backends, or files", f"see what there is: {look}")
        return service, word
    if word is not None:
        raise UsageError(f"{instead} goes with no SERVICE", f"leave {service} out")
    return "", service


def _instead(flags: AskFlags, schema: SchemaFlags) -> str:
    """What was given in place of a service in etcd."""
    files = "--protoset" if schema.protoset else "--proto" if schema.proto else ""
    if files and (flags.backends is not None or flags.backend is not None):
        asked = "--backends" if flags.backends is not None else "--backend"
        raise UsageError(f"{files} describes it all, and {asked} would not be asked", "leave one of them out")
    return files or ("--backends" if flags.backends is not None else "")


def asked_of(service: str, flags: AskFlags, schema: SchemaFlags, settings: Settings) -> Asked:
    """Who is to describe; raises UsageError for files that cannot be used."""
    from lbctl.cli.hammer_request import given
    from lbctl.cli.suggestions import again
    from lbctl.commands.describing import Asked
    from lbctl.commands.reach import Reaching, ready_for
    from lbctl.commands.rewriting import Where

    metadata = headers(tuple(flags.header or ()), os.environ if flags.expand_headers else None)
    reaching = Reaching(settings.reach, ready_for(settings.reach), discovered=flags.backends is None, metadata=metadata)
    return Asked(
        Where(service, settings.prefix, settings.layout, settings.service_from, again(settings)),
        reaching.access,
        given=given(service, flags.backends or ()),
        schema=source_of(schema),
        backend=flags.backend,
        timeout_s=flags.timeout or DEFAULT_TIMEOUT_S,
    )


def answered(settings: Settings, asked: Asked, work: Callable[[Etcd | None], Coroutine[Any, Any, Any]]) -> Any:  # noqa: ANN401 - what the work returns
    """Run the work to its end, with an etcd where one has to be asked."""
    from lbctl.cli.loop import run_plain
    from lbctl.cli.registry import etcd_config
    from lbctl.etcd.client import Etcd

    if not asked.needs_registry:
        return run_plain(work(None))
    config = etcd_config(settings)

    async def with_etcd() -> object:
        async with Etcd(config) as etcd:
            return await work(etcd)

    return run_plain(with_etcd())
