"""Which calls a write was too much for."""

from __future__ import annotations

from lbctl.rpc.cutoff import first_cut_off
from tests.wire import frames as h2


def request(stream: int, body: bytes = b"x", *, end: bool = True) -> bytes:
    return h2.headers(stream, (":method", "POST")) + h2.data(stream, h2.message(body), end=end)


ONE, THREE = request(1), request(3)


def test_a_request_of_which_one_octet_is_missing_is_cut_off() -> None:
    both = ONE + THREE
    assert first_cut_off(both, len(both)) == 0
    assert first_cut_off(both, len(both) - 1) == 3
    assert first_cut_off(both, len(ONE)) == 3
    assert first_cut_off(both, len(ONE) - 1) == 1
    assert first_cut_off(both, 0) == 1


def test_frames_of_requests_that_were_opened_before_cut_nothing_off() -> None:
    rest = h2.data(1, b"the rest", end=True) + h2.rst(5, h2.CANCEL) + h2.ping()
    assert first_cut_off(rest, 0) == 0
    assert first_cut_off(rest + THREE, 0) == 3


def test_the_preface_is_no_frame() -> None:
    start = h2.PREFACE + h2.settings() + h2.window_update(0, 1)
    assert first_cut_off(start, 0) == 0
    assert first_cut_off(start + ONE, len(start) + 3) == 1


def test_a_body_in_several_frames_ends_with_its_last() -> None:
    parts = h2.headers(1, (":method", "POST")) + h2.data(1, b"abc") + h2.data(1, b"def", end=True)
    assert first_cut_off(parts, len(parts)) == 0
    assert first_cut_off(parts, len(parts) - 1) == 1


def test_nothing_cuts_nothing_off() -> None:
    assert first_cut_off(b"", 0) == 0
