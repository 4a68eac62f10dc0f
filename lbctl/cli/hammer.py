"""``lbctl hammer``: its options; a screen on standard error, the result on standard output."""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lbctl.balance.policies import POLICIES
from lbctl.cli.options import with_settings
from lbctl.cli.settings import Settings
from lbctl.cli.values import (
    option_parser,
    parse_count,
    parse_duration,
    parse_positive_duration,
    parse_weighted_endpoints,
)
from lbctl.errors import UsageError

if TYPE_CHECKING:
    from lbctl.commands.hammer import Finished, Hammer
    from lbctl.view.screens import RunScreen

SUMMARY = "load through a balancing policy, live per-backend view"
ABOUT = """\
Put load on a service through an embedded client-side balancer, and show what each backend got.

Without METHOD the health check is called, if the service offers it. The run is a closed loop: -c calls are in flight
until -n were sent or -z has passed. Ctrl-C ends it gracefully, twice at once; the summary is printed in any case."""
EXAMPLES = (
    "lbctl hammer echo -n 10000 --policy smooth_wrr",
    """lbctl hammer echo Echo/Say -d '{"message": "hi"}' -z 30s -c 100""",
    "lbctl hammer echo --policy weighted_random --seed 7 -o json > run.json",
    "lbctl hammer --backends 10.0.0.11:50051=5,10.0.0.12:50051 pkg.Service/Method --binary-file request.bin",
)
FORMATS = ("text", "json", "yaml")
DEFAULT_POLICY = "smooth_wrr"
_AUTHORITY = re.compile(r"([A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(:\d+)?")
_UIS = ("auto", "live", "plain", "none")


def _policy(text: str) -> str:
    if text not in POLICIES:
        near = get_close_matches(text, list(POLICIES), n=1)
        meant = f"did you mean {near[0]}? " if near else ""
        raise ValueError(f"{text!r} is not a policy ({meant}there are {', '.join(POLICIES)})")
    return text


def _ui(text: str) -> str:
    if text not in _UIS:
        raise ValueError(f"{text!r} is not one of {', '.join(_UIS)}")
    return text


def _positive(text: str) -> int:
    number = parse_count(text)
    if number < 1:
        raise ValueError(f"{text!r} is not at least 1")
    return number


def _seed(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise ValueError(f"{text!r} is not a whole number of at most 18 digits")
    return int(text)


def _authority(text: str) -> str:
    if not _AUTHORITY.fullmatch(text):
        raise ValueError(f"{text!r} is not a host name, or a host name and a port")
    return text


def _fps(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0.1 <= number <= 60:
        raise ValueError(f"{text!r} is not a number from 0.1 to 60")
    return number


def _option(*flags: str, text: str, metavar: str, parse: Callable[[str], object] | None = None) -> Any:  # noqa: ANN401
    parser = option_parser(parse) if parse is not None else None
    return typer.Option(*flags, parser=parser, help=text, metavar=metavar, show_default=False)


@with_settings(layouts=True, outputs=FORMATS)
def hammer(
    service: Annotated[
        str | None,
        typer.Argument(
            metavar="SERVICE", help="key prefix, or last part of a name; optional with --backends", show_default=False
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Argument(
            metavar="METHOD", help="package.Service/Method, or the end of it if that is clear", show_default=False
        ),
    ] = None,
    policy: Annotated[
        str | None,
        _option("--policy", text=f"{', '.join(POLICIES)} (default {DEFAULT_POLICY})", metavar="NAME", parse=_policy),
    ] = None,
    requests: Annotated[
        int | None,
        _option(
            "-n", "--requests", text="calls to send (default 1000, unless -z is given)", metavar="N", parse=_positive
        ),
    ] = None,
    duration: Annotated[
        float | None,
        _option(
            "-z",
            "--duration",
            text="send for this long; with -n, whichever comes first",
            metavar="TIME",
            parse=parse_positive_duration,
        ),
    ] = None,
    concurrency: Annotated[
        int | None, _option("-c", "--concurrency", text="calls in flight (default 50)", metavar="N", parse=_positive)
    ] = None,
    timeout: Annotated[
        float | None,
        _option(
            "-t",
            "--timeout",
            text="deadline of each call, 0 for none (default 20s)",
            metavar="TIME",
            parse=parse_duration,
        ),
    ] = None,
    data: Annotated[
        str | None,
        _option("-d", "--data", text="request message as JSON; @FILE reads a file, @ standard input", metavar="JSON"),
    ] = None,
    binary_file: Annotated[
        Path | None,
        _option(
            "--binary-file", text="request message as raw bytes; with a full METHOD needs no reflection", metavar="FILE"
        ),
    ] = None,
    seed: Annotated[
        int | None,
        _option("--seed", text="of every random choice (default: a new one, in the result)", metavar="N", parse=_seed),
    ] = None,
    backends: Annotated[  # noqa: ANN401  # typer has no name for what a parser returns
        Any,
        _option(
            "--backends",
            text="call these instead of asking etcd: HOST:PORT[=WEIGHT],...",
            metavar="LIST",
            parse=parse_weighted_endpoints,
        ),
    ] = None,
    authority: Annotated[
        str | None,
        _option(
            "--authority",
            text="the :authority sent (default: the service's name, or the address)",
            metavar="NAME",
            parse=_authority,
        ),
    ] = None,
    connect_timeout: Annotated[
        float | None,
        _option(
            "--connect-timeout",
            text="limit of one connect (default 10s)",
            metavar="TIME",
            parse=parse_positive_duration,
        ),
    ] = None,
    grace: Annotated[
        float | None,
        _option(
            "--grace",
            text="how long the end waits for calls in flight (default 5s)",
            metavar="TIME",
            parse=parse_duration,
        ),
    ] = None,
    save: Annotated[
        str | None, _option("--save", text="write the result as JSON; auto makes up a name", metavar="FILE")
    ] = None,
    ui: Annotated[str | None, _option("--ui", text="auto, live, plain or none", metavar="KIND", parse=_ui)] = None,
    fps: Annotated[
        float | None, _option("--fps", text="frames a second of the live view (default 8)", metavar="N", parse=_fps)
    ] = None,
    interval: Annotated[
        float | None,
        _option(
            "--interval", text="between two progress lines (default 5s)", metavar="TIME", parse=parse_positive_duration
        ),
    ] = None,
    *,
    settings: Settings,
) -> int:
    """Put load on a service through a balancing policy."""
    from lbctl.cli.hammer_output import Sink
    from lbctl.cli.hammer_request import build, read_binary, read_data, split_target
    from lbctl.cli.screens import caps_of
    from lbctl.view.screens import run_screen

    service, method = split_target(service, method, direct=backends is not None)
    raw = read_binary(binary_file, with_data=data is not None)
    text, source = read_data(data)
    request = build(
        service=service,
        method=method,
        policy=policy or _configured_policy(settings),
        requests=requests,
        duration_s=duration,
        concurrency=concurrency,
        timeout_s=timeout,
        seed=seed,
        data=text,
        source=source,
        raw=raw,
        backends=backends,
        prefix=settings.prefix,
        layout=settings.format,
        authority=authority,
        connect_timeout_s=connect_timeout,
        grace_s=grace,
    )
    caps = caps_of(settings, ui or "auto")
    with Sink(settings, caps, save, request.service) as sink:
        # -q leaves out progress nobody asked for; a live view is what a terminal is for.
        write = sink.note if ui is None else sink.say
        screen = run_screen(caps, write, interval_s=interval or 5.0, fps=fps)
        return sink.finish(_run(None if backends is not None else settings, request, screen, sink.note))


def _configured_policy(settings: Settings) -> str:
    if settings.policy is None:
        return DEFAULT_POLICY
    try:
        return _policy(settings.policy)
    except ValueError as error:
        raise UsageError(f"{settings.origins.get('policy', 'policy')}: {error}") from None


def _run(settings: Settings | None, request: Hammer, screen: RunScreen, say: Callable[[str], None]) -> Finished:
    from lbctl.cli.loop import run_fast
    from lbctl.cli.registry import etcd_config
    from lbctl.clock import SystemClock
    from lbctl.commands.hammer import run

    config = etcd_config(settings) if settings is not None else None

    async def work() -> Finished:
        if config is None:
            return await run(None, SystemClock(), request, screen, say)
        from lbctl.etcd.client import Etcd

        async with Etcd(config) as etcd:
            return await run(etcd, SystemClock(), request, screen, say)

    return run_fast(work())
