"""The table of ``lbctl weight --auto``: whole where there is room, and without repeating itself where there is not."""

from __future__ import annotations

from datetime import UTC, datetime

from lbctl.discovery.weight_report import DRY_RUN, Measured, WeightReport, WeightRow
from lbctl.view.services import Look
from lbctl.view.text import cell_len
from lbctl.view.theme import PLAIN, UNICODE
from lbctl.view.weights import weights_table

REASONS = (
    "errors 0% below 1%: doubled, mean 4.2ms below 10ms: +1; look 1 of 2",
    "errors 20% above 10%: halved, mean 150ms above 100ms: -1",
    "errors 5%, mean 50ms: as it is",
    "3 requests, too few to judge; connection refused",
)


def report() -> WeightReport:
    rows = tuple(
        WeightRow(
            key=f"/services/echo/10.0.0.{11 + n}:50051",
            address=f"10.0.0.{11 + n}:50051",
            lease=7,
            weight=5,
            proposed=10,
            share=0.25,
            share_proposed=0.25,
            value="",
            new_value="",
            measured=Measured(5, 100, 0, 0.0042, why),
        )
        for n, why in enumerate(REASONS)
    )
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return WeightReport(at, "echo", "seed", "/services/echo/", 7, DRY_RUN, rows)


def test_reasons_are_whole_where_there_is_room() -> None:
    for width in (None, 160):
        lines = weights_table(report(), Look(PLAIN, UNICODE, width)).lines
        assert [line.split("ms  ", 1)[1] for line in lines[1:]] == list(REASONS)


def test_reasons_leave_out_what_has_a_column_where_the_room_is_short() -> None:
    table = weights_table(report(), Look(PLAIN, UNICODE, 80))
    assert table.hidden == ["SHARE"]
    assert max(map(cell_len, table.lines)) <= 80
    assert [line.split("ms  ", 1)[1] for line in table.lines[1:]] == [
        "doubled, +1; look 1 of 2",
        "halved, -1",
        "as it is",
        "3 requests, too few to judg…",
    ]
