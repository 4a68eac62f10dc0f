from __future__ import annotations

import pytest

from tests.balance.fleet import ANY, VECTORS, Service, built, drawn, fleet, letters


@pytest.mark.parametrize("vector", [VECTORS["kitex_iwrr_5_1_1"], VECTORS["kitex_iwrr_1_2_3"]], ids=["5 1 1", "1 2 3"])
def test_the_order_is_that_of_kitex(vector: dict[str, dict[str, str]]) -> None:
    order = vector["expect"]["sequence"]
    assert letters(drawn(built("iwrr", fleet(vector["given"]["weights"])), len(order))) == order  # type: ignore[arg-type]


def test_a_backend_that_joins_takes_part_in_the_rounds_that_are_left() -> None:
    service = Service("iwrr", A=3, B=1)
    assert service.run(3) == "ABA"  # round 2 of 3
    service.set(A=3, B=1, C=3)
    assert service.run(10) == "CACBACACAC"


@pytest.mark.parametrize("picks", [1, 4, 9])
def test_a_round_goes_on_when_the_one_whose_turn_it_was_has_gone(picks: int) -> None:
    service = Service("iwrr", A=3, B=3, C=3)
    last = service.run(picks)[-1]
    rest = {key: 3 for key in "ABC" if key != last}
    service.set(**rest)
    following = "ABCABC"["ABC".index(last) + 1 :][:2]
    assert service.run(6) == following * 3


def test_one_that_had_its_turn_has_no_other_in_the_round_because_its_weight_grew() -> None:
    service = Service("iwrr", A=2, B=5)
    assert service.run(8) == "ABABBBBA"  # the first turn of the second cycle
    service.set(A=3, B=5)
    assert service.run(7) == "BABABBB"


def test_why_names_the_round() -> None:
    picker = built("iwrr", fleet([2, 1]))
    told = [picker.why(ANY)[1].text for _ in range(4)]
    assert [text.split(",")[0] for text in told] == [f"its turn in round {number} of 2" for number in (1, 1, 2, 1)]
