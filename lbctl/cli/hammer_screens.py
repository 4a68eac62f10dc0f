"""Who is shown a run while it goes on: a screen or progress lines, lines of JSON, and whoever asks for metrics."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from lbctl.cli.listeners import is_pipe
from lbctl.cli.screens import caps_of
from lbctl.clock import SystemClock
from lbctl.errors import UsageError

# Here, and so before the file of --save is there: a Ctrl-C while Python makes classes ends the process by the signal,
# also where it is caught.
from lbctl.view.screens import RunScreen, Together, run_screen

if TYPE_CHECKING:
    from lbctl.cli.hammer_options import ResultFlags, ScreenFlags
    from lbctl.cli.hammer_output import Sink
    from lbctl.cli.output_options import OutputFlags
    from lbctl.cli.settings import Settings
    from lbctl.model import Endpoint
    from lbctl.view.caps import Caps
    from lbctl.view.metrics_endpoint import MetricsEndpoint

_PROGRESS_S: Final = 5.0
_SAMPLES_S: Final = 1.0


def caps_for(settings: Settings, result: ScreenFlags) -> Caps:
    """What the streams can show; no live view is drawn where lines of standard output may come between."""
    ui = result.ui or "auto"
    if settings.output == "jsonl" and sys.stdout is not None:
        if sys.stdout.isatty() and ui in ("auto", "live"):
            ui = "none"
        elif ui == "auto" and is_pipe(sys.stdout.fileno()):
            ui = "plain"  # whoever reads it may well write to the same terminal
    return caps_of(settings, ui, result.fps)


def say_what_clashes(settings: Settings, caps: Caps, result: ScreenFlags, sink: Sink) -> None:
    """Tell why there is no live view though one was asked for."""
    if caps.refused:
        sink.note(f"note: --ui live: {caps.refused}; progress is shown as lines")
    if settings.output == "jsonl" and result.ui == "live" and caps.screen == "none":
        sink.note("note: --ui live: the lines of -o jsonl go to this terminal; send them to a file for a live view")


@contextmanager
def screens(
    settings: Settings, caps: Caps, result: ResultFlags, outputs: OutputFlags, sink: Sink
) -> Iterator[RunScreen]:
    """Everything that shows the run, as one screen; raises UsageError where metrics cannot be served."""
    say_what_clashes(settings, caps, result, sink)
    # -q leaves out progress nobody asked for; a live view is what a terminal is for.
    write = sink.note if result.ui is None else sink.say
    found = [run_screen(caps, write, interval_s=result.interval or _PROGRESS_S, window_s=result.window or None)]
    if settings.output == "jsonl":
        found.append(_lines(sink, result.interval or _SAMPLES_S))
    if outputs.otlp is not None:
        found.append(_pushed(outputs.otlp, sink, result.interval))
    if outputs.metrics is None:
        yield Together(found)
        return
    with _served(outputs.metrics) as endpoint:
        sink.say(f"metrics: {endpoint.url}")
        yield Together([*found, endpoint])


def _lines(sink: Sink, interval_s: float) -> RunScreen:
    from lbctl.view.sample_lines import LiveLines

    return LiveLines(sink.lines, SystemClock().wall, interval_s=interval_s)


def _pushed(url: str, sink: Sink, interval_s: float | None) -> RunScreen:
    from lbctl.view.otlp_push import EVERY_S, OtlpPush

    headers = collector_headers(os.environ.get("OTEL_EXPORTER_OTLP_HEADERS", ""))
    return OtlpPush(url, sink.note, SystemClock().wall, headers=headers, every_s=interval_s or EVERY_S)


def collector_headers(text: str) -> dict[str, str]:
    """The headers in OpenTelemetry's variable, ``name=value,name=value`` with values as in URLs; raises UsageError."""
    from urllib.parse import unquote

    found: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = part.partition("=")
        if not equals or not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name.strip()):
            raise UsageError("OTEL_EXPORTER_OTLP_HEADERS is not name=value,name=value")  # what it holds is a secret
        found[name.strip()] = unquote(value.strip())
    return found


@contextmanager
def _served(wanted: Endpoint) -> Iterator[MetricsEndpoint]:
    from lbctl.view.metrics_endpoint import MetricsEndpoint

    endpoint = MetricsEndpoint(wanted)
    try:
        endpoint.__enter__()
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise UsageError(f"--metrics: cannot listen on {wanted}: {why}", "port 0 takes one that is free") from None
    try:
        yield endpoint
    finally:
        endpoint.__exit__(None, None, None)
