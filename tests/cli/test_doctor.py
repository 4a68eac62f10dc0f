"""``lbctl doctor`` as a command line: what it prints, and its exit status."""

from __future__ import annotations

import json
import shlex
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote_plus

import pytest
from jsonschema import Draft202012Validator

from lbctl.demo.etcd_server import EtcdServer
from lbctl.doctor.table import CHECKS
from tests.cli.conftest import Keys, Lbctl

DOCS = Path(__file__).parents[2] / "docs"
SCHEMA = json.loads((DOCS / "reference" / "doctor.schema.json").read_text(encoding="utf-8"))

pytestmark = pytest.mark.usefixtures("at")


@pytest.fixture
def dead(keys: Keys) -> Iterator[str]:
    """An address that refuses connections, registered for ever."""
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{reserved.getsockname()[1]}"
        keys({f"/services/echo/{address}": f"{address}|1"})
        yield address


def test_a_finding_says_what_why_and_how_to_mend_it(lbctl: Lbctl, dead: str) -> None:
    said = lbctl("doctor", "echo", "--select", "LB2,LB3")
    head, finding, foot = said.out.split("\n\n")
    assert head.splitlines()[1] == "echo        1 backend, layout seed, prefix /services/echo/"
    first, *rest = finding.splitlines()
    assert first.startswith(f"x LB201  {dead}  the key has no lease (created at revision ")
    assert first.endswith(", 0 revisions ago), and its port refuses connections")
    assert rest == [
        "         A crashed backend leaves it, and clients keep picking it.",
        "         fix: register under a lease that is kept alive; where nobody is there any more, take the key away",
        f"         lbctl deregister echo /services/echo/{dead}",
    ]
    assert foot.startswith("1 error; 13 checks in ")
    assert (said.status, said.err) == (1, "")


def test_the_document_has_everything_and_keeps_its_schema(lbctl: Lbctl, dead: str) -> None:
    said = lbctl("doctor", "-o", "json", "--fail-on", "warn")
    document = json.loads(said.out)
    Draft202012Validator(SCHEMA).validate(document)
    assert said.status == 1
    assert document["counts"] == {"error": 1, "warn": 0, "info": 0}
    assert [(each["code"], each["subject"], each["service"]) for each in document["findings"]] == [
        ("LB201", dead, "echo")
    ]
    assert {each["code"]: each["why"] for each in document["skipped"]} == {
        "LB401": "needs --probe",
        "LB403": "needs --probe",
        "LB501": "needs --canary",
    }
    assert sorted([*document["checks"], *(each["code"] for each in document["skipped"])]) == [
        check.code for check in CHECKS
    ]


def test_short_is_a_line_per_finding(lbctl: Lbctl, dead: str) -> None:
    said = lbctl("doctor", "-o", "short")
    assert said.out.startswith(f"echo/{dead}: error LB201 the key has no lease")
    assert len(said.out.splitlines()) == 1


def test_what_fails_is_the_users_choice(lbctl: Lbctl, keys: Keys) -> None:
    keys({"/services/echo/10.0.0.1:1": "10.0.0.1:1|0"})
    only = ("doctor", "--select", "LB206")
    assert lbctl(*only).status == 0
    assert lbctl(*only, "--fail-on", "warn").status == 1
    assert lbctl(*only, "--fail-on", "warn", "--exit-zero").status == 0
    assert lbctl("doctor", "--select", "LB20", "--ignore", "LB201,LB206", "--fail-on", "warn").status == 0


def test_an_empty_registry_is_examined_too_and_an_unknown_service_is_an_error(lbctl: Lbctl, keys: Keys) -> None:
    said = lbctl("doctor")
    assert said.status == 0
    assert "registry    no services\n\nnothing found; 20 checks in " in said.out
    assert lbctl("doctor", "nobody").status == 4


def test_an_etcd_that_does_not_answer_is_an_error_of_etcd(lbctl: Lbctl) -> None:
    assert lbctl("doctor", "--endpoints", "127.0.0.1:1", "--dial-timeout", "50ms").status == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--select", "LB9"), "--select: no check has the code LB9"),
        (("--canary", "--read-only"), "--read-only: nothing is written to etcd"),
        (("--policy", "random"), "--policy is for --probe"),
        (("--policy", "nobody", "--probe", "10"), "Invalid value for '--policy': 'nobody' is not a policy"),
        (("--policy", "maglev", "--probe", "10"), "policy maglev picks by the hash key of a call"),
        (("--prometheus", "localhost:9090"), "--prometheus: 'localhost:9090' is no URL"),
        (("--prometheus-cpu", "up"), "--prometheus-cpu: a query needs a Prometheus to be put to"),
        (("--fail-on", "info"), "Invalid value for '--fail-on': 'info' is not one of warn, error"),
    ],
)
def test_options_that_make_no_sense_are_refused(lbctl: Lbctl, arguments: tuple[str, ...], message: str) -> None:
    said = lbctl("doctor", *arguments)
    assert said.status == 2
    assert said.err.startswith(f"error: {message}")


def test_the_page_explains_every_code_with_the_title_and_level_that_it_has(at: EtcdServer) -> None:
    page = (DOCS / "how-to" / "doctor.md").read_text(encoding="utf-8")
    for check in CHECKS:
        assert f"| {check.code} | {check.level.word} | {check.title} |" in page


def test_given_backends_are_examined_and_no_etcd_is_asked(lbctl: Lbctl, dead: str) -> None:
    said = lbctl("doctor", "--backends", f"{dead}=3", "--endpoints", "127.0.0.1:1", "--connect-timeout", "2s")
    head, finding, foot = said.out.split("\n\n")
    assert head == "backends    1 backend, given by --backends"
    assert finding.splitlines()[0] == f"x LB301  {dead}  refused the connection"
    assert finding.splitlines()[-1].split() == [
        *("lbctl", "health", "--backends", f"{dead}=3", "--watch"),
        *("--connect-timeout", "2s"),
    ]
    assert foot.startswith("1 error; 7 checks in ")
    assert (said.status, said.err) == (1, "")


def test_the_document_of_given_backends_keeps_the_schema(lbctl: Lbctl, dead: str) -> None:
    document = json.loads(lbctl("doctor", "--backends", dead, "-o", "json").out)
    Draft202012Validator(SCHEMA).validate(document)
    assert (document["etcd"], document["revision"]) == (None, 0)
    assert [each["code"] for each in document["findings"]] == ["LB301"]
    assert {each["why"] for each in document["skipped"]} == {"needs etcd", "needs --probe"}


def test_what_etcd_would_have_to_be_asked_for_is_refused_with_given_backends(lbctl: Lbctl) -> None:
    for arguments, message in (
        (("echo",), "--backends goes with no SERVICE"),
        (("--canary",), "--canary is for etcd, and --backends does without"),
        (("--select", "LB2,LB1"), "none of these checks is of backends alone"),
    ):
        said = lbctl("doctor", "--backends", "127.0.0.1:1", *arguments)
        assert (said.status, said.err.partition("\n")[0]) == (2, f"error: {message}")


def test_commands_repeat_the_flags_and_no_password(lbctl: Lbctl, keys: Keys, at: EtcdServer, dead: str) -> None:
    where = ("--endpoints", at.endpoint, "--prefix", "/services/", "--layout", "seed", "--plaintext")
    said = lbctl("doctor", "echo", *where, "--select", "LB2", "-o", "json")
    (finding,) = json.loads(said.out)["findings"]
    assert finding["command"] == f"lbctl deregister echo /services/echo/{dead} {' '.join(where[:-1])}"


def test_services_of_one_name_are_named_in_full(lbctl: Lbctl, keys: Keys) -> None:
    value = {"id": "1", "name": "echo", "version": "", "metadata": {}, "endpoints": ["grpc://127.0.0.1:2"]}
    keys({"/services/echo/127.0.0.1:1": "127.0.0.1:1|1", "/microservices/echo/1": json.dumps(value)})
    document = json.loads(lbctl("doctor", "--select", "LB201,LB207", "-o", "json").out)
    assert {each["name"] for each in document["services"]} == {"echo"}
    assert {each["command"] for each in document["findings"]} == {
        "lbctl deregister /services/echo/ /services/echo/127.0.0.1:1",
        "lbctl deregister /microservices/echo/ /microservices/echo/1",
        "lbctl ls",
    }
    for each in document["findings"]:
        words = each["command"].split()[1:]
        assert lbctl(*words, *(["--dry-run"] if words[0] == "deregister" else [])).status == 0


def _dubbo(address: str, **parameters: str) -> str:
    told = "&".join(f"{name}={value}" for name, value in {"interface": "a.A", **parameters}.items())
    return f"/dubbo/a.A/providers/{quote_plus(f'tri://{address}/a.A?{told}')}"


def test_commands_name_keys_that_hold_secrets_by_their_addresses(lbctl: Lbctl, keys: Keys, dead: str) -> None:
    other = "192.0.2.1:50051"
    keys(
        {
            _dubbo(dead, token="hunter2", weight="0"): "",
            _dubbo(other, token="hunter2"): "",
            _dubbo(other, token="hunter3"): "",
            _dubbo("0.0.0.0:80", token="hunter2"): "",
        }
    )
    said = lbctl("doctor", "--select", "LB201,LB203,LB204,LB206")
    commands = [line.strip() for line in said.out.splitlines() if line.strip().startswith("lbctl ")]
    assert "hunter" not in said.out + said.err
    assert not any("***" in command for command in commands)
    assert {
        f"lbctl deregister a.A {dead}",
        f"lbctl weight a.A {dead}=1",
        "lbctl ls a.A -o json",
        "lbctl ls -o json",
    } <= {*commands}
    for command in commands:
        if " weight " in command:  # Dubbo has it in the key
            continue
        dry = () if " ls " in command else ("--dry-run",)
        assert lbctl(*shlex.split(command)[1:], *dry).status == 0, command
