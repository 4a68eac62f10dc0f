"""Which calls a write was too much for."""

from __future__ import annotations

from lbctl.rpc.cutoff import cut_off
from tests.wire import frames as h2


def head(stream: int) -> bytes:
    return h2.headers(stream, (":method", "POST"))


def request(stream: int, body: bytes = b"x", *, end: bool = True) -> bytes:
    return head(stream) + h2.data(stream, h2.message(body), end=end)


def late(data: bytes, taken: int) -> tuple[set[int], set[int]]:
    """Streams that were cut off: those that begin in the data, those that only end in it."""
    begun, ended = cut_off(data, taken)
    return set(begun), set(ended)


ONE, THREE = request(1), request(3)


def test_a_request_of_which_one_octet_is_missing_is_cut_off() -> None:
    both = ONE + THREE
    assert late(both, len(both)) == (set(), set())
    assert late(both, len(both) - 1) == ({3}, set())
    assert late(both, len(ONE)) == ({3}, set())
    assert late(both, len(ONE) - 1) == ({1, 3}, set())
    assert late(both, 0) == ({1, 3}, set())


def test_requests_that_were_begun_before_are_cut_off_at_their_end_alone() -> None:
    rest = h2.data(1, b"some") + h2.data(3, b"the rest", end=True) + h2.rst(5, h2.CANCEL) + h2.ping()
    assert late(rest, 0) == (set(), {3})
    assert late(rest, len(rest)) == (set(), set())
    assert late(rest + request(7), 0) == ({7}, {3})


def test_a_small_request_that_has_gone_is_not_held_up_by_a_large_one_before_it() -> None:
    large = head(1) + h2.data(1, b"a part")
    assert late(large + THREE + h2.data(1, b"more"), len(large + THREE)) == (set(), set())
    assert late(large + THREE + h2.data(1, b"rest", end=True), len(large + THREE)) == ({1}, set())


def test_a_stream_that_goes_on_has_gone_with_its_first_message() -> None:
    talk = request(1, end=False)
    assert late(talk + h2.data(1, b"more"), len(talk)) == (set(), set())
    assert late(talk + h2.data(1, b"more"), len(talk) - 1) == ({1}, set())
    assert late(head(1), len(head(1)) - 1) == ({1}, set())


def test_the_preface_is_no_frame() -> None:
    start = h2.PREFACE + h2.settings() + h2.window_update(0, 1)
    assert late(start, 0) == (set(), set())
    assert late(start + ONE, len(start) + 3) == ({1}, set())


def test_a_body_in_several_frames_ends_with_its_last() -> None:
    parts = head(1) + h2.data(1, b"abc") + h2.data(1, b"def", end=True)
    assert late(parts, len(parts)) == (set(), set())
    assert late(parts, len(parts) - 1) == ({1}, set())


def test_nothing_cuts_nothing_off() -> None:
    assert late(b"", 0) == (set(), set())
