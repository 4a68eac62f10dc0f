from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lbctl.stats.first_byte import FirstByte
from lbctl.stats.histogram import Histogram

CALL = st.tuples(st.integers(0, 10_000_000), st.integers(0, 10_000_000)).map(sorted)


def test_replies_that_were_read_whole_began_when_they_ended() -> None:
    service = Histogram()
    service.record(300, 5)
    assert FirstByte().histogram(service) is service


@given(st.lists(CALL, min_size=1, max_size=30), st.lists(st.integers(0, 10_000_000), max_size=30))
def test_the_times_are_those_of_a_histogram_that_was_made_call_by_call(
    early: list[list[int]], whole: list[int]
) -> None:
    service, expected, first_byte = Histogram(), Histogram(), FirstByte()
    for us in whole:
        service.record(us)
        expected.record(us)
    for first_us, service_us in early:
        service.record(service_us)
        expected.record(first_us)
        first_byte.early(first_us, service_us)
    found = first_byte.histogram(service)
    assert found.counts == expected.counts
    assert (found.total, found.total_us, found.min_us) == (expected.total, expected.total_us, expected.min_us)
    assert expected.max_us <= found.max_us <= expected.max_us * 1.01
    assert service.total == len(early) + len(whole)


def test_a_stamp_that_is_out_of_order_is_put_in_order() -> None:
    service, first_byte = Histogram(), FirstByte()
    service.record(100, 2)
    first_byte.early(-5, 100)
    first_byte.early(500, 100)
    found = first_byte.histogram(service)
    assert (found.min_us, found.max_us, found.total_us) == (0, 100, 100)
