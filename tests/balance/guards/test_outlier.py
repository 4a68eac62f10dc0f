"""Outlier detection: published figures, the timeline, the limits and the dialects."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random

import pytest

from lbctl.balance.balancer import Balancer
from lbctl.balance.guards.outlier import OutlierDetection, OutlierOptions
from lbctl.balance.guards.outlier_math import Sample, by_failures, by_success_rate, spread
from lbctl.balance.policies.options import parse
from lbctl.model import Code, Reply
from tests.balance.fleet import OK, VECTORS
from tests.balance.guards.ward import SECOND, Ward

FIVE = "ABCDE"
TEN = "ABCDEFGHIJ"


def options(**values: object) -> OutlierOptions:
    return OutlierOptions(**values)  # type: ignore[arg-type]


def ward(keys: str = FIVE, **values: object) -> Ward:
    return Ward(keys, lambda balancer: [OutlierDetection(options(**values), balancer, Random(7))])


def answer(one: Ward, failing: dict[str, int], calls: int = 100) -> None:
    """Every backend in the rotation answers as many calls; so many of them fail."""
    for peer in one.balancer.peers.values():
        key = peer.instance.key
        if not peer.bars:
            one.ok(key, calls - failing.get(key, 0))
            one.fail(key, failing.get(key, 0))


# ---- figures ---------------------------------------------------------------------------------------------------------


def test_envoys_example() -> None:
    given, expected = VECTORS["outlier_envoy_example"]["given"], VECTORS["outlier_envoy_example"]["expect"]
    samples = [Sample(rate, 100) for rate in given["success_rates_pct"]]
    found = spread(samples)
    assert found.mean * 100 == pytest.approx(expected["mean"])
    assert found.stdev * 100 == pytest.approx(expected["stdev"])
    assert (found.stdev * 100) ** 2 == pytest.approx(expected["variance"])
    assert found.threshold(given["stdev_factor"]) * 100 == pytest.approx(expected["threshold"])
    assert [n for n, out in enumerate(by_success_rate(samples, given["stdev_factor"])) if out] == expected["outliers"]


def test_mean_and_deviation_of_a_population() -> None:
    vector = VECTORS["outlier_math"]
    found = spread([Sample(value, 1) for value in vector["given"]["values"]])
    assert found.mean == vector["expect"]["mean"]
    assert found.stdev == pytest.approx(vector["expect"]["population_stdev"], rel=1e-12)


def test_how_many_equal_outliers_of_how_many_backends_are_found() -> None:
    law = VECTORS["outlier_one_of_n_law"]["expect"]
    for bad, least in law["min_n_for_k_at_1900"].items():
        found = [
            n for n in range(int(bad) + 1, 40) if any(by_success_rate(_bad_of(int(bad), n, successes=0), factor=1900))
        ]
        assert found == list(range(least, 40))  # from there on always, below never
    never = not any(by_success_rate(_bad_of(1, 4, successes=0), 1900))
    assert never is law["n4_k1_never"]
    assert any(by_success_rate(_bad_of(1, 5, successes=99), 1900)) is law["n5_k1_99_vs_100_percent_ejected"]


def _bad_of(bad: int, count: int, *, successes: int) -> list[Sample]:
    return [Sample(successes, 100)] * bad + [Sample(100, 100)] * (count - bad)


def test_one_failed_call_of_five_hundred_ejects_a_backend() -> None:
    vector = VECTORS["outlier_99_vs_100"]
    rates = spread([Sample(successes, vector["given"]["volume"]) for successes in vector["given"]["success"]])
    assert [*rates, rates.threshold(1900)] == pytest.approx(
        [vector["expect"][name] for name in ("mean", "stdev", "threshold")]
    )
    one = ward()
    for key, successes in zip(FIVE, vector["given"]["success"], strict=True):
        one.ok(key, successes)
        one.fail(key, vector["given"]["volume"] - successes)
    one.pass_(10)
    assert one.inside == "".join(key for n, key in enumerate(FIVE) if n not in vector["expect"]["ejected"])
    (told,) = one.events("ejected")
    assert told == "E: ejected for 30s by grpc: success rate 99.0%, below 99.0% of 5 backends"


def test_one_failing_backend_of_five_is_ejected_as_in_grpc_java() -> None:
    vector = VECTORS["outlier_java_one"]
    given = vector["given"]
    one = ward(
        success_hosts=given["minimum_hosts"],
        success_volume=given["request_volume"],
        max_ejection_percent=given["max_ejection_percent"],
        detect="success-rate",
    )
    failing = {FIVE[n]: given["calls_per_host"] for n in given["failing_hosts"]}
    answer(one, failing, given["calls_per_host"])
    one.pass_(10)
    assert one.inside == "".join(key for n, key in enumerate(FIVE) if n not in vector["expect"]["ejected"])
    samples = [Sample(0 if n in given["failing_hosts"] else 20, 20) for n in range(5)]
    assert spread(samples).threshold(1900) == pytest.approx(vector["expect"]["threshold"])


def test_the_failure_percentage_at_the_threshold_is_envoys_alone() -> None:
    vector = VECTORS["outlier_failure_percentage_edge"]
    samples = [Sample(100 - failed, 100) for failed in vector["given"]["failure_pct"]]
    threshold = vector["given"]["threshold"]
    assert [by_failures(sample, threshold, inclusive=False) for sample in samples] == vector["expect"]["grpc"]
    assert [by_failures(sample, threshold, inclusive=True) for sample in samples] == vector["expect"]["envoy"]


# ---- time ------------------------------------------------------------------------------------------------------------


def test_a_backend_that_stays_bad_is_out_longer_each_time() -> None:
    vector = VECTORS["outlier_timeline"]
    given, expected = vector["given"], vector["expect"]
    one = ward(
        interval=given["interval_s"],
        base_ejection_time=given["base_s"],
        max_ejection_time=given["max_s"],
        stdev_factor=0,
    )
    seen = []
    for at in range(10, 250, 10):
        before = one.inside
        answer(one, {"A": 100})
        one.pass_(10)
        if one.inside != before:
            seen.append(at)
    names = ("eject_1_at", "uneject_1_at", "eject_2_at", "uneject_2_at", "eject_3_at", "uneject_3_at")
    assert seen == [expected[name] for name in names]
    assert len(one.events("ejected")) == len(one.events("restored")) == 3
    assert one.events("restored")[0] == "A: back in the rotation after 40s"
    assert one.guards[0].counts(one.peer("A")) == {"ejections": 3}


def test_how_late_a_look_comes_does_not_change_when_a_backend_is_back() -> None:
    for late in ((0.0, 0.02), (0.02, 0.0)):  # of the looks at an even and an odd time
        one = ward(interval=1, base_ejection_time=1)
        seen = ""
        for second in range(1, 10):
            answer(one, {"A": 100})
            one.pass_(1 + second + late[second % 2] - one.now_ns / SECOND)
            seen += "-" if one.peer("A").bars else "A"
        assert seen == "--A---A--"  # out at 1 for a second and at 4 for two: over, not at, the end of the time
        assert one.events("restored") == ["A: back in the rotation after 2s", "A: back in the rotation after 3s"]


def test_no_ejection_is_longer_than_the_longest() -> None:
    one = ward(interval=1, base_ejection_time=1, max_ejection_time=3)
    for _ in range(200):
        answer(one, {"A": 100})
        one.pass_(1)
    lasted = [text.split()[3] for text in one.events("ejected")]
    assert lasted[:3] == ["1s", "2s", "3s"]
    assert set(lasted[3:]) == {"3s"}


def test_a_longest_time_below_the_base_time_does_not_count() -> None:
    one = ward(interval=1, base_ejection_time=5, max_ejection_time=1)
    answer(one, {"A": 100})
    one.pass_(1)
    assert one.events("ejected")[0].startswith("A: ejected for 5s")


def test_good_intervals_make_the_next_ejection_shorter_again() -> None:
    one = ward(interval=10, base_ejection_time=10)
    for _ in range(3):  # 10 s, then 20, then 30
        answer(one, {"A": 100})
        one.pass_(10)
        while one.peer("A").bars:
            one.pass_(10)
    answer(one, {})
    one.pass_(10)
    answer(one, {})
    one.pass_(10)  # two good intervals: 3 has become 1
    answer(one, {"A": 100})
    one.pass_(10)
    assert [text.split()[3] for text in one.events("ejected")] == ["10s", "20s", "30s", "20s"]


def test_a_backend_that_left_and_came_back_starts_clean() -> None:
    one = ward()
    answer(one, {"A": 100})
    one.pass_(10)
    assert one.inside == "BCDE"
    listed = [peer.instance for peer in one.balancer.peers.values()]
    one.set(*listed[1:])
    one.set(*listed)
    assert one.inside == "ABCDE"
    answer(one, {"A": 100})
    one.pass_(10)
    assert [text.split()[3] for text in one.events("ejected")] == ["30s", "30s"]
    assert one.guards[0].counts(one.peer("A")) == {"ejections": 2}


def test_a_stall_of_many_intervals_is_one_look() -> None:
    one = ward()
    answer(one, {"A": 100})
    one.pass_(1000)
    assert len(one.events("ejected")) == 1
    one.pass_(9)  # the next look is at 1010, not before
    assert one.inside == "BCDE"


# ---- limits ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("percent", "dialect", "ejected"), [
    (0, "grpc", 0), (10, "grpc", 1), (20, "grpc", 1), (21, "grpc", 2), (40, "grpc", 2), (100, "grpc", 5),
    (0, "core", 1), (10, "core", 1), (20, "core", 1), (40, "core", 2),
    (0, "envoy", 0), (10, "envoy", 0), (20, "envoy", 1), (39, "envoy", 1), (100, "envoy", 5),
])  # fmt: skip
def test_how_many_of_five_may_be_out(percent: int, dialect: str, ejected: int) -> None:
    one = ward(max_ejection_percent=percent, dialect=dialect, detect="failure-percentage")
    answer(one, dict.fromkeys(FIVE, 100))
    one.pass_(10)
    assert sum(bool(peer.bars) for peer in one.balancer.peers.values()) == ejected


def test_outliers_that_there_is_no_room_for_outside_are_told_once_and_counted() -> None:
    one = ward(max_ejection_percent=20, detect="failure-percentage", failure_hosts=3)
    for failing in ("AB", "AB", "ABC", "ABC", ""):  # A is ejected, and is out all the time
        answer(one, dict.fromkeys(failing, 100))
        one.pass_(10)
    assert one.inside == "ABCDE"
    assert one.events("health") == [
        "B: stays in the rotation, max-ejection-percent 20 allows no more out: 100.0% of its 100 calls failed",
        "B: and another outlier stay in the rotation, max-ejection-percent 20 allows no more out:"
        " 100.0% of its 100 calls failed",
    ]
    told = "outlier detection: 6 ejections were not made, max-ejection-percent 20 allows no more"
    assert list(one.guards[0].doubts()) == [told]


def test_an_outlier_that_chance_spares_is_counted_apart() -> None:
    one = ward(failure_enforcement=0, detect="failure-percentage")
    answer(one, {"A": 100})
    one.pass_(10)
    assert (one.inside, one.told) == (FIVE, [])
    assert list(one.guards[0].doubts()) == ["outlier detection: 1 ejection was not made, enforcement spared it"]


@pytest.mark.parametrize(("enforcement", "dialect", "rate"), [
    (0, "grpc", 0.0), (1, "grpc", 0.01), (50, "grpc", 0.5), (100, "grpc", 1.0),
    (1, "core", 0.0), (50, "core", 49 / 99), (100, "core", 1.0), (50, "envoy", 0.5),
])  # fmt: skip
def test_ejections_are_enforced_as_often_as_the_dialect_says(enforcement: int, dialect: str, rate: float) -> None:
    one = Ward(FIVE)
    guard = OutlierDetection(
        options(
            failure_enforcement=enforcement, dialect=dialect, detect="failure-percentage", max_ejection_percent=100
        ),
        one.balancer,
        Random(5),
    )
    spared = sum(bool(guard._obstacle(0, 5, enforcement)) for _ in range(4000))
    assert 1 - spared / 4000 == pytest.approx(rate, abs=0.03)


def test_backends_with_few_calls_are_not_judged_and_that_is_told() -> None:
    one = ward()
    answer(one, {"A": 49}, calls=49)
    one.pass_(10)
    assert one.inside == FIVE
    assert list(one.guards[0].doubts()) == [
        "outlier detection judged nobody: it needs 5 backends with 50 calls in 10s, at most 0 had so many"
    ]
    answer(one, {}, calls=100)
    one.pass_(10)
    assert not list(one.guards[0].doubts())


def test_four_backends_are_too_few_and_that_is_told() -> None:
    one = ward("ABCD")
    answer(one, {"A": 100})
    one.pass_(10)
    assert one.inside == "ABCD"
    assert list(one.guards[0].doubts()) == ["outlier detection judged nobody: it needs 5 backends, and there are 4"]


def test_who_is_out_already_counts_in_the_statistics_but_for_envoy() -> None:
    for dialect, again in (("grpc", True), ("envoy", False)):
        one = ward(TEN, dialect=dialect, detect="failure-percentage", max_ejection_percent=100)
        for _ in range(2):
            for key in TEN:
                (one.fail if key == "A" else one.ok)(key, 100)  # A still gets calls: it panics
            one.pass_(10)
        assert (len(one.events("ejected")) == 2) is again


@pytest.mark.parametrize(("detect", "ejected"), [("success-rate", "A"), ("failure-percentage", ""), ("both", "A")])
def test_each_test_can_be_made_alone(detect: str, ejected: str) -> None:
    one = ward(TEN, detect=detect)
    answer(one, {"A": 60})  # 60 % failures are below 85 %
    one.pass_(10)
    assert "".join(text[0] for text in one.events("ejected")) == ejected


def test_a_stream_that_ended_ok_counts_as_a_success() -> None:
    one = ward()
    balancer: Balancer = one.balancer
    for key in FIVE:
        for _ in range(100):
            balancer.ended(one.peer(key), 0, one.now_ns, Reply(Code.NOT_FOUND) if key == "A" else OK)
    one.pass_(10)
    assert one.inside == "BCDE"


def test_options_are_typed_by_their_names() -> None:
    typed = {"interval": "500ms", "base-ejection-time": "2s", "max-ejection-percent": "50", "dialect": "core"}
    found = parse("--outlier-detection", OutlierOptions(), typed)
    assert found == options(interval=0.5, base_ejection_time=2.0, max_ejection_percent=50, dialect="core")


# ---- properties ------------------------------------------------------------------------------------------------------


def test_no_more_are_ejected_than_the_limit_rounded_up() -> None:
    rng = Random(3)
    for _ in range(40):
        count, percent = rng.randint(1, 26), rng.randint(0, 100)
        keys = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[:count]
        one = ward(keys, max_ejection_percent=percent, success_hosts=1, failure_hosts=1)
        for _ in range(3):
            answer(one, {key: rng.choice((0, 90, 100)) for key in keys})
            one.pass_(10)
            assert sum(bool(peer.bars) for peer in one.balancer.peers.values()) <= math.ceil(count * percent / 100)


def test_nobody_is_an_outlier_where_all_are_equal() -> None:
    rng = Random(4)
    for _ in range(1000):
        total = rng.randint(1, 1000)
        successes, times = rng.randint(0, total), rng.randint(1, 50)
        # the same rate, from volumes that differ
        samples = [Sample(successes * n, total * n) for n in (rng.randint(1, 9) for _ in range(times))]
        assert not any(by_success_rate(samples, rng.choice((0, 1, 1900))))


def test_a_thousand_backends_with_large_odd_volumes_are_decided_exactly() -> None:
    samples = [Sample(999_983 + n, 1_000_003 + n) for n in range(1000)]
    mean = sum(Fraction(*sample) for sample in samples[:20]) / 20
    variance = sum((Fraction(*sample) - mean) ** 2 for sample in samples[:20]) / 20
    expected = [(mean - Fraction(*s)) > 0 and (mean - Fraction(*s)) ** 2 > variance for s in samples[:20]]
    assert by_success_rate(samples[:20], 1000) == expected
    assert any(by_success_rate(samples, 1000))
