"""``lbctl ls`` of the keys that are no registrations: ``--all``, and ``--explain`` of any key."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from tests.cli.conftest import ECHO, Keys, Lbctl

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
SCHEMA = REFERENCE / "services.schema.json"
OTHERS = {
    "conf/db": "db:5432",
    "conf/secret": "hunter2",
    "/registry/secrets/default/a": "hunter2",
    "/registry/secrets/default/b": "hunter2",
}

pytestmark = pytest.mark.usefixtures("at")


def test_keys_that_are_no_registrations_are_counted(lbctl: Lbctl, keys: Keys) -> None:
    keys(ECHO | OTHERS)
    assert lbctl("ls").err == "note: 4 other keys; see: lbctl ls --all\n"
    assert lbctl("ls", "echo").err == ""
    keys({"conf/db": "x"})
    assert lbctl("ls").err.splitlines()[1] == "note: 1 other key; see: lbctl ls --all"


def test_no_key_is_none_to_explain(lbctl: Lbctl) -> None:
    said = lbctl("ls", "--explain", "")
    assert (said.status, said.err) == (2, "error: --explain needs a key\nhint: see what there is: lbctl ls --all\n")


def test_all_lists_what_may_be_a_service_and_why_the_rest_is_none(lbctl: Lbctl, keys: Keys) -> None:
    keys(ECHO | OTHERS)
    said = lbctl("ls", "--all")
    services, possible, others = said.out.split("\n\n")
    assert services.splitlines()[1].split()[0] == "echo"
    assert [line.split()[:4] for line in possible.splitlines()[1:]] == [["conf", "plain", "1", "conf/"]]
    assert [line.split(None, 2) for line in others.splitlines()[1:]] == [
        ["conf/secret", "1", "no layout has such a key and value"],
        ["/registry/", "2", "Kubernetes data"],
    ]
    assert said.err == ""
    document = json.loads(lbctl("ls", "--all", "-o", "json").out)
    Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8"))).validate(document)
    assert document["other_keys"] == 4
    assert [service["name"] for service in document["possible"]] == ["conf"]
    assert document["others"] == [{"key": "conf/secret", "why": "no layout has such a key and value"}]
    assert document["unread"] == [{"where": "/registry/", "keys": 2, "why": "Kubernetes data"}]
    for output in ("table", "json", "yaml"):
        assert "hunter2" not in lbctl("ls", "--all", "-o", output).out


def test_explain_tells_what_every_rule_made_of_a_key(lbctl: Lbctl, keys: Keys) -> None:
    keys(ECHO | OTHERS)
    said = lbctl("ls", "--explain", "/services/echo/127.0.0.1:50061")
    rules = [line.split() for line in said.out.splitlines()]
    assert rules[0] == ["RULE", "OUTCOME", "WHY"]
    assert rules[-1] == ["seed", "instance", "127.0.0.1:50061", "of", "echo"]
    assert said.status == 0
    document = json.loads(lbctl("ls", "--explain", "conf/secret", "-o", "json").out)
    schema = json.loads((REFERENCE / "explanation.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator(schema).validate(document)
    assert (document["key"], {rule["outcome"] for rule in document["rules"]}) == ("conf/secret", {"no"})
    assert "hunter2" not in str(document)
    skipped = lbctl("ls", "--explain", "/registry/secrets/default/a", "--no-headers").out
    assert skipped.split(None, 4)[4:] == ["skipped  Kubernetes data\n"]


def test_a_key_to_explain_that_is_not_there_is_4_and_no_etcd_is_3(lbctl: Lbctl, keys: Keys, closed_port: int) -> None:
    keys(ECHO)
    assert lbctl("ls", "--explain", "/services/echo/127.0.0.1:5006") == (
        4,
        "",
        'error: no key "/services/echo/127.0.0.1:5006" in etcd\n'
        "hint: did you mean: /services/echo/127.0.0.1:50062, /services/echo/127.0.0.1:50061, "
        "/services/echo/[::1]:50063\n",
    )
    assert lbctl("ls", "--explain", "\x1b[2J").err.startswith('error: no key "\\x1b[2J" in etcd\n')
    assert lbctl("ls", "--explain", "x", "--endpoints", f"127.0.0.1:{closed_port}").status == 3


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (("--all", "echo"), "--all goes with no SERVICE"),
        (("--all", "-w"), "--all does not go with -w"),
        (("--all", "-o", "csv"), "--all has no output format 'csv'"),
        (("--explain", "k", "echo"), "--explain goes with no SERVICE"),
        (("--explain", "k", "--all"), "--explain does not go with --all"),
        (("--explain", "k", "-o", "name"), "--explain has no output format 'name'"),
    ],
)
def test_flags_that_contradict_each_other_are_refused(lbctl: Lbctl, line: tuple[str, ...], error: str) -> None:
    said = lbctl("ls", *line)
    assert (said.status, said.err.splitlines()[0]) == (2, f"error: {error}")
