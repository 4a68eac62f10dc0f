"""The keys of a run, and what is refused before it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lbctl.balance.keys import Population, parse_source
from lbctl.balance.policies.table import POLICIES
from lbctl.cli import run
from lbctl.commands.calling import Calling, Payload, Share, described, described_in_mix, mix_of
from lbctl.commands.hash_keys import finder_of, follows, keys_of, one_key
from lbctl.commands.varying import judge_of, varying_of
from lbctl.errors import UsageError
from lbctl.load.batch import Batch, Laden
from lbctl.load.requests.content import Content
from lbctl.load.requests.given import Given, Order
from lbctl.model import Code, Origin, Reply
from lbctl.rpc.messages.message import encode
from tests.fakes import FakeClock
from tests.rpc.protos import KITCHEN_SINK

PLAIN = Calling("t.Service/Method", b"")


def test_keys_do_not_depend_on_anything_but_the_seed() -> None:
    sources = [keys_of(parse_source("uniform(1000)"), seed, Payload(), PLAIN) for seed in (1, 1, 2)]
    first, same, other = ([next(source) for _ in range(300)] for source in sources if source is not None)
    assert first == same != other
    assert keys_of(None, 1, Payload(), PLAIN) is None


def test_metadata_is_the_key_as_it_is_sent_and_several_values_are_joined() -> None:
    payload = Payload(metadata=((b"x-user", b"alice"), (b"other", b"1"), (b"x-user", b"bob")))
    keys = keys_of(parse_source("meta:X-User"), 1, payload, PLAIN)
    assert keys is not None
    assert [next(keys), next(keys)] == [b"alice,bob"] * 2


def test_metadata_that_is_not_sent_is_no_key() -> None:
    with pytest.raises(UsageError, match="no metadata of that name is sent") as refused:
        keys_of(parse_source("meta:x-user"), 1, Payload(metadata=((b"x-id", b"1"),)), PLAIN)
    assert refused.value.hint == "send it: -H 'x-user: VALUE'"


def test_a_field_of_the_message_is_the_key() -> None:
    calling = Calling("t.Service/Method", encode(KITCHEN_SINK, '{"maybe": "7"}'), schema=KITCHEN_SINK)
    keys = keys_of(parse_source("field:maybe.value"), 1, Payload(), calling)
    assert keys is not None
    assert next(keys) == b"7"


def test_raw_bytes_that_nobody_describes_have_no_fields() -> None:
    with pytest.raises(UsageError, match="needs a method that a backend describes"):
        keys_of(parse_source("field:name"), 1, Payload(raw=b""), PLAIN)


def test_who_balances_by_one_key_is_told_so() -> None:
    assert "one backend gets them all" in one_key(parse_source("meta:user"))


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No setting of the person who runs the tests may reach them; no etcd is there to be asked."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("LBCTL_ENDPOINTS", "127.0.0.1:1")
    for name in ("LBCTL_CONFIG", "LBCTL_POLICY", "LBCTL_OUTPUT", "ETCDCTL_ENDPOINTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("nowhere")
@pytest.mark.parametrize("policy", [name for name, policy in POLICIES.items() if policy.keyed])
def test_a_policy_that_picks_by_key_is_refused_without_keys_before_anybody_is_asked(
    policy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["hammer", "echo", "--policy", policy]) == 2
    said = capsys.readouterr().err
    assert f"error: policy {policy} picks by the hash key of a call, and no --hash-key says what that is" in said
    assert "hint: give one of meta:NAME, field:PATH, seq, uuid, 'zipf(1.1,100000)' or 'uniform(1000)'" in said


@pytest.mark.usefixtures("nowhere")
@pytest.mark.parametrize("policy", ["smooth_wrr", "p2c", "grpc:ring_hash"])
def test_keys_are_refused_where_the_policy_takes_none(policy: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["hammer", "echo", "--policy", policy, "--hash-key", "seq"]) == 2
    said = capsys.readouterr().err
    assert f"error: --hash-key: policy {policy} does not pick by key" in said
    assert "consistent_hash" in said


@pytest.mark.usefixtures("nowhere")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("zpf(1.1,100)", "'zpf(1.1,100)' is not a source of keys (did you mean zipf?"),
        ("meta:x-id-bin", "binary metadata is no key"),
        ("meta:a b", "'a b' is not a metadata name"),
        ("meta:grpc-timeout", "is not free to be set"),
    ],
)
def test_a_source_that_cannot_be_is_refused(text: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["hammer", "echo", "--policy", "maglev", "--hash-key", text]) == 2
    assert message in capsys.readouterr().err


def share(name: str, weight: float, **payload: object) -> Share:
    return Share(name, f"t.Service/{name}", weight, Payload(**payload))  # type: ignore[arg-type]


def part(text: str, **given: object) -> Calling:
    return described(Payload(data=text, given=Given(text=text, **given)), KITCHEN_SINK)  # type: ignore[arg-type]


def contents(mix: Calling, spelled: str, payload: Payload | None = None) -> tuple[Population, set[tuple[int, bytes]]]:
    """The keys that a mix is expected to have, and those that its first thousand contents have, by their method."""
    source, sent = parse_source(spelled), payload or Payload()
    keys = keys_of(source, 1, sent, mix, FakeClock())
    assert keys is not None
    supply = varying_of(mix, 1, 0, FakeClock(), finder_of(source, sent, mix)).contents  # type: ignore[union-attr]
    assert supply.supply(1000) == 1000
    found = [next(supply) for _ in range(1000)]
    supply.close()
    return keys.population(), {(each.method, each.key or b"") for each in found}


async def test_each_method_of_a_mix_has_the_key_that_is_found_in_its_calls() -> None:
    two = '[{"maybe": "8"}, {"maybe": "9"}]'
    mix = mix_of([(share("A", 3), part('{"maybe": "7"}')), (share("B", 1), part(two, order=Order.RANDOM))])
    population, found = contents(mix, "field:maybe.value")
    assert dict(zip(population.keys, population.parts, strict=True)) == {b"7": 0.75, b"8": 0.125, b"9": 0.125}
    assert (population.drawn, population.whole) == (True, True)
    assert found == {(0, b"7"), (1, b"8"), (1, b"9")}


async def test_keys_that_come_in_turn_are_no_draws() -> None:
    two = part('[{"maybe": "8"}, {"maybe": "9"}]')
    assert not contents(mix_of([(share("A", 1), part('{"maybe": "7"}')), (share("B", 1), two)]), "field:maybe.value")[
        0
    ].drawn


async def test_metadata_of_a_mix_is_that_of_all_and_that_of_the_method() -> None:
    parts = [part('{"name": "{{seq}}"}'), part("{}")]
    mix = mix_of([(share("A", 1), parts[0]), (share("B", 1, metadata=((b"x-id", b"2"),)), parts[1])])
    population, found = contents(mix, "meta:x-id", Payload(metadata=((b"x-id", b"1"),)))
    assert dict(zip(population.keys, population.parts, strict=True)) == {b"1": 0.5, b"1,2": 0.5}
    assert population.whole
    assert found == {(0, b"1"), (1, b"1,2")}
    with pytest.raises(UsageError, match=r"\AA: --hash-key meta:x-id: no metadata of that name is sent"):
        contents(mix, "meta:x-id")


def test_metadata_that_is_always_the_same_is_one_key_whatever_else_differs() -> None:
    source, payload = parse_source("meta:x-id"), Payload(metadata=((b"x-id", b"1"),))
    drawn = part('{"name": "{{seq}}"}')
    assert not follows(source, drawn)
    assert follows(parse_source("field:name"), drawn)
    assert follows(source, part("{}", drawn=((b"x-id", "{{seq}}"),)))
    keys = keys_of(source, 1, payload, drawn)
    assert keys is not None
    assert keys.population() == Population([b"1"], [1.0], drawn=False)


async def test_a_check_is_held_to_the_replies_of_its_method() -> None:
    wrong, right = Reply(Code.OK, Origin.CLIENT, "check failed"), Reply(Code.OK)
    checked = replace(part("{}"), judge=lambda reply: wrong)
    mix = mix_of([(share("A", 1), checked), (share("B", 1), part("{}"))])
    judge = judge_of(mix)
    assert judge is not None
    calls = [Laden(0, 0, 0, Content((b"",), method=number)) for number in (0, 1)]
    assert [judge(call, right) for call in calls] == [wrong, right]
    assert judge_of(mix_of([(share("A", 1), part("{}"))])) is None
    lone = judge_of(checked)
    assert lone is not None
    assert lone(Batch(0, 0, 0), right) is wrong


def test_a_check_that_does_not_fit_names_the_method() -> None:
    with pytest.raises(UsageError, match=r"^t\.S/M: --check: column 6: t\.Sink has no field 'q'"):
        described_in_mix(share("", 1, check="resp.q == 1"), KITCHEN_SINK)
