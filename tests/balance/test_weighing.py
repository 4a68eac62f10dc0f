"""Which policies go by the weight that counts, as they are set."""

from __future__ import annotations

import pytest

from lbctl.balance.policies.table import POLICIES
from lbctl.balance.weighing import goes_by_weights

WITHOUT = [
    *("pick_first", "round_robin", "random", "hash_mod", "jump", "least_request"),
    *("p2c", "aperture", "p2c_ewma", "kratos_p2c", "peak_ewma", "prequal"),
    "weighted_round_robin",  # it goes by what backends report
]


def test_those_that_ignore_weights_are_known() -> None:
    assert [name for name, policy in POLICIES.items() if not goes_by_weights(policy)] == WITHOUT


@pytest.mark.parametrize(
    ("name", "option", "weighs"),
    [
        ("hash_mod", ("dialect", "nginx"), True),
        ("least_request", ("mode", "envoy"), True),
        ("weighted_random", ("form", "cumulative"), True),
    ],
)
def test_an_option_may_decide(name: str, option: tuple[str, str], weighs: bool) -> None:
    assert goes_by_weights(POLICIES[name].with_options(dict([option]))) is weighs
