"""``drain``, ``undrain`` and ``weight`` on a real etcd: what they say of other keys, old notes, and the way back."""

from __future__ import annotations

import shlex
from pathlib import Path
from urllib.parse import quote_plus

import pytest

from lbctl.demo.etcd_server import EtcdServer
from tests.cli.conftest import Keys, Lbctl, Values

A, B = "127.0.0.1:50061", "127.0.0.1:50062"
KEY, TWIN = f"/services/echo/{A}", "/services/echo/twin"
ECHO = {KEY: f"{A}|3", f"/services/echo/{B}": f"{B}|1"}

pytestmark = pytest.mark.usefixtures("at")


def pasted(lbctl: Lbctl, line: str) -> int:
    """The status of a suggested command, run as a shell would."""
    return lbctl(*shlex.split(line)[1:], "-y").status


def test_the_way_back_repeats_the_flags(
    lbctl: Lbctl, keys: Keys, values: Values, etcd_server: EtcdServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two services that one name means the prefix tells which."""
    keys({**ECHO, f"/team/echo/{A}": f"{A}|7"})
    monkeypatch.delenv("LBCTL_ENDPOINTS")
    flags = ("--prefix", "/team/", "--layout", "seed", "--endpoints", etcd_server.endpoint)
    told = f"--endpoints {etcd_server.endpoint} --prefix /team/ --layout seed"

    undrain = lbctl(*flags, "drain", "echo", A, "-y").err.splitlines()[-1]
    assert undrain == f"undo: lbctl undrain echo {A} {told}"
    assert pasted(lbctl, undrain.removeprefix("undo: ")) == 0
    weight = lbctl("weight", "echo", f"{A}=2", "-y", *flags).err.splitlines()[-1]
    assert weight == f"undo: lbctl weight echo {A}=7 {told}"
    assert pasted(lbctl, weight.removeprefix("undo: ")) == 0
    assert values() == [*ECHO.values(), f"{A}|7"]


def test_what_goes_back_by_itself_needs_no_way_back(lbctl: Lbctl, keys: Keys, values: Values) -> None:
    keys(ECHO)
    said = lbctl("drain", "echo", A, "-y", "--revert-after", "10ms")
    assert [line for line in said.err.splitlines() if "undo" in line] == []
    assert values() == list(ECHO.values())


def test_a_key_that_stays_in_the_rotation_is_told_and_taken_out_by_what_is_suggested(
    lbctl: Lbctl, keys: Keys, values: Values
) -> None:
    keys({**ECHO, TWIN: f"{A}|2"})
    both = f"lbctl drain echo {A}"
    remark = f"another key, {TWIN}, still has {A} in the rotation; to take it out too: {both}"

    dry = lbctl("drain", "echo", KEY, "--dry-run")
    assert dry.err.splitlines() == ["1 instance would be drained; nothing was written", remark]
    done = lbctl("drain", "echo", KEY, "-y")
    assert done.err.splitlines()[1:] == [remark, f"undo: lbctl undrain echo {KEY}"]
    again = lbctl("drain", "echo", KEY, "-y")
    assert again.err.splitlines() == ["nothing to do: out of the rotation already", remark]

    assert pasted(lbctl, both) == 0
    assert values() == [f"{A}|3", f"{A}|2", f"{A}|0", f"{B}|1", f"{A}|0"]


def test_an_undrain_of_a_key_that_its_owner_wrote_says_so_and_drops_the_note(
    lbctl: Lbctl, keys: Keys, values: Values, put: Keys
) -> None:
    keys(ECHO)
    lbctl("drain", "echo", A, "-y")
    put({KEY: f"{A}|9"})
    dry = lbctl("undrain", "echo", A, "--dry-run")
    said = lbctl("undrain", "echo", A, "-y")
    told = ["nothing to do: not drained", f"{KEY} was written since lbctl drain took it out: it holds {A}|9"]
    assert (dry.status, dry.err.splitlines()) == (0, told)
    assert (said.status, said.err.splitlines()) == (
        0,
        [*told, "1 stale note of an earlier drain deleted under /lbctl/drained/"],
    )
    assert values() == [f"{A}|9", f"{B}|1"]


@pytest.mark.parametrize("command", [("drain", "echo", B), ("weight", "echo", f"{B}=4"), ("deregister", "echo", B)])
def test_any_write_of_the_service_drops_the_notes_that_are_stale(
    lbctl: Lbctl, keys: Keys, values: Values, put: Keys, command: tuple[str, ...]
) -> None:
    keys(ECHO)
    lbctl("drain", "echo", A, "-y")
    put({KEY: f"{A}|9"})
    assert f"{A}|3" in values(), "the note has no lease to go with"
    said = lbctl(*command, "-y")
    assert "1 stale note of an earlier drain deleted under /lbctl/drained/" in said.err.splitlines()
    assert f"{A}|3" not in values()
    assert f"{A}|9" in values()


def test_what_a_key_holds_is_quoted_without_its_secrets_and_without_moving_the_cursor(
    lbctl: Lbctl, keys: Keys, put: Keys
) -> None:
    before = '{"Op":0,"Addr":"127.0.0.1:1","Metadata":{"weight":3,"password":"hunter2","x":"\\u001b[2J"}}'
    keys({"team/echo/a": before})
    assert lbctl("drain", "echo", "127.0.0.1:1", "-y").status == 0
    put({"team/echo/a": before})
    said = lbctl("undrain", "echo", "127.0.0.1:1", "-y", "-o", "json")
    assert '"password": "***"' in said.err
    assert "hunter2" not in said.out + said.err
    assert "\x1b" not in said.err


def test_hints_name_the_service_as_the_user_did(lbctl: Lbctl, keys: Keys, tmp_path: Path) -> None:
    keys({f"/services/echo/{A}": f"{A}|0", f"/team/echo/{A}": f"{A}|7", "/odd/echo/x": "nowhere|1"})
    settings = tmp_path / "my settings.yaml"
    settings.write_text("prefix: /services/\n", encoding="utf-8")
    unknown = lbctl("undrain", "echo", A, "-y", "--config", str(settings))
    assert unknown.err.splitlines()[1] == f"hint: say it: lbctl weight echo {A}=WEIGHT --config '{settings}'"
    full = lbctl("undrain", "/services/echo/", A, "-y")
    assert full.err.splitlines()[1] == f"hint: say it: lbctl weight /services/echo/ {A}=WEIGHT"
    for command in (("drain", "echo", A, "-y"), ("health", "echo")):
        unusable = lbctl(*command, "--prefix", "/odd")
        assert unusable.err.splitlines()[1] == "hint: see why: lbctl ls echo --prefix /odd"


@pytest.mark.parametrize("command", [("drain", "a.A", A), ("weight", "a.A", f"{A}=2")])
def test_a_key_is_named_without_its_secrets(lbctl: Lbctl, keys: Keys, command: tuple[str, ...]) -> None:
    url = quote_plus(f"tri://{A}/a.A?interface=a.A&token=hunter2")
    keys({f"/dubbo/a.A/providers/{url}": ""})
    said = lbctl(*command, "-y")
    assert (said.status, said.out) == (2, "")
    assert said.err.startswith(f"error: /dubbo/a.A/providers/{url.replace('hunter2', '***')}: ")
    assert "hunter2" not in said.err
