"""The options of ``lbctl hammer`` that say who else is told of a run while it goes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from lbctl.cli.addresses import parse_collector, parse_listening
from lbctl.cli.flags import Flags, option


@dataclass(frozen=True, slots=True)
class OutputFlags(Flags):
    """What is served or sent of a run."""

    metrics: Annotated[  # parsed: typer has no name for what a parser returns
        Any,
        option(
            "--metrics",
            text="serve Prometheus metrics at http://HOST:PORT/metrics during the run; port 0 takes a free one",
            metavar="HOST:PORT",
            panel="Screen and result",
            parse=parse_listening,
        ),
    ] = None
    otlp: Annotated[
        str | None,
        option(
            "--otlp",
            text="push metrics to an OpenTelemetry collector during the run: OTLP over HTTP, such as "
            "http://127.0.0.1:4318 (headers: env OTEL_EXPORTER_OTLP_HEADERS)",
            metavar="URL",
            panel="Screen and result",
            parse=parse_collector,
        ),
    ] = None
