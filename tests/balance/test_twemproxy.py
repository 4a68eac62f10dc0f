"""The ring of twemproxy: ketama's points with its own rounding, and keys by its FNV-1a."""

from __future__ import annotations

from lbctl.balance.hashing.dialects import DIALECTS


def test_twemproxy_hashes_keys_and_places_points_as_published() -> None:
    dialect = DIALECTS["twemproxy"]
    assert dialect.key(b"apple") == 1488911807
    points = dialect.points("server1", 40)
    assert (points[4 * 8], points[4 * 8 + 3]) == (3853726576, 2667054752)  # server1-8, words 0 and 3


def test_twemproxy_takes_bytes_of_keys_as_signed() -> None:
    assert DIALECTS["twemproxy"].key(b"\xff") == (0x84222325 ^ 0xFFFFFFFF) * 0x1B3 % 2**32


def test_twemproxy_hashes_long_keys_as_short_ones() -> None:
    key, found = b"a key of more bytes than most have, in all", 0x84222325
    for end, byte in enumerate(key, 1):
        found = (found ^ byte) * 0x1B3 % 2**32
        assert DIALECTS["twemproxy"].key(key[:end]) == found


def test_equal_servers_have_160_points_but_where_single_precision_falls_short() -> None:
    """As the original's C computes it: for 25, 47, 50 and 55 servers a product ends just below 40."""
    counts = {size: set(DIALECTS["twemproxy"].counts([1] * size, 160)) for size in range(1, 61)}
    assert {size for size, found in counts.items() if found == {156}} == {25, 47, 50, 55}
    assert all(found == {160} for size, found in counts.items() if size not in (25, 47, 50, 55))


def test_twemproxy_gives_points_by_weight_in_fours() -> None:
    assert DIALECTS["twemproxy"].counts([5, 1, 1], 160) == [340, 68, 68]  # 4 floor(120 x 5/7), 4 floor(120 / 7)
