"""A search for the highest rate on the screen: the curve by rate, a conclusion, and a check for the exit status."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lbctl.stats.histogram import Histogram
from lbctl.stats.report import Report
from lbctl.stats.searched import Probe, RateSearch
from lbctl.view.checks import FAILED, PASSED, SKIPPED, checks
from lbctl.view.digest import Digests
from lbctl.view.series import Series
from lbctl.view.summary import summary
from tests.view.sample import open_loop

HOLDS = Probe(100.0, 99.6, 500, 500, 0, 0, 0, 1.234, 5.6, 0.1, 0.0, "holds")
FAILS = Probe(
    200.0, 180.0, 900, 890, 10, 0, 25, 8.2, 310.0, 0.3, 0.0, "fails", "p99 310ms, error_rate 1.1%, 25 dropped"
)
AGAIN = replace(HOLDS, rate=200.0, is_close=True)
LIMITED = replace(FAILS, verdict="limited", reason="25 dropped, generator 93% busy")


def report(ended: str, low: float | None, high: float | None, *probes: Probe) -> Report:
    search = RateSearch(("p99<20ms", "error_rate<1%"), 5.0, 0.05, ended, low, high, probes)
    return replace(open_loop(), end_reason="duration", dropped=3, search=search)


def section(found: Report) -> str:
    text = summary(found)
    return text[text.index("Rate search") :].partition("\n\n")[0]


def test_the_curve_is_by_rate_and_says_what_the_rest_is_of() -> None:
    found = report("found", 100.0, 200.0, FAILS, HOLDS, AGAIN)
    assert section(found) == (
        "Rate search  p99<20ms and error_rate<1%\n"
        "  100/s holds, 200/s does not\n"
        "  RATE  DONE    P50    P99  ERRORS  DROPPED  VERDICT  WHY\n"
        "   100  99.6  1.2ms  5.6ms   0.00%        0  holds\n"
        "   200   180  8.2ms  310ms   1.11%       25  fails    p99 310ms, error_rate 1.1…\n"
        "   200  99.6  1.2ms  5.6ms   0.00%        0  holds\n"
        "  everything below is of the run at 100/s"
    )
    assert all(len(line) <= 80 for line in section(found).splitlines())


def test_the_live_rates_begin_anew_with_each_probe() -> None:
    series = Series()
    for elapsed, completed in ((0.0, 0), (1.0, 100), (0.0, 0), (1.0, 300), (2.0, 600), (3.0, 900)):
        series.sample(replace(open_loop(), elapsed_s=elapsed, completed=completed, backends=()))
    assert (list(series.total), series.now()) == ([100, 300, 300, 300], 300)


def test_the_live_percentiles_begin_anew_with_each_probe() -> None:
    digests, times = Digests(), Histogram()
    times.record(5000, 100)
    digests.of(times, 9.0)
    times.clear()
    times.record(100, 10)
    found = digests.of(times, 0.5)
    assert found is not None
    assert (found.total, found.p99) == (10, 100)


@pytest.mark.parametrize(
    ("found", "state", "text"),
    [
        (report("found", 100.0, 104.0, HOLDS), PASSED, "100/s holds, 104/s does not"),
        (report("at_least", 100.0, 200.0, LIMITED), PASSED, "at least 100/s: above that the generator is the limit"),
        (report("failed", None, 200.0, FAILS), FAILED, f"even 200/s does not hold: {FAILS.reason}"),
        (report("interrupted", 100.0, None, HOLDS), SKIPPED, "interrupted: 100/s holds"),
        (report("interrupted", None, None), SKIPPED, "interrupted before anything was known"),
    ],
)
def test_a_search_is_one_check_and_drops_are_part_of_it(found: Report, state: str, text: str) -> None:
    (check,) = (check for check in checks(found) if check.about == "--find-max")
    assert (check.state, check.text) == (state, text)
    assert text in " ".join(section(found).split())
    assert not [check for check in checks(found) if check.about == "-r"]
