"""``register``, ``drain``, ``undrain`` and ``deregister`` on a real etcd: what they print and what they refuse."""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest
from jsonschema import Draft202012Validator

from lbctl.cli.layouts import WRITERS
from lbctl.demo.etcd_server import EtcdServer
from lbctl.etcd.client import Etcd
from lbctl.etcd.config import EtcdConfig
from lbctl.model import Entry
from tests.cli.conftest import Keys, Lbctl

A, B = "127.0.0.1:50061", "127.0.0.1:50062"
KEY = f"/services/echo/{A}"
ECHO = {KEY: f"{A}|3", f"/services/echo/{B}": f"{B}|1"}

pytestmark = pytest.mark.usefixtures("at", "keys")

T = TypeVar("T")
Held = Callable[[], list[Entry]]


def in_etcd(server: EtcdServer, work: Callable[[Etcd], Coroutine[Any, Any, T]]) -> T:
    async def connected() -> T:
        async with Etcd(EtcdConfig((server.endpoint,))) as etcd:
            return await work(etcd)

    return asyncio.run(connected())


@pytest.fixture
def held(etcd_server: EtcdServer) -> Held:
    """What the session's etcd holds."""

    async def read(etcd: Etcd) -> list[Entry]:
        return list((await etcd.range(b"")).entries)

    return lambda: in_etcd(etcd_server, read)


def document(text: str, schema: str) -> dict[str, Any]:
    path = Path(__file__).parents[2] / "docs" / "reference" / f"{schema}.schema.json"
    found: dict[str, Any] = json.loads(text)
    Draft202012Validator(json.loads(path.read_text(encoding="utf-8"))).validate(found)
    return found


def test_once_puts_a_key_with_a_lease_and_leaves(lbctl: Lbctl, held: Held, etcd_server: EtcdServer) -> None:
    said = lbctl("register", "echo", A, "--weight", "3", "--once", "--ttl", "60s", "--no-headers")

    (entry,) = held()
    assert (entry.key.decode(), entry.value.decode()) == (KEY, f"{A}|3")
    left = in_etcd(etcd_server, lambda etcd: etcd.time_to_live(entry.lease))
    assert left is not None
    assert (left.granted, said.status) == (60, 0)
    assert said.out.split() == [KEY, A, "-", f"{A}|3", f"{entry.lease:x}"]
    assert said.err == f"1 key written at revision {entry.mod_revision}\n"


def test_a_key_without_a_lease_stays(lbctl: Lbctl, held: Held) -> None:
    assert lbctl("register", "echo", A, "--once", "--no-lease").status == 0
    assert [(entry.value, entry.lease) for entry in held()] == [(f"{A}|1".encode(), 0)]


@pytest.mark.parametrize("layout", WRITERS)
def test_what_is_registered_in_a_layout_is_listed_in_it(lbctl: Lbctl, layout: str) -> None:
    done = lbctl("register", "shop", A, "--layout", layout, "--once", "-o", "json")
    assert done.status == 0, done.err
    written = document(done.out, "changes")
    (service,) = json.loads(lbctl("ls", "-o", "json").out)["services"]
    (instance,) = service["instances"]
    assert (service["name"], service["layout"], instance["address"]) == ("shop", layout, A)
    assert (instance["key"], instance["lease"]["id"]) == (written["keys"][0]["key"], written["keys"][0]["lease"])


def test_a_prefix_is_what_the_key_starts_with(lbctl: Lbctl, held: Held) -> None:
    assert lbctl("register", "echo", A, "--prefix", "/prod/eu", "--once").status == 0
    assert [entry.key.decode() for entry in held()] == [f"/prod/eu/echo/{A}"]
    assert lbctl("ls", "--prefix", "/prod/eu", "-o", "name").out == "echo\n"


def test_metadata_goes_where_the_layout_has_a_place(lbctl: Lbctl, held: Held) -> None:
    options = ("--layout", "etcd-naming", "--metadata", "zone=a", "--metadata", "note=a=b", "--once")
    assert lbctl("register", "echo", A, *options).status == 0
    assert held()[0].value == b'{"Op":0,"Addr":"127.0.0.1:50061","Metadata":{"zone":"a","note":"a=b"}}'


def test_a_dry_run_writes_nothing_and_says_what_it_would(lbctl: Lbctl, held: Held, keys: Keys) -> None:
    keys(ECHO)
    said = lbctl("register", "echo", A, "--weight", "5", "--dry-run", "-o", "json")
    found = document(said.out, "changes")
    assert (found["state"], found["action"], found["layout"]) == ("dry_run", "register", "seed")
    assert found["keys"] == [
        {"key": KEY, "address": A, "lease": None, "value": f"{A}|3", "new_value": f"{A}|5", "written": False}
    ]
    assert said.err == "1 key would be written; nothing was written\n"
    assert [entry.value.decode() for entry in held()] == list(ECHO.values())


def test_the_key_of_a_dry_run_shows_where_a_lease_names_it(lbctl: Lbctl) -> None:
    said = lbctl("register", "user.rpc", A, "--layout", "go-zero", "--dry-run", "--no-headers")
    assert said.out.split() == ["user.rpc/LEASE", A, "-", A, "-"]


def test_a_key_that_is_there_is_taken_over_only_with_y(lbctl: Lbctl, keys: Keys, held: Held) -> None:
    keys(ECHO)
    refused = lbctl("register", "echo", A, "--once")
    assert (refused.status, refused.out) == (2, "")
    assert refused.err == (
        f"error: {KEY} is registered already: {A}|3\nhint: -y takes it over; lbctl ls echo shows its lease\n"
    )
    assert lbctl("register", "echo", A, "--once", "-y").status == 0
    assert [entry.value.decode() for entry in held()] == [f"{A}|1", f"{B}|1"]


def test_a_weight_given_to_a_drained_instance_ends_what_was_noted_of_it(lbctl: Lbctl, keys: Keys, held: Held) -> None:
    keys(ECHO)
    lbctl("drain", "echo", A, "-y")
    assert len(held()) == 3  # the note of what it was
    lbctl("weight", "echo", f"{A}=2", "-y")
    assert len(held()) == 2
    lbctl("weight", "echo", f"{A}=0", "-y")
    refused = lbctl("undrain", "echo", A, "-y")
    assert refused.status == 2  # who wrote 0 by hand has to say what follows
    assert refused.err.splitlines()[1] == f"hint: say it: lbctl weight echo {A}=WEIGHT"
    assert [entry.value.decode() for entry in held()] == [f"{A}|0", f"{B}|1"]


@pytest.mark.parametrize("service", ["sp ace", "/services/sp ace/"])
def test_the_way_back_is_a_command_line_that_a_shell_takes(lbctl: Lbctl, keys: Keys, held: Held, service: str) -> None:
    keys({f"/services/sp ace/{A}": f"{A}|3", f"/services/sp ace/{B}": f"{B}|1"})
    undo = lbctl("drain", service, A, "-y").err.splitlines()[-1]
    assert undo == f"undo: lbctl undrain '{service}' {A}"
    assert lbctl(*shlex.split(undo.removeprefix("undo: lbctl ")), "-y").status == 0
    assert [entry.value.decode() for entry in held()] == [f"{A}|3", f"{B}|1"]


def test_drain_and_undrain_tell_what_they_did_and_how_to_undo_it(lbctl: Lbctl, keys: Keys, held: Held) -> None:
    keys(ECHO)
    out = lbctl("drain", "echo", A, "-y", "--no-headers")
    assert out.out == f"{KEY}  3 -> 0  75.0% -> 0.0%  {A}|3  {A}|0  none\n"
    told, undo = out.err.splitlines()
    assert told.startswith("1 instance drained at revision ")
    assert told.endswith("; who registers again is back in the rotation")
    assert (out.status, undo) == (0, f"undo: lbctl undrain echo {A}")

    again = lbctl("drain", "echo", A, "-y")
    assert (again.status, again.err) == (0, "nothing to do: out of the rotation already\n")

    back = lbctl("undrain", "echo", A, "-y", "--no-headers")
    assert back.out == f"{KEY}  0 -> 3  0.0% -> 75.0%  {A}|0  {A}|3  none\n"
    assert back.err.startswith("1 instance undrained at revision ")
    assert [entry.value.decode() for entry in held()] == list(ECHO.values())

    again = lbctl("undrain", "echo", A, "-y")
    assert (again.status, again.err) == (0, "nothing to do: not drained\n")


def test_the_documents_of_drain_and_undrain_say_which_it_was(lbctl: Lbctl, keys: Keys) -> None:
    keys(ECHO)
    dry = document(lbctl("drain", "echo", A, "--dry-run", "-o", "json").out, "weights")
    out = document(lbctl("drain", "echo", A, "-y", "-o", "json").out, "weights")
    back = document(lbctl("undrain", "echo", A, "-y", "-o", "jsonl").out, "weights")
    assert [(each["action"], each["state"]) for each in (dry, out, back)] == [
        ("drain", "dry_run"),
        ("drain", "written"),
        ("undrain", "written"),
    ]
    assert (out["instances"][0]["new_value"], back["instances"][0]["new_value"]) == (f"{A}|0", f"{A}|3")


def test_draining_the_last_one_is_warned_of(lbctl: Lbctl, keys: Keys) -> None:
    keys(ECHO)
    assert "warning: no instance of echo is left in the rotation" in lbctl("drain", "echo", A, B, "-y").err


def test_an_instance_whose_clients_go_on_is_not_drained(lbctl: Lbctl, keys: Keys, held: Held) -> None:
    keys({"user.rpc/7587878123456782001": A})
    said = lbctl("drain", "user.rpc", A, "-y")
    assert (said.status, said.out) == (2, "")
    assert said.err.splitlines() == [
        "error: user.rpc/7587878123456782001: the layout go-zero has neither weights nor a status to drain by",
        f"hint: nothing was written; this takes it out: lbctl deregister user.rpc {A}",
    ]
    assert len(held()) == 1


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        (KEY, f"{A}|3", "who registered it and still runs may register it again"),
        ("user.rpc/7587878123456782001", A, "go-zero puts a key back as soon as it is deleted"),
        (
            f"kitex/registry-etcd/echo/{A}",
            f'{{"network":"tcp","address":"{A}","weight":10,"tags":null}}',
            "Kitex puts a key back that is gone",
        ),
    ],
)
def test_who_may_bring_a_deleted_key_back_is_told(
    lbctl: Lbctl, keys: Keys, held: Held, key: str, value: str, told: str
) -> None:
    keys({key: value})
    said = lbctl("deregister", "user.rpc" if "rpc/" in key else "echo", A, "-y", "-o", "json")
    assert said.err.endswith(f"; {told}\n")
    (row,) = document(said.out, "changes")["keys"]
    assert row == {"key": key, "address": A, "lease": None, "value": value, "new_value": None, "written": True}
    assert held() == []


def test_a_program_that_writes_its_own_value_all_the_time_is_told_of(lbctl: Lbctl, keys: Keys) -> None:
    value = '{"appid":"shop","hostname":"h","addrs":["grpc://10.41.0.2:9000"],"metadata":{"weight":"5"},"status":1}'
    keys({"/kratos_etcd/shop/h": value})
    said = lbctl("weight", "shop", "10.41.0.2:9000=3", "-y")
    assert said.err.splitlines()[0].endswith("; Kratos v1 registers anew every 30s, and writes its own value")


@pytest.mark.parametrize("command", ["drain", "undrain", "deregister"])
def test_an_instance_that_is_not_there_ends_with_4(lbctl: Lbctl, keys: Keys, command: str) -> None:
    keys(ECHO)
    said = lbctl(command, "echo", "1.2.3.4:5", "-y")
    assert (said.status, said.err.splitlines()[0]) == (4, 'error: 1.2.3.4:5 is not an instance of "echo"')
    assert lbctl(command, "nobody", A, "-y").status == 4


SECRET = '{"Op":0,"Addr":"127.0.0.1:1","Metadata":{"weight":3,"token":"hunter2"}}'
HIDDEN = {"weight": 3, "token": "***"}


@pytest.mark.parametrize(
    ("command", "schema", "rows", "after"),
    [
        (("weight", "echo", "127.0.0.1:1=5"), "weights", "instances", {"weight": 5, "token": "***"}),
        (("drain", "echo", "127.0.0.1:1"), "weights", "instances", {"weight": 0, "token": "***"}),
        (("deregister", "echo", "127.0.0.1:1"), "changes", "keys", None),
        (("register", "echo", "127.0.0.1:1", "--layout", "kratos"), "changes", "keys", {"token": "***"}),
    ],
)
def test_values_are_shown_without_their_secrets_and_written_with_them(
    lbctl: Lbctl,
    keys: Keys,
    held: Held,
    command: tuple[str, ...],
    schema: str,
    rows: str,
    after: dict[str, Any] | None,
) -> None:
    registers = command[0] == "register"
    keys({} if registers else {"team/echo/a": SECRET})
    given = (*command, "--once", "--metadata", "token=hunter2") if registers else command
    for output in ("json", "jsonl", "yaml", "table", "wide"):
        said = lbctl(*given, "--dry-run", "-o", output)
        assert (said.status, "hunter2" in said.out + said.err) == (0, False), output
    said = lbctl(*given, "-y", "-o", "json")
    (row,) = document(said.out, schema)[rows]
    before = None if row["value"] is None else json.loads(row["value"])["Metadata"]
    now = None if row["new_value"] is None else json.loads(row["new_value"])
    assert before == (None if registers else HIDDEN)
    assert (now and (now.get("Metadata") or now["metadata"])) == after
    written = [entry.value for entry in held() if not entry.key.startswith(b"/lbctl/")]
    assert all(b"hunter2" in value for value in written)
    assert len(written) == (after is not None)


def test_what_is_said_of_a_registration_that_stands_has_no_secrets(lbctl: Lbctl) -> None:
    said = lbctl("register", "shop", A, "--layout", "kratos", "--metadata", "token=hunter2", "--", "true")
    assert said.status == 0
    assert said.err.startswith("registered /microservices/shop/")
    assert '"token": "***"' in said.err
    assert "hunter2" not in said.out + said.err
