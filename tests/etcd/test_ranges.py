from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lbctl.etcd.ranges import OPEN_END, KeyRange, gaps, outermost, overlap, prefix_end, prefix_range

# Few distinct bytes, so that prefixes are shared and 0xff runs are common.
KEYS = st.lists(st.sampled_from((0x00, 0x2F, 0x61, 0xFE, 0xFF)), max_size=6).map(bytes)


def holds(keys: KeyRange, key: bytes) -> bool:
    return keys.start <= key and (keys.end == OPEN_END or key < keys.end)


@given(prefix=KEYS, key=KEYS.filter(bool))
def test_a_prefix_range_holds_exactly_the_keys_that_start_with_it(prefix: bytes, key: bytes) -> None:
    assert holds(prefix_range(prefix), key) == key.startswith(prefix)


@given(prefixes=st.lists(KEYS.filter(bool), max_size=5), key=KEYS.filter(bool))
def test_gaps_hold_every_key_once_that_has_none_of_the_prefixes(prefixes: list[bytes], key: bytes) -> None:
    found = sum(holds(gap, key) for gap in gaps(prefixes))

    assert found == (0 if any(key.startswith(prefix) for prefix in prefixes) else 1)


@given(one=KEYS, other=KEYS, key=KEYS.filter(bool))
def test_an_overlap_holds_the_keys_of_both_ranges(one: bytes, other: bytes, key: bytes) -> None:
    both = overlap(prefix_range(one), prefix_range(other))
    assert (both is not None and holds(both, key)) == (key.startswith(one) and key.startswith(other))


def test_trailing_ff_bytes_are_cut_before_counting_up() -> None:
    assert prefix_end(b"ab\xff") == b"ac"
    assert prefix_end(b"\xff\xff") == OPEN_END
    assert prefix_end(b"") == OPEN_END
    assert prefix_end(b"/services/demo/") == b"/services/demo0"


def test_a_prefix_within_another_one_is_left_out() -> None:
    prefixes = [b"/services/", b"services/", b"/dubbo/", b"/services/", b"/dubbo/mapping/", b"/dub"]
    assert outermost(prefixes) == (b"/dub", b"/services/", b"services/")
    assert outermost([]) == ()
