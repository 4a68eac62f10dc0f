"""What Prometheus knows of the servers: CPU and requests a second, which no client sees."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from lbctl.doctor.case import Case
from lbctl.doctor.hosts import host_of
from lbctl.errors import CannotCall
from lbctl.model import Endpoint
from lbctl.redaction import masked_text

CPU: Final = "sum by (instance) (rate(process_cpu_seconds_total[1m]))"
REQUESTS: Final = "sum by (instance) (rate(grpc_server_handled_total[1m]))"
_TIMEOUT_S: Final = 5.0


class Server(NamedTuple):
    """One server by its own figures: busy CPUs and requests a second; None where there is no such series."""

    cpu: float | None
    rps: float | None


async def servers(case: Case) -> Mapping[Endpoint, Server]:
    """The figures of every address that has any; raises CannotCall where Prometheus does not answer as it should."""
    cpu, requests = (own or usual for own, usual in zip(case.order.queries, (CPU, REQUESTS), strict=True))
    busy, rates = await asyncio.gather(_asked(case.order.prometheus, cpu), _asked(case.order.prometheus, requests))
    endpoints = list(case.ways)
    found = {each: Server(_of(each, busy, endpoints), _of(each, rates, endpoints)) for each in endpoints}
    return {each: server for each, server in found.items() if server != Server(None, None)}


def _of(endpoint: Endpoint, figures: Mapping[str, float], endpoints: Iterable[Endpoint]) -> float | None:
    """The figure of an address: of the same instance, or of the only one on a host that has one backend."""
    if str(endpoint) in figures:
        return figures[str(endpoint)]
    alike = [value for instance, value in figures.items() if endpoint.host in (instance, host_of(instance))]
    alone = sum(each.host == endpoint.host for each in endpoints) == 1
    return alike[0] if alone and len(alike) == 1 else None


async def _asked(url: str, query: str) -> Mapping[str, float]:
    """The value of every instance in an answer."""
    import httpx

    shown = masked_text(url)  # it may have a password in it
    try:
        async with httpx.AsyncClient(timeout=_TIMEOUT_S, trust_env=False) as client:
            answer = await client.get(f"{url.rstrip('/')}/api/v1/query", params={"query": query})
        return _figures(answer.json(), answer.status_code)
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        raise CannotCall(f"Prometheus {shown} cannot be asked ({str(error) or type(error).__name__})") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CannotCall(f"Prometheus {shown} answered with something that is no query result") from error


def _figures(answer: Any, status: int) -> Mapping[str, float]:  # noqa: ANN401 - JSON
    if answer["status"] != "success":
        raise CannotCall(f"Prometheus refused the query with {status}: {str(answer.get('error', ''))[:200]}")
    return {each["metric"]["instance"]: float(each["value"][1]) for each in answer["data"]["result"]}
