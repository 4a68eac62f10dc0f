"""From what was typed to the request: what is told of what does not fit together, and is no error."""

from __future__ import annotations

import pytest

from lbctl.cli.hammer_options import LoadFlags
from lbctl.cli.hammer_request import Asked, build
from lbctl.cli.request_options import RequestFlags
from lbctl.cli.settings import resolve


@pytest.mark.parametrize(
    ("load", "in_flight", "notes"),
    [
        (LoadFlags(requests=49, concurrency=50), 49, ["-c 50 is more than there are calls: 49 are in flight"]),
        (LoadFlags(requests=49), 49, []),  # nobody asked for 50
        (LoadFlags(requests=50, concurrency=50), 50, []),
        (LoadFlags(duration=1.0, concurrency=5000), 5000, []),
        (LoadFlags(requests=5, concurrency=50, rps=10.0), 50, []),  # a bound, which is not reached
    ],
)
def test_more_in_flight_than_there_are_calls_is_capped_and_told(
    load: LoadFlags, in_flight: int, notes: list[str]
) -> None:
    found = build("echo", None, Asked(load, RequestFlags()), resolve({}, {}, {}), {})
    assert (found.plan.concurrency, list(found.notes)) == (in_flight, notes)
