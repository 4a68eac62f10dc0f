from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lbctl.view import text


@given(st.text())
def test_cleaned_text_has_nothing_that_moves_the_cursor_or_hides_text(raw: str) -> None:
    assert text.clean(raw).isprintable()
    assert text.clean(raw, ascii_only=True).isascii()


@given(st.binary())
def test_any_bytes_decoded_with_replacement_clean_to_printable_text(raw: bytes) -> None:
    assert text.clean(raw.decode("utf-8", "surrogateescape")).isprintable()


def test_controls_are_spelled_not_dropped() -> None:
    assert text.clean("a\x1b[2J\u202eb\x9b") == "a\\x1b[2J\\u202eb\\x9b"
    assert text.clean("a\nb\tc") == "a\\x0ab\\x09c"
    assert text.clean("x" * 600) == "x" * 497 + "..."
    assert text.clean("ü→", ascii_only=True) == "??"


@given(st.text(), st.integers(0, 40))
def test_cut_text_never_covers_more_cells_than_it_may(raw: str, width: int) -> None:
    shown = text.clean(raw)
    for cut in (text.elide, text.elide_left, text.elide_middle):
        assert text.cell_len(cut(shown, width)) <= width
    assert text.cell_len(text.left(shown, width)) == width
    assert text.cell_len(text.right(shown, width)) == width


def test_each_kind_of_name_is_cut_where_it_matters_least() -> None:
    assert text.elide("connection refused", 12) == "connection …"
    assert text.elide_left("10.0.0.11:50051", 12) == "….0.11:50051"
    assert text.elide_middle("/services/very.long.v1.Inventory", 17) == "/service…nventory"
    assert text.elide("名前が長い", 6) == "名前…"


@pytest.mark.parametrize(
    ("us", "words"),
    [
        (None, "-"),
        (0, "0us"),
        (850, "850us"),
        (999.4, "999us"),
        (999.6, "1.0ms"),
        (2_345, "2.3ms"),
        (9_949, "9.9ms"),
        (9_951, "10ms"),
        (38_400, "38ms"),
        (999_499, "999ms"),
        (999_501, "1.00s"),
        (1_250_000, "1.25s"),
        (12_500_000, "12.5s"),
        (120_000_000, "120s"),
        (3_600_000_000, "60m"),
    ],
)
def test_durations_take_at_most_five_cells(us: float | None, words: str) -> None:
    assert text.duration(us) == words
    assert len(words) <= 5


@given(st.floats(0, 3.6e9))
def test_no_duration_up_to_an_hour_is_longer_than_five_cells(us: float) -> None:
    assert len(text.duration(us)) <= 5


@pytest.mark.parametrize(
    ("number", "width", "words"),
    [
        (6292, 9, "6,292"),
        (6292, 4, "6292"),
        (12_345, 4, "12k"),
        (1_234, 3, "1k"),
        (999_600, 4, "1.0M"),
        (2_500_000, 4, "2.5M"),
        (0, 1, "0"),
    ],
)
def test_counts_take_the_longest_spelling_that_fits(number: int, width: int, words: str) -> None:
    assert text.count(number, width) == words


@given(st.integers(0, 10**14), st.integers(4, 12))
def test_no_count_is_longer_than_its_place(number: int, width: int) -> None:
    assert len(text.count(number, width)) <= width


def test_a_difference_is_never_minus_zero() -> None:
    assert [text.points(delta) for delta in (-0.0004, 0.0, 0.107, -0.044, 1.0, None)] == [
        *("+0.0", "+0.0", "+10.7", "-4.4", "+100", "-"),
    ]


def test_times_are_spelled_in_one_way() -> None:
    assert [text.clock(seconds) for seconds in (0, 72.9, 3725)] == ["00:00", "01:12", "1:02:05"]
    assert [text.age(seconds) for seconds in (None, 8.9, 190, 18_000, 1_036_800)] == ["-", "8s", "3m", "5h", "12d"]


@pytest.mark.parametrize(
    ("per_second", "digits", "words"),
    [
        (0, 2, "0"),
        (0.0495, 2, "0.05"),
        (0.1, 2, "0.1"),
        (9.96, 2, "10"),
        (103.4, 2, "103"),
        (12.5, 4, "12.5"),
        (5 / 3600, 4, "0.001389"),
        (1_562_500.5, 4, "1,562,500"),
        (1e7, 4, "10,000,000"),
    ],
)
def test_a_rate_has_no_exponent_and_a_small_one_is_not_nothing(per_second: float, digits: int, words: str) -> None:
    assert text.rate(per_second, digits) == words


@pytest.mark.parametrize(
    ("number", "whole", "words"),
    [(2, 3, "67%"), (999, 1000, "99%"), (1, 1000, "1%"), (0, 9, "0%"), (7, 7, "100%"), (0, 0, "-")],
)
def test_a_part_is_all_or_nothing_only_if_it_is(number: int, whole: int, words: str) -> None:
    assert text.part(number, whole) == words


@given(st.lists(st.text(st.characters(categories=("L", "N", "P", "S", "Zs"))), min_size=1), st.integers(1, 120))
def test_a_folded_command_is_the_same_command_for_a_shell(words: list[str], width: int) -> None:
    *lines, last = text.folded(shlex.join(["lbctl", *words]), width)
    assert all(line.endswith(" \\") for line in lines)
    found = [word for line in [*(line[:-2] for line in lines), last] for word in shlex.split(line)]
    assert found == ["lbctl", *words]


def test_a_command_is_folded_between_its_words_and_never_inside_quotes() -> None:
    command = 'lbctl hammer echo -d \'{"message": "hi"}\' -n 100'
    assert text.folded(command, 80) == [command]
    assert text.folded(command, 40) == ["lbctl hammer echo -d \\", '    \'{"message": "hi"}\' -n 100']
