"""What load-aware policies come to in the long run: shares, queues, and backends that are broken or slow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random

import pytest

from lbctl.balance.policies.base import Call, Expectation, Setup
from lbctl.balance.policies.table import POLICIES
from lbctl.model import Code, Reply
from tests.balance.fleet import VECTORS, Service
from tests.balance.simulation import Backend, Simulation, fails, serves, takes
from tests.balance.traffic import LOST

# Every load-aware policy in every form that chooses by other rules.
FORMS: list[tuple[str, dict[str, str]]] = [
    *(("least_conn", {"ties": ties}) for ties in ("swrr", "rotate", "random", "first")),
    ("least_conn", {"key": "fwlc", "ties": "rotate"}),
    *(("least_active", {"dialect": dialect}) for dialect in ("java", "go")),
    ("least_request", {}),
    ("least_request", {"choice_count": "3"}),
    ("least_request", {"full_scan": "true"}),
    ("least_request", {"mode": "envoy"}),
    *(("fastest", {"metric": metric}) for metric in ("ewma", "average", "p99", "dubbo", "nginx")),
    ("fastest", {"times_in_flight": "false"}),
    ("p2c", {}),
    ("p2c_ewma", {}),
    ("kratos_p2c", {}),
    *(("peak_ewma", {"dialect": dialect}) for dialect in ("finagle", "tower", "envoy")),
    ("prequal", {}),
    ("aperture", {}),
    ("bounded_load", {}),  # all calls are of one key
    ("bounded_load", {"probe": "envoy"}),
]
LOAD_AWARE = pytest.mark.parametrize(("policy", "options"), FORMS, ids=str)
REPORTED = {"weighted_round_robin", "dynamic_weight", "done_weight"}  # go by more than this client's load


def test_every_load_aware_policy_is_among_those_tested_here() -> None:
    found = {name for name, policy in POLICIES.items() if policy.expectation is Expectation.FEEDBACK}
    assert {policy for policy, _ in FORMS} == found - REPORTED


@LOAD_AWARE
@pytest.mark.parametrize("crowd", [3, 64])
def test_a_backend_that_fails_at_once_attracts_no_traffic_in_a_closed_loop(
    policy: str, options: dict[str, str], crowd: int
) -> None:
    share, *_ = Simulation(policy, [fails(0.0001), takes(0.01), takes(0.01)], options).closed_loop(crowd, 6000)
    assert share < 1 / 8  # a third is its even share; least_request draws it alone in 1 of 9 calls


@pytest.mark.slow
@LOAD_AWARE
@pytest.mark.parametrize("code", [Code.UNAVAILABLE, Code.INTERNAL, Code.UNKNOWN, Code.UNAUTHENTICATED])
def test_a_backend_that_fails_at_once_attracts_no_traffic_in_an_open_loop(
    policy: str, options: dict[str, str], code: Code
) -> None:
    broken = Backend(lambda rng: 0.0001, Reply(code))
    _, share, _ = Simulation(policy, [takes(0.01), broken, takes(0.01)], options).open_loop(500, 3000)
    assert share < 1 / 8


@pytest.mark.parametrize("weights", [[5, 1, 1], [1, 5, 5]])
def test_nor_by_weight(weights: list[int]) -> None:
    for policy, options in [("least_conn", {}), ("least_request", {"mode": "envoy"}), ("fastest", {"metric": "nginx"})]:
        backends = [fails(), takes(0.01), takes(0.01)]
        share, *_ = Simulation(policy, backends, options, weights).closed_loop(64, 6000)
        assert share < weights[0] / sum(weights) / 2, policy


@pytest.mark.parametrize(
    ("policy", "options", "at_least"),
    [
        ("least_request", {"full_scan": "true"}, 0.97),  # 1 / T: 98 %
        ("least_conn", {}, 0.97),
        ("least_active", {}, 0.97),
        ("p2c", {}, 0.65),  # 2 / n
        ("fastest", {}, 0.97),
        ("peak_ewma", {}, 0.65),
    ],
)
def test_without_the_penalty_it_is_the_black_hole_of_the_originals(
    policy: str, options: dict[str, str], at_least: float
) -> None:
    simulation = Simulation(policy, [fails(), takes(0.01), takes(0.01)], {**options, "failure_penalty": "0s"})
    assert simulation.closed_loop(64, 20_000)[0] > at_least


def test_a_backend_that_fails_now_and_then_looks_as_slow_as_its_failures_make_it() -> None:
    """1 % of failures and a penalty of 1 s add 10 ms to 10 ms: 20 % instead of a third."""
    flaky = Backend(lambda rng: 0.01, LOST, part=0.01)
    simulation = Simulation("least_conn", [flaky, takes(0.01), takes(0.01)], skip=3000)
    assert simulation.open_loop(3000, 30_000) == pytest.approx([0.2, 0.4, 0.4], abs=0.03)


LATENCY_AWARE = [form for form in FORMS if form[0] in {"fastest", "p2c_ewma", "kratos_p2c", "peak_ewma", "prequal"}]


@pytest.mark.parametrize(("policy", "options"), LATENCY_AWARE, ids=str)
def test_a_slow_backend_is_starved_by_policies_that_go_by_latency(policy: str, options: dict[str, str]) -> None:
    share, *_ = Simulation(policy, [takes(0.2), takes(0.01), takes(0.01)], options, skip=500).open_loop(500, 5000)
    assert share < 0.03


FINITE = {
    "least_active_full": ("least_active", {}),
    "least_active_p2c": ("p2c", {}),
    "peak_ewma_full": ("fastest", {"metric": "average", "probe": "0s"}),
    "peak_ewma_p2c": ("peak_ewma", {}),
    "gozero_p2c": ("p2c_ewma", {}),
    "kratos_p2c": ("kratos_p2c", {"cache": "0s"}),  # the reference computed every weight anew
}


@pytest.mark.slow
@pytest.mark.parametrize("rate", [500, 5000])
@pytest.mark.parametrize("name", FINITE)
def test_shares_at_a_finite_load_are_those_of_the_reference(name: str, rate: int) -> None:
    vector = VECTORS["feedback_finite_load"]
    policy, options = FINITE[name]
    backends = [takes(latency_s) for latency_s in vector["given"]["latency_s"]]
    simulation = Simulation(policy, backends, {**options, "failure_penalty": "0s"}, skip=3000)
    expected = vector["expect"][name][vector["given"]["rate_per_s"].index(rate)]
    assert simulation.open_loop(rate, 23_000) == pytest.approx(expected, abs=0.014)  # 0.01, and 20 000 calls' chance


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "form"), [("least_active", "p2c"), ("gozero", "p2c_ewma"), ("peak_ewma", "peak_ewma")]
)
def test_shares_with_very_many_in_flight_are_the_fixed_points(name: str, form: str) -> None:
    vector = VECTORS["feedback_fixed_points"]
    backends = [takes(latency_s) for latency_s in vector["given"]["latency_s"]]
    simulation = Simulation(form, backends, {"failure_penalty": "0s"}, skip=20_000)
    assert simulation.open_loop(50_000, 120_000) == pytest.approx(vector["expect"]["simulated_p2c"][name], abs=0.01)


def test_shares_of_a_full_scan_with_very_many_in_flight_are_as_one_over_latency() -> None:
    vector = VECTORS["feedback_fixed_points"]
    backends = [takes(latency_s) for latency_s in vector["given"]["latency_s"]]
    shares = Simulation("least_active", backends, skip=20_000).open_loop(50_000, 60_000)
    assert shares == pytest.approx(vector["expect"]["least_active_1/T"], abs=0.01)


SCORES: dict[str, Callable[[float], float]] = {  # what loads become equal to, where very many are in flight
    "least_active_1/T": lambda latency_s: 1 / latency_s,
    "gozero_T^-1.5": lambda latency_s: latency_s**-1.5,
    "kratos_1/(T*sqrt(T+5ms))": lambda latency_s: 1 / (latency_s * (latency_s + 0.005) ** 0.5),
    "peak_ewma_1/T^2": lambda latency_s: latency_s**-2,
}


@pytest.mark.parametrize("name", SCORES)
def test_fixed_points_are_what_the_rules_say(name: str) -> None:
    vector = VECTORS["feedback_fixed_points"]
    parts = [SCORES[name](latency_s) for latency_s in vector["given"]["latency_s"]]
    assert vector["expect"][name] == pytest.approx([part / sum(parts) for part in parts], abs=5e-5)
    simulated = next(shares for key, shares in vector["expect"]["simulated_full_scan"].items() if name.startswith(key))
    assert simulated == pytest.approx(vector["expect"][name], abs=0.0025)


@pytest.mark.parametrize("policy", ["p2c", "p2c_ewma", "kratos_p2c", "peak_ewma"])
@pytest.mark.parametrize("size", [4, 10])
def test_two_choices_give_nobody_more_than_two_of_n(policy: str, size: int) -> None:
    backends = [takes(0.0001), *(takes(0.05) for _ in range(size - 1))]
    simulation = Simulation(policy, backends)
    share = simulation.open_loop(1000, 8000)[0]
    assert share < 2 / size + 6 * (2 / size / 8000) ** 0.5  # six standard deviations
    assert share > 1.5 / size


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "options", "load", "service_times"),
    [
        ("random", {}, 0.7, 3.3333),  # at 0.9 it takes millions of calls to tell the mean of 10
        ("least_request", {"choice_count": "2"}, 0.9, 2.68),
        ("p2c", {}, 0.9, 2.65),
        ("least_request", {"choice_count": "3"}, 0.9, 2.0279),
    ],
)
def test_queues_behind_one_two_and_three_choices_are_those_of_the_supermarket_model(
    policy: str, options: dict[str, str], load: float, service_times: float
) -> None:
    """#supermarket_T and #supermarket_simulated: Poisson arrivals at a hundred servers."""
    simulation = Simulation(policy, [serves(1.0) for _ in range(100)], options, skip=30_000)
    simulation.open_loop(100 * load, 130_000)
    assert simulation.mean_s() == pytest.approx(service_times, rel=0.03)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "policy", "options"), [("jsq", "least_request", {"full_scan": "true"}), ("pow2", "p2c", {})]
)
def test_old_news_drives_everybody_to_the_least_loaded_and_two_choices_less(
    name: str, policy: str, options: dict[str, str]
) -> None:
    vector = VECTORS["stale_info_herd"]
    for age, expected in zip(vector["given"]["T"], vector["expect"][name], strict=True):
        if age >= 10:  # queues are of one kind for as long as a board is old: it would take a million calls
            continue
        simulation = Simulation(policy, [serves(1.0) for _ in range(100)], options, skip=30_000, board_s=age)
        simulation.open_loop(90.0, 130_000)
        assert simulation.mean_s() == pytest.approx(expected, rel=0.05), age


@pytest.mark.slow
def test_the_lengths_of_queues_behind_two_choices_are_those_of_the_supermarket_model() -> None:
    vector = VECTORS["supermarket_tails"]
    rate = vector["given"]["lambda"]
    simulation = Simulation("p2c", [serves(1.0) for _ in range(200)])
    simulation.open_loop(200 * rate, 40_000)
    longer: Counter[int] = Counter()
    for _ in range(300):
        simulation.open_loop(200 * rate, 200)
        longer.update(length for peer in simulation.peers for length in range(min(peer.in_flight, 5) + 1))
    found = [longer[length] / 60_000 for length in range(6)]
    assert found == pytest.approx(vector["expect"]["fraction_of_queues_with_at_least_i"], abs=0.02)


@LOAD_AWARE
def test_nothing_stays_in_flight_and_every_pick_is_counted(policy: str, options: dict[str, str]) -> None:
    simulation = Simulation(policy, [takes(0.01), fails(), takes(0.03)], options)
    simulation.closed_loop(10, 400)
    simulation.finish()
    assert [peer.in_flight for peer in simulation.peers] == [0, 0, 0]
    assert sum(peer.picks for peer in simulation.peers) == simulation.picks.total() == 400


@LOAD_AWARE
def test_what_was_learnt_of_a_broken_backend_survives_a_change_of_the_set(policy: str, options: dict[str, str]) -> None:
    simulation = Simulation(policy, [fails(), takes(0.01), takes(0.01)], options)
    simulation.open_loop(500, 600)
    chosen = POLICIES[policy].with_options(options)
    rebuilt = Counter[str]()
    for seed in range(60):
        picker = chosen.build(simulation.peers, Setup(Random(seed), chosen.options))
        rebuilt[picker.pick(Call(simulation.now_ns)).instance.key] += 1
        picker.retire()
    assert rebuilt["A"] < 20


@pytest.mark.parametrize("policy", ["least_conn", "p2c", "peak_ewma"])
def test_what_was_learnt_is_gone_when_a_backend_registers_again(policy: str) -> None:
    service = Service(policy, A=1, B=1)
    service.run(4)
    peer = service.peer("A")
    assert peer.memory is not None
    service.set(B=1)
    service.run(1)
    service.set(A=1, B=1)
    assert peer.memory is None
