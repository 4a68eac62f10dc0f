"""OTLP as OpenTelemetry's own messages understand it, and pushes to a real HTTP server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any, cast

from google.protobuf.json_format import Parse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from lbctl.load.controls import Controls
from lbctl.view.otlp import otlp_document
from lbctl.view.otlp_push import OtlpPush
from lbctl.view.prometheus import EDGES_US, snapshot
from tests.view.sample_outputs import METHOD, A, B, run

NOBODY = cast("Controls", None)
NOW = datetime(2026, 1, 1, 12, 0, 2, tzinfo=UTC)


def understood(document: object) -> dict[str, Any]:
    """The metrics of a request by name, after a trip through JSON and the messages of OpenTelemetry."""
    request = Parse(json.dumps(document), ExportMetricsServiceRequest())
    (resource,) = request.resource_metrics
    (scope,) = resource.scope_metrics
    return {each.name: each for each in scope.metrics}


def labels(point: Any) -> dict[str, str]:  # noqa: ANN401 - a message
    return {each.key: each.value.string_value for each in point.attributes}


def test_counters_gauges_and_histograms_are_those_of_the_run() -> None:
    report = run()
    found = understood(otlp_document(snapshot(report), int(NOW.timestamp() * 1e9)))
    requests = found["grpc_load_balancer_requests"].sum
    assert (requests.is_monotonic, requests.aggregation_temporality) == (True, 2)
    assert {(labels(each)["server"], labels(each)["code"]): each.as_double for each in requests.data_points} == {
        (A, "OK"): 4,
        (B, "OK"): 5,
        (B, "UNAVAILABLE"): 1,
    }
    weights = {
        labels(each)["server"]: each.as_double for each in found["grpc_load_balancer_server_weight"].gauge.data_points
    }
    assert weights == {A: 5}  # B has left
    times = found["grpc_load_balancer_request_duration"]
    first = next(each for each in times.histogram.data_points if labels(each) == {"server": A, "method": METHOD})
    assert (times.unit, first.count, round(first.sum, 6)) == ("s", 4, 0.016)
    assert list(first.explicit_bounds) == [us / 1e6 for us in EDGES_US]
    assert len(first.bucket_counts) == len(EDGES_US) + 1
    assert sum(first.bucket_counts) == 4
    assert first.bucket_counts[3] == 1  # from 0.5 to 1 ms
    assert first.start_time_unix_nano == int(report.started_at.timestamp()) * 10**9
    assert first.time_unix_nano - first.start_time_unix_nano == 2 * 10**9


def test_the_resource_tells_which_run_it_is() -> None:
    request = Parse(json.dumps(otlp_document(snapshot(run()), 0)), ExportMetricsServiceRequest())
    found = labels(request.resource_metrics[0].resource)
    assert (found["service.name"], found["lbctl.service"], found["lbctl.policy"]) == ("lbctl", "echo", "smooth_wrr")


class Collector(HTTPServer):
    """Keeps what it is sent, and answers with a status that can be chosen."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status = 200
        self.bodies: list[tuple[str, str, str, bytes]] = []  # path, content type, authorization, body

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1/metrics"


class _Handler(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        kinds = self.headers.get("Content-Type", ""), self.headers.get("Authorization", "")
        self.server.bodies.append((self.path, *kinds, body))
        self.send_response(self.server.status)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that http.server has
        """Nobody reads it."""


@contextmanager
def collector() -> Iterator[Collector]:
    with Collector() as found:
        thread = Thread(target=found.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield found
        finally:
            found.shutdown()
            thread.join()


async def test_the_last_push_has_the_end_of_the_run_and_is_through_when_the_block_ends() -> None:
    said: list[str] = []
    report = run()
    with collector() as server:
        push = OtlpPush(server.url, said.append, lambda: NOW, headers={"Authorization": "Bearer x"}, every_s=0.01)
        async with push.showing(lambda: report, NOBODY):
            async with asyncio.timeout(20):
                while not server.bodies:  # noqa: ASYNC110 - another thread has it
                    await asyncio.sleep(0.005)
            report = replace(report, dropped=7)
    path, kind, authorization, body = server.bodies[-1]
    assert (path, kind, authorization) == ("/v1/metrics", "application/json", "Bearer x")
    (point,) = understood(json.loads(body))["lbctl_requests_dropped"].sum.data_points
    assert point.as_double == 7
    assert said == []


async def test_a_collector_that_refuses_is_told_of_once_and_at_the_end() -> None:
    said: list[str] = []
    with collector() as server:
        server.status = 401
        login = server.url.replace("//", "//me:s3cr3t@")
        push = OtlpPush(login, said.append, lambda: NOW, every_s=0.01)
        async with push.showing(run, NOBODY), asyncio.timeout(20):
            while not said:  # noqa: ASYNC110 - likewise
                await asyncio.sleep(0.005)
    first, last = said
    shown = server.url.replace("//", "//me:***@")
    assert first == f"warning: --otlp: {shown} answered 401 Unauthorized"
    count = len(server.bodies)
    assert last == f"warning: --otlp: {count} of {count} pushes failed: {shown} answered 401 Unauthorized"


async def test_a_collector_that_is_not_there_costs_the_run_nothing() -> None:
    said: list[str] = []
    with collector() as server:
        gone = server.url
    push = OtlpPush(gone, said.append, lambda: NOW + timedelta(seconds=1), every_s=60)
    async with push.showing(run, NOBODY):
        pass
    (last,) = said
    assert last.startswith("warning: --otlp: 1 of 1 pushes failed: ")
