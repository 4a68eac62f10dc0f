from __future__ import annotations

import uuid
from collections import Counter
from random import Random

import pytest

from lbctl.balance.balancer import Balancer
from lbctl.balance.hashing.picker import KeyPicker
from lbctl.balance.keys import MOST_KEYS, Keys, parse_source
from lbctl.balance.policies.base import Call
from lbctl.balance.policies.table import POLICIES
from lbctl.stats.chi_square import p_value
from lbctl.stats.fairness import judge
from tests.balance.keyed import at, hosts, owners, picker

KEYED = pytest.mark.parametrize("policy", [name for name, each in POLICIES.items() if each.keyed])
# What bounds load decides by load too.
OWNED = pytest.mark.parametrize(
    "policy", [name for name, each in POLICIES.items() if each.keyed and name != "bounded_load"]
)


def keys(text: str, seed: int = 1, constant: bytes = b"") -> Keys:
    return parse_source(text).keys(Random(seed), constant)


def draw(source: Keys, count: int) -> list[bytes]:
    return [next(source) for _ in range(count)]


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("meta:X-User-Id", "meta:x-user-id"),
        ("field:user.id", "field:user.id"),
        ("field:userId", "field:userId"),
        ("seq", "seq"),
        (" UUID ", "uuid"),
        ("zipf(1.1,100000)", "zipf(1.1,100000)"),
        ("zipf( .5 , 10 )", "zipf(0.5,10)"),
        ("zipf:2,3", "zipf(2,3)"),
        ("uniform(1k)", "uniform(1000)"),
        ("uniform:7", "uniform(7)"),
        (f"uniform({MOST_KEYS})", f"uniform({MOST_KEYS})"),
    ],
)
def test_a_source_is_read_and_spelled_in_one_way(text: str, spelled: str) -> None:
    source = parse_source(text)
    assert source.spelled == spelled
    assert parse_source(spelled) == source


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not a source of keys"),
        ("zpf(1,2)", "did you mean zipf?"),
        ("unifrom(3)", "did you mean uniform?"),
        ("user-id", "is not a source of keys (meta:NAME"),
        ("zipf", "zipf needs an exponent and a number of keys"),
        ("zipf(1.1)", "zipf needs an exponent and a number of keys"),
        ("zipf(0,10)", "the exponent is not a number above 0"),
        ("zipf(-1,10)", "the exponent is not a number above 0"),
        ("zipf(11,10)", "up to 10"),
        ("zipf(nan,10)", "the exponent is not a number"),
        ("zipf(1e3,10)", "the exponent is not a number"),
        ("zipf(1.1,0)", "the number of keys is not a whole number from 1 to 1000000"),
        ("zipf(1.1,1000001)", "the number of keys is not a whole number"),
        ("zipf(1.1,2,3)", "the number of keys is not a whole number"),
        ("uniform", "the number of keys is not a whole number"),
        ("uniform()", "the number of keys is not a whole number"),
        ("uniform(-5)", "the number of keys is not a whole number"),
        ("uniform(1.5)", "the number of keys is not a whole number"),
        ("uniform(99999999999999999999)", "the number of keys is not a whole number"),
        ("uniform(5", "is not a source of keys"),
        ("seq(5)", "seq takes nothing more"),
        ("uuid:4", "uuid takes nothing more"),
        ("meta", "the name of the metadata is missing"),
        ("meta:", "the name of the metadata is missing"),
        ("field", "the path of the field is missing"),
        ("field:a..b", "a step of the path is empty"),
        ("field:.a", "a step of the path is empty"),
    ],
)
def test_what_is_no_source_is_refused_with_its_reason(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=r".*") as caught:
        parse_source(text)
    assert said in str(caught.value)


@pytest.mark.parametrize("text", ["seq", "uuid", "zipf(1.1,1000)", "uniform(1000)"])
def test_the_same_seed_gives_the_same_keys(text: str) -> None:
    assert draw(keys(text, 7), 2000) == draw(keys(text, 7), 2000)
    assert text == "seq" or draw(keys(text, 7), 2000) != draw(keys(text, 8), 2000)


def test_asking_for_the_population_does_not_change_the_keys() -> None:
    for text in ("seq", "uuid", "zipf(1.1,100)", "uniform(10)"):
        asked, silent = keys(text), keys(text)
        assert asked.population() == asked.population()
        assert draw(asked, 600) == draw(silent, 600)


def test_seq_counts_and_its_keys_are_no_draws() -> None:
    source = keys("seq")
    assert draw(source, 3) == [b"0", b"1", b"2"]
    assert not source.population().drawn
    assert not source.population().whole


def test_uuids_are_random_ones_in_their_usual_spelling_and_never_twice() -> None:
    source = keys("uuid")
    drawn = draw(source, 5000)
    assert len(set(drawn)) == 5000
    for text in drawn[:500]:
        found = uuid.UUID(text.decode())
        assert (found.version, found.variant, str(found).encode()) == (4, uuid.RFC_4122, text)
    population = source.population()
    assert population.drawn
    assert not population.whole
    assert not set(population.keys) & set(drawn)


@pytest.mark.parametrize(("text", "exponent", "size"), [("zipf(1.1,50)", 1.1, 50), ("uniform(20)", 0.0, 20)])
def test_keys_come_as_often_as_their_population_says(text: str, exponent: float, size: int) -> None:
    source = keys(text)
    population = source.population()
    assert population.drawn
    assert population.whole
    weights = [rank**-exponent for rank in range(1, size + 1)]
    assert population.keys == [b"key-%d" % rank for rank in range(1, size + 1)]
    assert population.parts == pytest.approx([weight / sum(weights) for weight in weights])
    counts = Counter(draw(source, 50_000))
    chi2 = sum(
        (counts[key] - 50_000 * part) ** 2 / (50_000 * part)
        for key, part in zip(population.keys, population.parts, strict=True)
    )
    assert p_value(chi2, size - 1) > 1e-6


def test_a_constant_source_has_one_key() -> None:
    source = keys("meta:user", constant=b"alice")
    assert draw(source, 3) == [b"alice"] * 3
    assert source.population() == ([b"alice"], [1.0], False, True)


@OWNED
@pytest.mark.parametrize("text", ["zipf(1.1,2000)", "uniform(500)", "uuid"])
def test_counts_of_drawn_keys_pass_the_test_that_their_law_promises(policy: str, text: str) -> None:
    source = keys(text, 3)
    made = picker(policy, at(dict(zip(hosts(5), (3, 1, 2, 5, 1), strict=True))), source)
    law = made.law()
    assert law.drawn
    assert sum(law.shares) == pytest.approx(1.0)
    total = 20_000
    counts = Counter(made.pick(Call(1, key)) for key in draw(source, total))
    possible = [(counts[peer], total * share) for peer, share in zip(made.peers, law.shares, strict=True) if share]
    chi2 = sum((count - expected) ** 2 / expected for count, expected in possible)
    assert p_value(chi2, len(possible) - 1) > 1e-6


@OWNED
def test_shares_are_what_the_owners_of_all_keys_add_up_to(policy: str) -> None:
    source = keys("zipf(1.2,300)")
    made = picker(policy, at(hosts(4)), source)
    population = source.population()
    expected: Counter[str] = Counter()
    for address, part in zip(owners(made, population.keys), population.parts, strict=True):
        expected[address] += part  # type: ignore[assignment]  # parts add up as counts do
    assert made.law().shares == pytest.approx([expected[address] for address in hosts(4)])


@OWNED
def test_one_key_has_one_owner_and_no_call_may_go_elsewhere(policy: str) -> None:
    source = keys("meta:user", constant=b"alice")
    made = picker(policy, at(hosts(4)), source)
    law = made.law()
    (address,) = owners(made, [b"alice"])
    assert law.bound == 0.0
    assert law.shares == [float(each == address) for each in hosts(4)]


@KEYED
def test_keys_that_are_unknown_have_a_guide_and_no_test(policy: str) -> None:
    made = picker(policy, at(hosts(4)))
    law = made.law()
    assert not law.drawn
    assert law.bound == float("inf")
    assert law.shares == made.arcs()
    assert sum(law.shares) == pytest.approx(1.0)


def handed_out(made: KeyPicker, source: Keys, count: int) -> list[int]:
    """Pick for so many keys, and return the picks of each peer."""
    for key in draw(source, count):
        made.pick(Call(1, key)).picks += 1
    return [peer.picks for peer in made.peers]


@OWNED
def test_of_keys_that_count_up_every_count_is_known_from_where_the_picker_began(policy: str) -> None:
    source = keys("seq")
    draw(source, 1234)
    made = picker(policy, at(dict(zip(hosts(4), (3, 1, 2, 5), strict=True))), source)
    for total in (1, 700, 5000):
        counts = handed_out(made, source, total - sum(peer.picks for peer in made.peers))
        law = made.law()
        assert (law.bound, law.drawn, law.partial) == (0.0, False, False)
        assert [total * share for share in law.shares] == pytest.approx(counts)


def test_keys_that_were_picked_elsewhere_or_twice_may_be_anywhere() -> None:
    source = keys("seq")
    waiting = draw(source, 3)
    made = picker("ring_hash", at(hosts(3)), source)
    counts = handed_out(made, source, 500)
    for key in (*waiting, b"7"):  # three that waited, one whose call was not sent
        made.pick(Call(1, key)).picks += 1
    law = made.law()
    assert law.bound == 8.0
    assert law.shares == pytest.approx([count / 500 for count in counts])
    draw(source, 5)  # tried backends out
    assert made.law().bound == 2.0


def test_retries_do_not_count_among_the_picks_of_keys_that_count_up() -> None:
    source = keys("seq")
    made = picker("ring_hash", at(hosts(3)), source)
    handed_out(made, source, 100)
    for key in (b"1", b"2"):
        made.pick(Call(1, key, (made.peers[0],))).picks += 1
    assert made.law().bound == 0.0


@OWNED
def test_of_very_many_keys_that_count_up_some_more_are_looked_up_each_time(policy: str) -> None:
    source = keys("seq")
    made = picker(policy, at(hosts(4)), source)
    made.affordable = 1000
    counts = handed_out(made, source, 700)
    for _ in range(2):
        guide = made.law()
        assert (guide.partial, guide.bound) == (True, float("inf"))
        assert sum(guide.shares) == pytest.approx(1.0)
    assert [700 * share for share in made.law().shares] == pytest.approx(counts)
    assert not made.law().partial


@pytest.mark.parametrize(("calls", "verdict"), [(300, "balanced"), (2100, "not_applicable")])
def test_a_run_of_keys_that_count_up_is_judged_exactly_unless_there_are_too_many_to_look_up(
    calls: int, verdict: str
) -> None:
    source = keys("seq")
    balancer = Balancer(POLICIES["ring_hash"], Random(1), source)
    for peer in balancer.update(peer.instance for peer in at(hosts(3))).added:
        balancer.mark(peer, ready=True)
    made = balancer.picker
    assert isinstance(made, KeyPicker)
    made.affordable = 200
    handed_out(made, source, calls)
    found = judge(balancer.evidence(over=True))
    assert found.verdict == verdict
    if verdict == "balanced":
        made.peers[0].picks += 1
        made.peers[1].picks -= 1
        assert judge(balancer.evidence(over=True)).verdict == "skewed"
    else:
        assert found.note == "there are too many of the keys (seq) to look up whose all of them are"


@pytest.mark.parametrize("text", ["seq", "uuid", "zipf(1.1,1000)", "uniform(10)", "meta:user"])
def test_keys_like_others_are_of_the_same_population_and_leave_the_others_alone(text: str) -> None:
    silent, asked = keys(text, constant=b"alice"), keys(text, constant=b"alice")
    draw(silent, 2000)
    draw(asked, 2000)
    first, second = (asked.alike(Random(seed)) for seed in (5, 5))
    like = draw(first, 500)
    assert like == draw(second, 500)
    assert first.population() == asked.population()
    assert draw(asked, 100) == draw(silent, 100)
    if text == "seq":
        assert 0 < int(like[0]) < 2000


@OWNED
def test_of_very_many_keys_some_more_are_looked_up_each_time_and_then_the_law_is_exact(policy: str) -> None:
    source = keys("zipf(1.5,3000)")
    exact = picker(policy, at(hosts(4)), source)
    while not exact.law().drawn:
        pass
    slow = picker(policy, at(hosts(4)), source)
    slow.affordable = 1000
    for _ in range(2):
        guide = slow.law()
        assert not guide.drawn
        assert guide.shares == pytest.approx(exact.law().shares, abs=0.03)
        assert sum(guide.shares) == pytest.approx(1.0)
    for _ in range(3):
        assert slow.law().drawn
        assert slow.law().shares == pytest.approx(exact.law().shares)


def test_rendezvous_looks_up_the_fewer_keys_the_more_backends_there_are() -> None:
    found = [picker("rendezvous", at(hosts(count))).affordable for count in (1, 4, 200)]
    assert found == [100_000, 25_000, 500]


def test_at_the_end_of_a_run_the_owners_of_all_keys_are_known_however_short_it_was() -> None:
    source = keys("zipf(1.1,100000)")
    balancer = Balancer(POLICIES["rendezvous"], Random(1), source)
    for peer in balancer.update(peer.instance for peer in at(hosts(3))).added:
        balancer.mark(peer, ready=True)
    made = balancer.picker
    assert made is not None
    for number in range(1000):
        made.pick(Call(number, next(source))).picks += 1
    during, after = balancer.evidence(), balancer.evidence(over=True)
    assert (during.unjudged, during.drawn) == (1000, 0)
    assert (after.unjudged, after.drawn) == (0, 1000)
