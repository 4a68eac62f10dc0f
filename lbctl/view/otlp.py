"""A run as OpenTelemetry metrics: the JSON encoding of OTLP, made of the same families as those for Prometheus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from lbctl import __version__
from lbctl.view.figures import Document
from lbctl.view.prometheus import Snapshot, metrics

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

_CUMULATIVE: Final = 2
_UNITS: Final = {"_seconds": "s", "_ratio": "1"}  # a suffix of Prometheus is a unit here, which exporters append again


def otlp_document(found: Snapshot, now_ns: int) -> Document:
    """Return the request that exports a snapshot taken at ``now_ns`` since the epoch."""
    start_ns = int(found.started_at.timestamp() * 1e9)
    times = {"startTimeUnixNano": str(start_ns), "timeUnixNano": str(max(now_ns, start_ns))}
    families = [_metric(family, times) for family in metrics(found) if family.type != "info" and family.samples]
    resource = {"service.name": "lbctl", "service.version": __version__}
    resource |= {f"lbctl.{name}": value for name, value in found.labels.items() if name != "version"}
    scope = {"scope": {"name": "lbctl", "version": __version__}, "metrics": families}
    return {"resourceMetrics": [{"resource": {"attributes": _attributes(resource)}, "scopeMetrics": [scope]}]}


def _metric(family: Metric, times: Mapping[str, str]) -> Document:
    suffix = next((suffix for suffix in _UNITS if family.name.endswith(suffix)), "")
    head: Document = {
        "name": family.name.removesuffix(suffix),
        "description": family.documentation,
        "unit": _UNITS.get(suffix, ""),
    }
    if family.type == "histogram":
        points: list[Document] = list(_histograms(family, times))
        return {**head, "histogram": {"aggregationTemporality": _CUMULATIVE, "dataPoints": points}}
    points = [_point(each.labels, times) | {"asDouble": float(each.value)} for each in family.samples]
    if family.type == "counter":
        return {
            **head,
            "sum": {"aggregationTemporality": _CUMULATIVE, "isMonotonic": True, "dataPoints": points},
        }
    return {**head, "gauge": {"dataPoints": points}}


def _histograms(family: Metric, times: Mapping[str, str]) -> Iterator[Document]:
    """One point for each set of labels; counts of buckets are not cumulative here."""
    found: dict[tuple[tuple[str, str], ...], list[Any]] = {}
    for each in family.samples:
        labels = tuple((name, value) for name, value in each.labels.items() if name != "le")
        found.setdefault(labels, []).append(each)
    for labels, samples in found.items():
        buckets = [(each.labels["le"], int(each.value)) for each in samples if each.name.endswith("_bucket")]
        (total,) = (each.value for each in samples if each.name.endswith("_sum"))
        yield _point(dict(labels), times) | {
            "count": str(buckets[-1][1]),
            "sum": total,
            "bucketCounts": [str(count - before) for before, count in pairwise([0, *_counts(buckets)])],
            "explicitBounds": [float(edge) for edge, _ in buckets[:-1]],
        }


def _counts(buckets: Sequence[tuple[str, int]]) -> Iterable[int]:
    return (count for _, count in buckets)


def _point(labels: Mapping[str, str], times: Mapping[str, str]) -> Document:
    return {"attributes": _attributes(labels), **times}


def _attributes(labels: Mapping[str, str]) -> list[Document]:
    return [{"key": name, "value": {"stringValue": value}} for name, value in labels.items()]
