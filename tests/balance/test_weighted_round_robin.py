"""Weights from load reports: the formula, when a weight counts, and the shares that come of it."""

from __future__ import annotations

import json
import math
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from lbctl.balance.balancer import Balancer
from lbctl.balance.load_report import LOAD_REPORT, LoadReport, encoded
from lbctl.balance.load_weight import utilization_of, weight_of
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call
from lbctl.balance.policies.weighted_round_robin import POLICY, reporting_period_s
from lbctl.balance.service_config import parse_service_config
from lbctl.errors import UsageError
from lbctl.model import Code, Reply
from tests.balance.fleet import OK, VECTORS, instance, letters

S = 1_000_000_000
QUICK = {"blackout-period": "0s", "weight-update-period": "100ms"}


class Backends:
    """A balancer by load reports over connected backends, and an engine that counts; ``now_s`` is the time."""

    def __init__(self, keys: str, options: Mapping[str, str] = QUICK, seed: int = 1) -> None:
        self.now_s = 100.0
        self.balancer = Balancer(POLICY.with_options(options), Random(seed))
        change = self.balancer.update(instance(key) for key in keys)
        for peer in change.added:
            self.balancer.mark(peer, ready=True)
        self.peers = {peer.instance.key: peer for peer in change.added}
        assert self.balancer.picker is not None  # there is somebody to learn

    @property
    def now_ns(self) -> int:
        return int(self.now_s * S)

    def report(self, key: str, report: LoadReport) -> None:
        """A call ends whose trailers carry this."""
        trailers = ((LOAD_REPORT, b64encode(encoded(report)).rstrip(b"=")),)
        self.balancer.ended(self.peers[key], self.now_ns - 1000, self.now_ns, Reply(Code.OK, metadata=trailers))

    def weigh(self, **weights: float) -> None:
        """Have backends report what comes to these weights."""
        for key, weight in weights.items():
            self.report(key, LoadReport(rps_fractional=weight, application_utilization=1.0))

    def run(self, count: int) -> Counter[str]:
        return Counter(letters(self.pick() for _ in range(count)))

    def pick(self) -> Peer:
        picker = self.balancer.picker
        assert picker is not None
        peer = picker.pick(Call(self.now_ns))
        peer.picks += 1
        peer.finished += 1
        return peer

    def shares(self) -> list[float]:
        """The shares after weights were looked at now."""
        self.run(1)
        picker = self.balancer.picker
        assert picker is not None
        return list(picker.law().shares)

    def states(self) -> dict[str, str]:
        """What is said of each backend's report."""
        picker = self.balancer.picker
        assert picker is not None
        _, why = picker.why(Call(self.now_ns))
        return {peer.instance.key: figures[-1] for peer, figures in why.rows}


# The formula.

CASES = [
    ("orca_weight_a", (100, 0, 0.5, 1, 200)),
    ("orca_weight_b", (100, 0, 0.1, 1, 1000)),
    ("orca_weight_c", VECTORS["orca_weight_c"]),
    ("orca_weight_e", VECTORS["orca_weight_e"]),
    ("orca_weight_g", VECTORS["orca_weight_g"]),
]


@pytest.mark.parametrize(("name", "case"), CASES, ids=[name for name, _ in CASES])
def test_the_weight_is_requests_over_utilization_and_errors(name: str, case: Any) -> None:  # noqa: ANN401
    if isinstance(case, tuple):
        qps, eps, utilization, penalty, weight = map(float, case)
    else:
        given = case["given"]
        qps, eps, utilization = given["qps"], given["eps"], given["utilization"]
        penalty, weight = given["error_utilization_penalty"], case["expect"]["weight"]
    report = LoadReport(rps_fractional=qps, eps=eps, application_utilization=utilization)
    assert weight_of(report, penalty) == pytest.approx(weight)


ODD = (0.0, -1.0, 1e-320, 5e-324, 1e308, math.inf, -math.inf, math.nan, 0.5)


def test_no_report_makes_a_weight_that_is_not_a_number() -> None:
    for qps in ODD:
        for eps in ODD:
            for utilization in ODD:
                for penalty in (0.0, 1.0, 1e308):
                    report = LoadReport(rps_fractional=qps, eps=eps, application_utilization=utilization)
                    weight = weight_of(report, penalty)
                    assert weight == 0.0 or 0.0 < weight < math.inf


def test_named_metrics_come_first_then_the_application_then_the_cpu() -> None:
    vector = VECTORS["orca_custom_metric_max"]
    stated = vector["given"]["report"]
    named = {name: float(value) for name, value in stated["named_metrics"].items()}
    report = LoadReport(**{**stated, "named_metrics": named})
    assert math.isnan(report.named_metrics["x.y"])
    assert utilization_of(report, vector["given"]["names"]) == vector["expect"]["utilization"]
    assert utilization_of(report, ["named_metrics.none"]) == 0.9
    assert utilization_of(report._replace(application_utilization=0.0), ()) == 0.2


def test_the_metrics_are_an_option() -> None:
    backends = Backends(
        "AB", {**QUICK, "metric-names-for-computing-utilization": "named_metrics.disk, mem_utilization"}
    )
    busy = LoadReport(rps_fractional=100.0, application_utilization=0.5, named_metrics={"disk": 1.0})
    backends.report("A", busy)
    backends.report("B", busy._replace(named_metrics={}, mem_utilization=0.25))
    assert backends.shares() == pytest.approx([1 / 5, 4 / 5], abs=1e-4)


# When a weight counts.


def test_a_weight_counts_after_the_blackout_and_until_it_expires() -> None:
    backends = Backends("ABC", {})
    first_s = backends.now_s
    for second in map(float, range(30)):
        backends.now_s = first_s + second
        backends.weigh(A=100, B=300)
        expected = [1 / 3] * 3 if second < 10 else [1 / 6, 3 / 6, 2 / 6]
        assert backends.shares() == pytest.approx(expected, abs=1e-4), second
    last_s = backends.now_s
    for second, usable in ((1.0, True), (179.0, True), (180.0, False), (181.0, False)):
        backends.now_s = last_s + second
        expected = [1 / 6, 3 / 6, 2 / 6] if usable else [1 / 3] * 3
        assert backends.shares() == pytest.approx(expected, abs=1e-4), second
    backends.weigh(A=100, B=300)  # and the blackout begins anew
    again_s = backends.now_s
    for second, usable in ((5.0, False), (9.9, False), (11.0, True)):
        backends.now_s = again_s + second
        expected = [1 / 6, 3 / 6, 2 / 6] if usable else [1 / 3] * 3
        assert backends.shares() == pytest.approx(expected, abs=1e-4), second


def test_a_backend_that_comes_back_has_its_blackout_before_it_and_the_mean_until_then() -> None:
    backends = Backends("ABC", {})
    backends.weigh(A=100, B=200, C=600)
    backends.now_s += 10
    assert backends.shares() == pytest.approx([1 / 9, 2 / 9, 6 / 9], abs=1e-4)
    backends.balancer.mark(backends.peers["C"], ready=False)
    backends.run(10)
    backends.balancer.mark(backends.peers["C"], ready=True)
    assert backends.shares() == pytest.approx([100 / 450, 200 / 450, 150 / 450], abs=1e-4)
    assert backends.states()["C"] == "no report since it is back"
    backends.now_s += 1
    backends.weigh(C=600)
    backends.now_s += 9.5
    assert backends.shares() == pytest.approx([100 / 450, 200 / 450, 150 / 450], abs=1e-4)
    assert backends.states() == {"A": "20.5s old", "B": "20.5s old", "C": "blackout for 0.5s more"}
    backends.now_s += 1
    assert backends.shares() == pytest.approx([1 / 9, 2 / 9, 6 / 9], abs=1e-4)


def test_fewer_than_two_weights_are_a_round_robin() -> None:
    backends = Backends("ABC")
    backends.weigh(B=500)
    backends.now_s += 1
    assert backends.shares() == [1 / 3] * 3
    assert letters(backends.pick() for _ in range(6)) in ("ABCABC", "BCABCA", "CABCAB")


def test_a_report_that_states_no_load_leaves_the_weight_and_its_age_as_they_were() -> None:
    backends = Backends("AB", {**QUICK, "weight-expiration-period": "5s"})
    backends.weigh(A=100, B=300)
    backends.now_s += 4
    backends.report("A", LoadReport(rps_fractional=50.0))
    backends.report("B", LoadReport(application_utilization=0.5))
    assert backends.shares() == pytest.approx([1 / 4, 3 / 4], abs=1e-4)
    backends.now_s += 1
    assert backends.shares() == [1 / 2] * 2
    assert backends.states() == {"A": "expired, 5s old", "B": "expired, 5s old"}


def test_weights_are_looked_at_once_per_period() -> None:
    backends = Backends("AB", {**QUICK, "weight-update-period": "1s"})
    backends.run(1)
    backends.weigh(A=100, B=300)
    backends.now_s += 0.99
    assert backends.shares() == [1 / 2] * 2
    backends.now_s += 0.01
    assert backends.shares() == pytest.approx([1 / 4, 3 / 4], abs=1e-4)


# What comes of it.


def test_shares_are_those_of_the_weights_and_every_epoch_keeps_its_bound() -> None:
    backends = Backends("ABCD", seed=3)
    rng = Random(5)
    for _ in range(30):
        backends.weigh(**{key: rng.uniform(10, 1000) for key in "ABCD"})
        backends.now_s += 0.2
        backends.run(rng.randrange(1, 700))
    evidence = backends.balancer.evidence()
    assert backends.balancer.epochs >= 29
    assert evidence.bounded == sum(peer.picks for peer in backends.peers.values())
    assert evidence.overrun <= 0


def test_weights_that_stay_the_same_begin_no_epoch() -> None:
    backends = Backends("AB")
    for _ in range(20):
        backends.weigh(A=100, B=300)
        backends.now_s += 0.2
        backends.run(10)
    assert backends.balancer.epochs == 1  # that of the one pick at which the weights were looked at first


def test_new_weights_favour_nobody_however_often_they_come() -> None:
    backends = Backends("AB")
    counts: Counter[str] = Counter()
    for step in range(4000):
        backends.weigh(A=300 + step % 2, B=100)
        backends.now_s += 0.2
        counts += backends.run(1)
    assert counts["A"] == pytest.approx(3000, abs=60)


def test_the_capacity_is_met_after_one_update_whatever_the_shares_were() -> None:
    capacity = {"A": 100.0, "B": 200.0, "C": 300.0}
    backends = Backends("ABC")
    shares = simulated(backends, capacity, lambda key: 0.0, total_qps=150.0, rounds=1)
    assert shares == pytest.approx([1 / 6, 2 / 6, 3 / 6], abs=1e-4)


def test_errors_move_the_shares_to_the_published_fixed_point() -> None:
    vector = VECTORS["wrr_penalty_fixed_point"]
    given, expect = vector["given"], vector["expect"]
    capacity = dict(zip("ABC", given["capacity"], strict=True))
    failing = dict(zip("ABC", given["error_fraction"], strict=True))
    total = given["total_qps"]
    for rounds, wanted in ((1, expect["after_1_update_qps"]), (40, expect["limit_qps"])):
        backends = Backends("ABC", {**QUICK, "error-utilization-penalty": str(given["penalty"])})
        shares = simulated(backends, capacity, failing.__getitem__, total, rounds)
        assert [share * total for share in shares] == pytest.approx(wanted, abs=0.01)


def simulated(
    backends: Backends, capacity: Mapping[str, float], failing: Callable[[str], float], total_qps: float, rounds: int
) -> list[float]:
    """The shares after so many updates, by servers that are busy with qps / capacity of their time."""
    shares = backends.shares()
    for _ in range(rounds):
        for key, share in zip(capacity, shares, strict=True):
            qps = share * total_qps
            backends.report(
                key, LoadReport(rps_fractional=qps, eps=qps * failing(key), application_utilization=qps / capacity[key])
            )
        backends.now_s += 0.2
        shares = backends.shares()
    return shares


# What is said.


def test_servers_that_do_not_report_are_told_of() -> None:
    backends = Backends("AB")
    assert list(backends.balancer.doubts()) == []
    for peer in backends.peers.values():
        backends.balancer.ended(peer, 0, backends.now_ns, OK)
    assert list(backends.balancer.doubts()) == ["servers do not report load: this policy is round robin"]
    assert set(backends.states().values()) == {"no report"}
    backends.weigh(A=100)
    assert list(backends.balancer.doubts()) == [
        "1 of 2 backends report a load, 2 are needed: this policy is round robin"
    ]


def test_reports_that_do_not_count_yet_are_told_of() -> None:
    backends = Backends("ABC", {})
    backends.weigh(A=100, B=300)
    backends.run(5)
    backends.balancer.ended(backends.peers["C"], 0, backends.now_ns, OK)
    assert list(backends.balancer.doubts()) == [
        "load reports have not counted yet (blackout-period): until they do this policy is round robin"
    ]
    backends.now_s += 10
    backends.run(1)
    assert list(backends.balancer.doubts()) == ["1 of 3 backends do not report load: they get the mean of the others"]
    backends.weigh(C=100)
    assert list(backends.balancer.doubts()) == []


def test_out_of_band_reports_count_and_trailers_do_not_when_it_is_asked_for() -> None:
    backends = Backends("AB", {**QUICK, "enable-oob-load-report": "true", "oob-reporting-period": "2s"})
    assert reporting_period_s(backends.balancer.policy) == 2.0
    assert reporting_period_s(POLICY) is None
    backends.weigh(A=100, B=300)
    backends.now_s += 1
    assert backends.shares() == [1 / 2] * 2
    for key, weight in (("A", 100), ("B", 300)):
        report = LoadReport(rps_fractional=weight, cpu_utilization=1.0)
        backends.balancer.reported(backends.peers[key], report, backends.now_ns)
    backends.now_s += 1
    assert backends.shares() == pytest.approx([1 / 4, 3 / 4], abs=1e-4)


@pytest.mark.parametrize(
    ("name", "value"), [("error-utilization-penalty", "-0.1"), ("weight-update-period", "99ms"), ("clamp", "rust")]
)
def test_options_that_grpc_refuses_are_refused(name: str, value: str) -> None:
    with pytest.raises(UsageError, match=name):
        POLICY.with_options({name: value})


def test_a_tiny_weight_is_not_starved_unless_asked_to_be_as_in_go() -> None:
    for clamp, wanted in (("core", 0.005), ("java", 0.05), ("none", 0.0)):
        backends = Backends("AB", {**QUICK, "clamp": clamp})
        backends.weigh(A=1_000_000, B=1)
        backends.now_s += 1
        assert backends.shares()[1] == pytest.approx(wanted, abs=wanted / 10 + 1e-6)


def test_a_service_config_of_grpc_sets_every_option_that_it_names() -> None:
    config = {
        "enableOobLoadReport": True,
        "oobReportingPeriod": "2s",
        "blackoutPeriod": "0s",
        "weightExpirationPeriod": "60s",
        "weightUpdatePeriod": "0.5s",
        "errorUtilizationPenalty": 2.5,
        "metricNamesForComputingUtilization": ["named_metrics.disk", "mem_utilization"],
    }
    balancing = parse_service_config(json.dumps({"loadBalancingConfig": [{"weighted_round_robin": config}]})).balancing
    assert balancing is not None
    assert POLICY.with_options(balancing.options).options == replace(
        POLICY.options,
        enable_oob_load_report=True,
        oob_reporting_period=2.0,
        blackout_period=0.0,
        weight_expiration_period=60.0,
        weight_update_period=0.5,
        error_utilization_penalty=2.5,
        metric_names_for_computing_utilization="named_metrics.disk,mem_utilization",
    )
