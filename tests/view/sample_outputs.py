"""A run whose figures one can add up, and what each output makes of it and of others."""

from __future__ import annotations

from dataclasses import replace

from lbctl.model import Code, Origin
from lbctl.stats.histogram import Histogram
from lbctl.stats.report import ErrorGroup, Report
from lbctl.stats.samples import Sampler, Totals
from lbctl.view.outputs import Manner, written
from tests.view.sample import left_and_joined, open_loop, sample
from tests.view.test_document import EMPTY, row

METHOD = "demo.echo.v1.Echo/Say"
A, B = "127.0.0.1:50061", "127.0.0.1:50062"


def times(*us: int) -> Histogram:
    made = Histogram()
    for each in us:
        made.record(each)
    return made


def run() -> Report:
    """Ten calls in two seconds at two backends: 1, 2, 3 ms and 10 ms at one, an error and 5 x 0.5 ms at the other."""
    latency, sampler = times(1000, 2000, 3000), Sampler()
    sampler.take(1.0, Totals(requests=5, ok=3, errors=1, in_flight=1), latency)
    for us in (10_000, *[500] * 5):
        latency.record(us)
    sampler.end(2.0, Totals(requests=10, ok=9, errors=1), latency)
    return replace(
        EMPTY,
        elapsed_s=2.0,
        end_reason="duration",
        issued=10,
        completed=10,
        ok=9,
        errors=1,
        attempts=10,
        codes={Code.OK: 9, Code.UNAVAILABLE: 1},
        error_groups=(ErrorGroup(Code.UNAVAILABLE, Origin.SERVER, "too busy", 1, {"127.0.0.1:50062": 1}),),
        latency=latency,
        backends=(
            row(50061, 5, 4, 5.0, times(1000, 2000, 3000, 10_000)),
            row(50062, 1, 6, 5.0, times(*[500] * 5), errors=1),
        ),
        samples=sampler.samples,
    )


def text(output: str, report: Report | None = None, manner: Manner | None = None) -> str:
    return written(report or run(), output, manner or Manner())


REPORTS = [run(), EMPTY, sample(5), sample(0), left_and_joined(), open_loop()]
