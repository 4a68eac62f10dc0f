"""``lbctl watch``: its options; a screen on a terminal, a line per event elsewhere."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from lbctl.cli.arguments import ServiceArgument
from lbctl.cli.flags import option, switch
from lbctl.cli.help import Command
from lbctl.cli.options import with_settings
from lbctl.cli.settings import Settings
from lbctl.cli.values import parse_positive_duration

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from lbctl.commands.watch import Tell, Watch
    from lbctl.commands.watch_book import Told
    from lbctl.etcd.config import EtcdConfig
    from lbctl.view.caps import Caps

ABOUT = """\
Follow one service: its keys, weights, leases and health, through restarts of etcd.

On a terminal this is a live table with an event feed; elsewhere, and with -o jsonl, every event is a line on standard
output. Ctrl-C or q ends it."""
EXAMPLES = ("lbctl watch echo", "lbctl watch echo --interval 5s", "lbctl watch echo -o jsonl | jq .text")


@with_settings(outputs=("text", "jsonl"), layouts=True, backends=True)
def watch(
    service: ServiceArgument,
    interval: Annotated[
        float | None,
        option(
            "--interval",
            text="between two health checks (default 1s)",
            metavar="TIME",
            parse=parse_positive_duration,
        ),
    ] = None,
    check: Annotated[
        bool | None, switch("--check/--no-check", text="ask every instance for its health (default yes)")
    ] = None,
    *,
    settings: Settings,
) -> int:
    """Follow one service."""
    from lbctl.cli.read_only import refusal
    from lbctl.cli.registry import etcd_config
    from lbctl.cli.screens import caps_of
    from lbctl.cli.suggestions import again
    from lbctl.commands.reach import Reaching, ready_for
    from lbctl.commands.watch import Watch

    wanted = next((each for each in (check, settings.check) if each is not None), True)
    seconds = settings.check_interval_s if interval is None else interval
    access_for = Reaching(settings.reach, ready_for(settings.reach)).access
    request = Watch(
        service=service,
        prefix=settings.prefix,
        layout=settings.layout,
        named_by=settings.service_from,
        check=wanted,
        interval_s=seconds,
        timeout_s=settings.check_timeout_s,
        access_for=access_for,
        read_only=refusal(settings),
        again=again(settings),
    )
    live = settings.output == "text" and sys.stdout.isatty()
    caps = caps_of(settings, "auto" if live else "none")
    return _watch(etcd_config(settings), request, caps, _teller(settings, request, live=caps.screen == "live"))


def _watch(config: EtcdConfig, request: Watch, caps: Caps, tell: Tell) -> int:
    import asyncio
    from random import Random

    from lbctl.cli.listeners import while_read
    from lbctl.clock import SystemClock
    from lbctl.commands.stopping import status_after
    from lbctl.commands.watch import Means, run
    from lbctl.etcd.client import Etcd
    from lbctl.view.screens import watch_screen

    async def work() -> int | None:
        async with Etcd(config) as etcd:
            return await while_read(run(Means(etcd, SystemClock(), Random()), request, watch_screen(caps), tell))

    return status_after(asyncio.run(work()))


def _teller(settings: Settings, request: Watch, *, live: bool) -> Tell:
    """What happens to an event: the live view shows it by itself, otherwise it is printed at once."""
    if live:
        return lambda told, at: None
    spell: Callable[[Told, datetime], str] = _json_line if settings.output == "jsonl" else _text_line

    def tell(told: Told, at: datetime) -> None:
        print(spell(told, at), flush=True)  # noqa: T201

    return tell


def _json_line(told: Told, at: datetime) -> str:
    from lbctl.view.document import watch_document
    from lbctl.view.output import as_json_line

    return as_json_line(
        watch_document(told.event, at, told.service, told.revision, told.instance, stale_s=told.stale_s)
    )


def _text_line(told: Told, at: datetime) -> str:
    from lbctl.view.event_line import event_line

    return event_line(told.event, at)


COMMAND = Command(watch, ABOUT, EXAMPLES)
