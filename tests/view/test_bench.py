"""What picks cost, drawn."""

from __future__ import annotations

import pytest

from lbctl.commands.bench import Cost
from lbctl.view.bench import bench_csv, costs_table, size, time
from lbctl.view.services import Look
from lbctl.view.theme import PLAIN, UNICODE

COSTS = [
    Cost("weighted_round_robin", 1000, "uniform", 812.4, None, 1234.5, 1000, 12_345.6, 1_234_567),
    Cost("rendezvous", 1000, "skewed", 110_130.0, 91.2, None, 500, 910.0, 301_000),
    Cost("pick_first", 3, "skewed", 47.0, None, None, 100, 21.0, 56),
]


def drawn(width: int | None) -> list[str]:
    return costs_table(COSTS, Look(PLAIN, UNICODE, width)).lines


def test_every_column_is_there_where_there_is_room() -> None:
    assert drawn(100) == [
        "POLICY                BACKENDS  WEIGHTS   PICK  BUDGET  AGAIN    END  BUILD   STATE",
        "weighted_round_robin     1,000  uniform  812ns   1.0us         1.2us   12ms  1.2 MB",
        "rendezvous               1,000  skewed   110us   500ns   91ns         910us  301 kB",
        "pick_first                   3  skewed    47ns   100ns                 21us    56 B",
    ]


@pytest.mark.parametrize("width", [80, 70, 60, 50])
def test_a_row_keeps_within_the_width_and_still_says_whose_pick_it_is(width: int) -> None:
    lines = drawn(width)
    assert max(map(len, lines)) <= width
    assert [line.split()[0] for line in lines[1:]] == [cost.policy for cost in COSTS]
    assert "PICK" in lines[0]
    assert "WEIGHTS" in lines[0]


def test_at_80_columns_only_keys_that_come_again_are_left_out() -> None:
    assert drawn(80)[0].split() == ["POLICY", "BACKENDS", "WEIGHTS", "PICK", "BUDGET", "END", "BUILD", "STATE"]


def test_records_leave_empty_what_a_policy_does_not_do() -> None:
    assert bench_csv(COSTS).splitlines() == [
        "policy,backends,weights,pick_ns,again_ns,end_ns,budget_ns,build_us,state_bytes",
        "weighted_round_robin,1000,uniform,812.4,,1234.5,1000,12345.6,1234567",
        "rendezvous,1000,skewed,110130.0,91.2,,500,910.0,301000",
        "pick_first,3,skewed,47.0,,,100,21.0,56",
    ]


def test_times_and_sizes_take_few_cells() -> None:
    times = [0.0, 47.4, 999.4, 999.6, 9_949.0, 9_951.0, 999_400.0, 1e6, 12.3e6, 999.6e6, 7.94e9]
    assert [time(ns) for ns in times] == [
        *("0ns", "47ns", "999ns", "1.0us", "9.9us", "10us", "999us", "1.0ms", "12ms", "1.0s", "7.9s")
    ]
    assert time(None) == ""
    assert [size(octets) for octets in (56, 1000, 999_499, 999_500, 1_234_567, 30_000_000)] == [
        *("56 B", "1 kB", "999 kB", "1.0 MB", "1.2 MB", "30 MB")
    ]
