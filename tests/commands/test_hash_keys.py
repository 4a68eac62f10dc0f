"""The keys of a run, and what is refused before it."""

from __future__ import annotations

from pathlib import Path

import pytest

from lbctl.balance.keys import parse_source
from lbctl.balance.policies.table import POLICIES
from lbctl.cli import run
from lbctl.commands.calling import Calling, Payload
from lbctl.commands.hash_keys import keys_of, one_key
from lbctl.errors import UsageError
from lbctl.rpc.message import encode
from tests.rpc.schemas import KITCHEN_SINK

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
