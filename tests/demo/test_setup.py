from dataclasses import replace

import pytest

from lbctl.cli.demo_setup import Texts, parse_setup
from lbctl.demo.latency import Fixed, LogNormal
from lbctl.demo.scene import Setup
from lbctl.errors import UsageError

NOTHING = Texts(None, None, "2ms", "0%", "seed", ("echo",), "10s", 0, None)


def setup(**texts: object) -> Setup:
    return parse_setup(replace(NOTHING, **texts))  # type: ignore[arg-type]


def test_without_options_three_backends_weigh_5_1_1_and_take_2_ms() -> None:
    assert setup() == Setup(
        weights=(5, 1, 1),
        latencies=(Fixed(0.002),) * 3,
        error_rates=(0.0,) * 3,
        services=("echo",),
        layout="seed",
        ttl_s=10,
        seed=0,
        etcd_binary=None,
    )


def test_other_numbers_of_backends_have_one_heavy_one_too() -> None:
    assert [setup(backends=count).weights for count in (1, 2, 5)] == [(5,), (5, 1), (5, 1, 1, 1, 1)]


def test_a_list_says_how_many_backends_there_are() -> None:
    assert setup(weights="5,3,2,1,1").weights == (5, 3, 2, 1, 1)
    assert setup(latency="1ms,5ms").weights == (5, 1)


def test_one_value_counts_for_every_backend() -> None:
    built = setup(backends=4, weights="2", latency="1ms", errors="0.5%")
    assert built.weights == (2, 2, 2, 2)
    assert built.latencies == (Fixed(0.001),) * 4
    assert built.error_rates == (0.005,) * 4


def test_a_list_has_one_value_per_backend() -> None:
    built = setup(latency="1ms, lognormal(2ms, 0.5) ,20ms", errors="0,0.5%,100%")
    assert built.latencies == (Fixed(0.001), LogNormal(0.002, 0.5), Fixed(0.02))
    assert built.error_rates == (0.0, 0.005, 1.0)


def test_weight_zero_is_allowed() -> None:
    assert setup(weights="1,0").weights == (1, 0)


def test_a_layout_without_weights_has_none_to_begin_with() -> None:
    assert setup(layout="go-zero").weights == (1, 1, 1)


def test_a_target_of_etcds_go_client_may_be_a_path() -> None:
    assert setup(layout="etcd-naming", services=("/prod/echo",)).services == ("/prod/echo",)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"backends": 3, "weights": "5,1"}, "--weights has 2 values, --backends asks for 3 backends"),
        ({"backends": 1, "latency": "1ms,2ms"}, "--latency has 2 values, --backends asks for 1 backend"),
        ({"weights": "5,1", "errors": "0,1%,2%"}, "--errors has 3 values, --weights asks for 2 backends"),
        ({"backends": 0}, "--backends: 0 backends are not possible"),
        ({"backends": 65}, "--backends: 65 backends are not possible"),
        ({"weights": ",".join("1" * 65)}, "--weights: 65 backends are not possible"),
        ({"weights": "5,-1"}, "--weights: '-1' is not a whole number from 0 to 999999999"),
        ({"weights": "1234567890"}, "--weights: '1234567890' is not a whole number from 0 to 999999999"),
        ({"weights": "five"}, "--weights: 'five' is not a whole number from 0 to 999999999"),
        ({"weights": ""}, "--weights: the list is empty"),
        ({"weights": "5,,1"}, "--weights: '5,,1' has an empty place"),
        ({"latency": "fast"}, "--latency: 'fast' is not a duration (for example 500ms, 10s, 1m30s)"),
        (
            {"latency": "lognormal(2ms)"},
            "--latency: 'lognormal(2ms)' is not a distribution (for example lognormal(2ms,0.5))",
        ),
        ({"latency": "lognormal(2ms,0.5"}, "--latency: 'lognormal(2ms,0.5' has a bracket without its partner"),
        ({"latency": "lognormal(2ms,nan)"}, "--latency: 'lognormal(2ms,nan)': sigma 'nan' is not a number from 0 to 5"),
        ({"latency": "lognormal(2ms,9)"}, "--latency: 'lognormal(2ms,9)': sigma '9' is not a number from 0 to 5"),
        (
            {"latency": "pareto(2ms,1)"},
            "--latency: 'pareto(2ms,1)' is not a distribution (for example lognormal(2ms,0.5))",
        ),
        ({"errors": "0.5"}, "--errors: '0.5': write 0.5% for per cent"),
        ({"errors": "101%"}, "--errors: '101%': must be 100% or less"),
        ({"layout": "key-only"}, "--layout: there is no layout 'key-only'"),
        ({"layout": "go-zero", "weights": "5,1"}, "--weights: the layout go-zero has no weights"),
        ({"layout": "kitex", "weights": "5,0"}, "--weights: clients of the layout kitex read weight 0 as 10"),
        ({"services": ("a/b",)}, "--service: 'a/b' is not a service name"),
        ({"services": ("",)}, "--service: '' is not a service name"),
        ({"services": ("echo", "echo")}, "--service: a name is given twice: echo, echo"),
        ({"ttl": "1.5s"}, "--ttl: '1.5s' is not a whole number of seconds from 1s to 24h"),
        ({"ttl": "0"}, "--ttl: '0' is not a whole number of seconds from 1s to 24h"),
        ({"ttl": "25h"}, "--ttl: '25h' is not a whole number of seconds from 1s to 24h"),
        ({"ttl": "soon"}, "--ttl: 'soon' is not a duration (for example 500ms, 10s, 1m30s)"),
    ],
)
def test_what_cannot_be_is_refused_with_its_option(texts: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        setup(**texts)
    assert str(caught.value) == message
