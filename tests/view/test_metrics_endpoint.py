from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

import httpx
import pytest
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families as read_prometheus

from lbctl.load.controls import Controls
from lbctl.model import Endpoint
from lbctl.view.metrics_endpoint import MetricsEndpoint
from tests.view.sample import sample

NOBODY = cast("Controls", None)
ANY = Endpoint("127.0.0.1", 0)


@contextmanager
def client() -> Iterator[httpx.Client]:
    with httpx.Client(trust_env=False, timeout=20) as found:
        yield found


async def test_metrics_are_served_in_the_format_that_was_asked_for_and_are_those_of_the_run() -> None:
    run = sample(3)
    with MetricsEndpoint(ANY) as endpoint, client() as http:
        async with endpoint.showing(lambda: run, NOBODY):
            plain = http.get(endpoint.url)
            modern = http.get(endpoint.url, headers={"Accept": "application/openmetrics-text; version=1.0.0"})
            head = http.head(endpoint.url)
            run = replace(run, dropped=7)
        last = http.get(endpoint.url)
    assert plain.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert modern.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    assert modern.text.endswith("# EOF\n")
    names = {family.name for family in read_prometheus(plain.text)}
    read_openmetrics: Any = openmetrics.text_string_to_metric_families
    assert {family.name for family in read_openmetrics(modern.text)} == {name.removesuffix("_info") for name in names}
    assert (head.status_code, head.text) == (200, "")
    assert int(head.headers["content-length"]) == len(plain.content)
    assert "lbctl_requests_dropped_total 0.0\n" in plain.text
    assert "lbctl_requests_dropped_total 7.0\n" in last.text


async def test_a_page_is_spelled_once_for_all_who_ask_for_it_between_two_looks_at_the_run() -> None:
    looks = 0

    def report() -> object:
        nonlocal looks
        looks += 1
        return sample(3, dropped=looks)

    with MetricsEndpoint(ANY) as endpoint, client() as http:
        async with endpoint.showing(report, NOBODY):  # type: ignore[arg-type]
            pages = {http.get(endpoint.url).text for _ in range(5)}  # this loop cannot look at the run meanwhile
    assert len(pages) == 1
    assert looks == 2


def test_before_the_run_there_are_no_metrics_and_elsewhere_there_never_are() -> None:
    with MetricsEndpoint(ANY) as endpoint, client() as http:
        base = endpoint.url.removesuffix("/metrics")
        assert http.get(endpoint.url).status_code == 503
        assert (http.get(f"{base}/other").status_code, http.post(endpoint.url).status_code) == (404, 501)
        assert http.get(base).text == "lbctl: metrics are at /metrics\n"


def test_a_port_in_use_is_an_error_and_a_free_one_can_be_used_again_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match="in use"):
            MetricsEndpoint(Endpoint("127.0.0.1", port)).__enter__()
    with MetricsEndpoint(ANY) as first, client() as http:
        port = int(first.url.split(":")[-1].split("/")[0])
        assert http.get(first.url).status_code == 503
    with MetricsEndpoint(Endpoint("127.0.0.1", port)) as second:
        assert second.url == f"http://127.0.0.1:{port}/metrics"
