from __future__ import annotations

from tests.balance.fleet import ANY, Service, built, drawn, fleet, letters


def test_the_order_of_4_3_2_is_the_documented_one() -> None:
    assert letters(drawn(built("wrr_lvs", fleet([4, 3, 2])), 18)) == "AABABCABC" * 2


def test_a_backend_that_joins_takes_part_once_the_threshold_has_come_to_it() -> None:
    service = Service("wrr_lvs", A=4, C=3)
    assert service.run(2) == "AA"  # at the thresholds 4 and 3
    service.set(A=4, B=1, C=3)
    assert service.run(7) == "CACABCA"


def test_the_round_goes_on_when_the_one_whose_turn_it_was_has_gone() -> None:
    service = Service("wrr_lvs", A=3, B=3, C=3)
    assert service.run(2) == "AB"
    service.set(A=3, C=3)
    assert service.run(3) == "CAC"


def test_why_names_the_threshold_in_weights_as_they_are() -> None:
    picker = built("wrr_lvs", fleet([40, 20]))
    told = [picker.why(ANY)[1].text for _ in range(2)]
    assert told == ["its turn among those of weight 40 and more", "its turn among those of weight 20 and more"]
