from __future__ import annotations

from datetime import UTC, datetime

import pytest

from lbctl.model import Event
from lbctl.view.event_line import event_line
from lbctl.view.plain_table import Cell, Column, render
from lbctl.view.text import cell_len
from lbctl.view.theme import PLAIN

COLUMNS: list[Column[tuple[str, ...]]] = [
    Column("NAME", lambda row: Cell(row[0]), shrink_to=6),
    Column("N", lambda row: Cell(row[1]), keep=1, numeric=True),
    Column("WORD", lambda row: Cell(row[2]), keep=2),
]
ROWS = [("alphabet", "7", "x"), ("b", "1000", "longer")]


def test_text_stands_left_and_numbers_stand_right() -> None:
    assert render(COLUMNS, ROWS, PLAIN).lines == ["NAME         N  WORD", "alphabet     7  x", "b         1000  longer"]


def test_without_headers_the_columns_are_as_wide_as_their_cells() -> None:
    assert render(COLUMNS, [("b", "1", "x")], PLAIN, headers=False).lines == ["b  1  x"]


def test_a_table_of_nothing_is_its_header() -> None:
    assert render(COLUMNS, [], PLAIN).lines == ["NAME  N  WORD"]


def test_a_flexible_column_shrinks_before_another_is_dropped() -> None:
    table = render(COLUMNS, ROWS, PLAIN, width=20)
    assert (table.lines[1], table.hidden) == ("alp…et     7  x", [])


def test_the_room_of_a_dropped_column_goes_to_the_one_that_shrank() -> None:
    table = render(COLUMNS, ROWS, PLAIN, width=15)
    assert (table.lines[1], table.hidden) == ("alphabet     7", ["WORD"])


@pytest.mark.parametrize("width", range(1, 40))
def test_the_first_column_is_never_dropped(width: int) -> None:
    assert "NAME" not in render(COLUMNS, ROWS, PLAIN, width=width).hidden


def test_wide_characters_are_counted_in_cells() -> None:
    lines = render(COLUMNS, [("服务", "1", "x"), ("ab", "2", "y")], PLAIN, headers=False).lines
    assert [cell_len(line) for line in lines] == [cell_len(lines[0])] * 2


def test_an_event_is_time_kind_address_and_what_happened() -> None:
    at = datetime(2026, 1, 1, 12, 0, 31, 204_900, tzinfo=UTC)
    line = event_line(Event(1.0, "weight", "127.0.0.1:1", "weight 2 -> 0\x1b[2J"), at)
    assert line.split(maxsplit=3)[1:] == ["weight", "127.0.0.1:1", "weight 2 -> 0\\x1b[2J"]
    assert line[6:12] == "31.204"
    assert event_line(Event(1.0, "resync", None, "registry lost"), at).split()[1:3] == ["resync", "-"]


def test_a_sentence_that_does_not_fit_is_cut_at_its_end() -> None:
    columns: list[Column[str]] = [Column("WORDS", Cell, shrink_to=8, cut="right")]
    assert render(columns, ["alphabetically"], PLAIN, width=9).lines[1] == "alphabet…"
