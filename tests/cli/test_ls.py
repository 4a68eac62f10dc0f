"""``lbctl ls`` on a real etcd: every format, every note, every refusal, word for word."""

from __future__ import annotations

import csv
import io
import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from lbctl.demo.etcd_server import EtcdServer
from tests.cli.conftest import ECHO, Keys, Lbctl

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
SCHEMA = REFERENCE / "services.schema.json"

pytestmark = pytest.mark.usefixtures("at")


def test_an_empty_registry_is_no_error_and_says_so(lbctl: Lbctl, keys: Keys, at: EtcdServer) -> None:
    said = lbctl("ls")
    assert said == (0, "", f"no services in etcd {at.endpoint}\n")


def test_an_empty_prefix_is_told_as_it_was_taken(lbctl: Lbctl, keys: Keys, at: EtcdServer) -> None:
    keys(ECHO)
    for command in ("ls", "health"):
        said = lbctl(command, "--prefix", "services")
        assert said == (0, "", f'no services under "services/" in etcd {at.endpoint}\n')
    assert lbctl("ls", "echo", "--layout", "kratos").err.endswith("hint: see what is registered: lbctl ls\n")


def test_services_are_listed_with_their_weight_and_number_of_instances(lbctl: Lbctl, keys: Keys) -> None:
    keys(ECHO | {"/services/order/10.0.0.1:1": "10.0.0.1:1|2"})
    said = lbctl("ls")
    assert [line.split()[:6] for line in said.out.splitlines()] == [
        ["SERVICE", "LAYOUT", "INSTANCES", "UP", "WEIGHT", "LEASES"],
        ["echo", "seed", "3", "-", "7", "0"],
        ["order", "seed", "1", "-", "2", "0"],
    ]
    assert (said.status, said.err) == (0, "")


def test_instances_are_listed_with_weight_and_share(lbctl: Lbctl, keys: Keys) -> None:
    keys(ECHO)
    said = lbctl("ls", "echo")
    assert [line.split()[:6] for line in said.out.splitlines()] == [
        ["ADDRESS", "WEIGHT", "SHARE", "HEALTH", "RTT", "LEASE"],
        ["127.0.0.1:50061", "5", "71.4%", "-", "-", "none"],
        ["127.0.0.1:50062", "1", "14.3%", "-", "-", "none"],
        ["[::1]:50063", "1", "14.3%", "-", "-", "none"],
    ]
    assert (said.status, said.err) == (0, "")


def test_the_age_of_an_instance_is_the_revision_that_created_it(lbctl: Lbctl, keys: Keys) -> None:
    keys(ECHO)
    ages = [line.split("none", 1)[1].split() for line in lbctl("ls", "echo", "--no-headers").out.splitlines()]
    newest = int(ages[2][1])
    assert ages == [["rev", str(newest - 2), "(+2)"], ["rev", str(newest - 1), "(+1)"], ["rev", str(newest), "(+0)"]]


def test_the_json_document_fits_its_schema(lbctl: Lbctl, keys: Keys) -> None:
    keys(ECHO | {"/services/bad/1.2.3.4:5": "1.2.3.4:5|"})
    document = json.loads(lbctl("ls", "-o", "json").out)
    Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8"))).validate(document)
    assert [service["name"] for service in document["services"]] == ["bad", "echo"]
    assert [each["share"] for each in document["services"][1]["instances"]] == [0.714286, 0.142857, 0.142857]
    assert document["invalid"] == [
        {"key": "/services/bad/1.2.3.4:5", "layout": "seed", "code": "bad_weight", "reason": "weight is empty"}
    ]


def test_yaml_is_the_same_document_as_json(lbctl: Lbctl, keys: Keys) -> None:
    keys(ECHO)
    assert yaml.safe_load(lbctl("ls", "echo", "-o", "yaml").out) == json.loads(lbctl("ls", "echo", "-o", "json").out)


def test_csv_has_one_record_per_instance(lbctl: Lbctl, keys: Keys) -> None:
    keys(ECHO)
    records = list(csv.DictReader(io.StringIO(lbctl("ls", "-o", "csv").out)))
    assert [(each["service"], each["address"], each["weight"], each["share"]) for each in records] == [
        ("echo", "127.0.0.1:50061", "5", "0.714286"),
        ("echo", "127.0.0.1:50062", "1", "0.142857"),
        ("echo", "[::1]:50063", "1", "0.142857"),
    ]
    assert len(lbctl("ls", "-o", "csv", "--no-headers").out.splitlines()) == 3


def test_names_are_bare_for_other_programs(lbctl: Lbctl, keys: Keys) -> None:
    keys(ECHO)
    assert lbctl("ls", "-o", "name").out == "echo\n"
    assert lbctl("ls", "echo", "-o", "name").out == "127.0.0.1:50061\n127.0.0.1:50062\n[::1]:50063\n"


def test_wide_shows_every_column_and_the_metadata(lbctl: Lbctl, keys: Keys) -> None:
    keys({"app/a": '{"Op":0,"Addr":"10.0.0.1:1","Metadata":{"weight":4,"zone":"az1"}}'})
    header, row = lbctl("ls", "app", "-o", "wide").out.splitlines()
    assert header.split()[-5:] == ["PROTOCOL", "META.WEIGHT", "ZONE", "MODIFIED", "KEY"]
    assert row.endswith("app/a")
    assert "az1" in row


def test_labels_choose_instances_by_their_metadata(lbctl: Lbctl, keys: Keys) -> None:
    keys(
        {
            f"app/{name}": json.dumps({"Op": 0, "Addr": f"10.0.0.{n}:1", "Metadata": {"zone": zone, "weight": n}})
            for n, (name, zone) in enumerate([("a", "az1"), ("b", "az2"), ("c", "az1")], 1)
        }
    )
    assert lbctl("ls", "app", "-l", "zone=az1", "-o", "name").out == "10.0.0.1:1\n10.0.0.3:1\n"
    assert lbctl("ls", "app", "-l", "zone=az1", "-l", "weight=3", "-o", "name").out == "10.0.0.3:1\n"
    assert lbctl("ls", "-l", "zone=az9", "-o", "name").out == ""
    assert lbctl("ls", "app", "-l", "zone=az9").err == 'service "app" has no instance to show\n'


def test_instances_are_sorted_by_the_column_asked_for(lbctl: Lbctl, keys: Keys) -> None:
    keys({f"/services/echo/10.0.0.{n}:1": f"10.0.0.{n}:1|{weight}" for n, weight in ((1, 2), (2, 9), (3, 5))})
    rows = lbctl("ls", "echo", "--sort", "weight", "--no-headers").out.splitlines()
    assert [row.split()[1] for row in rows] == ["9", "5", "2"]


def test_a_weight_the_registry_does_not_state_is_in_parentheses(lbctl: Lbctl, keys: Keys) -> None:
    keys({"app/a": '{"Op":0,"Addr":"10.0.0.1:1","Metadata":null}'})
    said = lbctl("ls", "app", "--no-headers")
    assert said.out.split()[:3] == ["10.0.0.1:1", "(1)", "100.0%"]
    assert said.err == "note: a weight in parentheses is not in the registry: balancers use 1\n"


def test_a_weight_that_is_no_number_is_shown_as_the_default_with_a_warning(lbctl: Lbctl, keys: Keys) -> None:
    keys({"/services/echo/127.0.0.1:1": "127.0.0.1:1|heavy"})
    said = lbctl("ls", "echo", "--no-headers")
    assert said.out.split()[:3] == ["127.0.0.1:1", "1", "100.0%"]
    assert said.err == 'warning: 127.0.0.1:1: weight "heavy" is not a number; 1 is used\n'
    assert said.status == 0


def test_a_service_that_is_one_key_has_nothing_of_those_whose_names_begin_like_its_own(
    lbctl: Lbctl, keys: Keys
) -> None:
    keys({"/services/solo": "10.0.0.1:80", "/services/solo-b/10.0.0.2:80": "10.0.0.2"})
    assert json.loads(lbctl("ls", "solo", "-o", "json").out)["invalid"] == []
    assert len(json.loads(lbctl("ls", "solo-b", "-o", "json").out)["invalid"]) == 1


def test_unusable_keys_are_shown_with_code_and_reason(lbctl: Lbctl, keys: Keys) -> None:
    keys({**ECHO, "/services/echo/127.0.0.1:9": "127.0.0.1:9|2.5"})
    said = lbctl("ls", "echo")
    assert said.status == 0
    table, flaws = said.out.split("\n\n")
    assert len(table.splitlines()) == 4
    assert [line.split(None, 3) for line in flaws.splitlines()] == [
        ["INVALID", "KEY", "LAYOUT", "CODE        REASON"],
        ["/services/echo/127.0.0.1:9", "seed", "bad_weight", "weight is not an integer"],
    ]


def test_a_service_of_unusable_keys_alone_has_no_instances(lbctl: Lbctl, keys: Keys) -> None:
    keys({"/services/echo/127.0.0.1:9": "127.0.0.1:9|"})
    said = lbctl("ls", "echo")
    assert said.status == 0
    assert "bad_weight" in said.out
    assert said.err == 'service "echo" has no instance to show\n'


def test_an_unknown_service_is_4_with_the_nearest_names(lbctl: Lbctl, keys: Keys) -> None:
    keys(ECHO)
    assert lbctl("ls", "ecko") == (4, "", 'error: no service "ecko" in etcd\nhint: did you mean: echo\n')


def test_hostile_text_in_the_registry_never_moves_the_cursor(lbctl: Lbctl, keys: Keys) -> None:
    keys({"app/a": json.dumps({"Op": 0, "Addr": "10.0.0.1:1", "Metadata": {"zone": "\x1b[2Jx\u202e"}})})
    said = lbctl("ls", "app", "-o", "wide")
    assert "\x1b" not in said.out
    assert "\\x1b[2Jx\\u202e" in said.out


def test_an_etcd_that_does_not_answer_is_3_with_a_hint_within_three_seconds(lbctl: Lbctl, closed_port: int) -> None:
    began = time.monotonic()
    said = lbctl("ls", "--endpoints", f"127.0.0.1:{closed_port}")
    assert time.monotonic() - began < 3
    assert said == (
        3,
        "",
        f"error: etcd 127.0.0.1:{closed_port} did not answer within 2s (connection refused)\n"
        "hint: set --endpoints or ETCDCTL_ENDPOINTS, or start one with: lbctl demo\n",
    )


def test_a_check_tells_who_refuses(lbctl: Lbctl, keys: Keys, closed_port: int) -> None:
    keys({f"/services/echo/127.0.0.1:{closed_port}": f"127.0.0.1:{closed_port}|1"})
    said = lbctl("ls", "echo", "--check", "--no-headers")
    assert said.out.split()[:5] == [f"127.0.0.1:{closed_port}", "1", "100.0%", "REFUSED", "-"]
    assert said.err == "0 of 1 ready; 1 need a look: lbctl doctor echo\n"
    assert said.status == 0


def test_a_check_tells_why_where_a_word_does_not(lbctl: Lbctl, keys: Keys) -> None:
    def hang_up(server: socket.socket) -> None:
        peer, _ = server.accept()
        with peer:
            peer.recv(1000)
            peer.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor() as pool:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        answers = [pool.submit(hang_up, server) for _ in range(2)]  # the call, and a look whether it is TLS
        keys({"/services/echo/a": f"{address}|1"})
        said = lbctl("ls", "echo", "--check", "--no-headers")
        assert [answer.exception(5) for answer in answers] == [None, None]
    assert said.out.split()[3] == "HTTP1"
    assert said.err == f"note: {address} speaks HTTP/1.x, not HTTP/2\n0 of 1 ready; 1 need a look: lbctl doctor echo\n"


def test_quiet_leaves_only_the_result(lbctl: Lbctl, keys: Keys) -> None:
    keys({"/services/echo/127.0.0.1:1": "127.0.0.1:1|heavy"})
    assert lbctl("-q", "ls", "echo").err == ""


def test_a_narrow_width_drops_columns_and_says_which(lbctl: Lbctl, keys: Keys, monkeypatch: pytest.MonkeyPatch) -> None:
    keys(ECHO)
    monkeypatch.setenv("COLUMNS", "40")
    said = lbctl("ls", "echo")
    assert all(len(line) <= 40 for line in said.out.splitlines())
    assert said.out.splitlines()[0].split() == ["ADDRESS", "WEIGHT", "SHARE", "HEALTH"]
    assert said.err == "hidden: RTT, LEASE, AGE (use -o wide)\n"


def test_a_layout_chooses_between_two_under_one_prefix(
    lbctl: Lbctl, keys: Keys, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    keys(
        {"/services/app/10.0.0.1:1": "10.0.0.1:1|5", "/services/app/b": '{"Op":0,"Addr":"10.0.0.2:1","Metadata":null}'}
    )
    said = lbctl("ls", "/services/app/")
    assert (said.status, said.err.splitlines()[1]) == (4, "hint: choose one with --layout")
    for flag in ("--layout", "--format"):
        assert lbctl("ls", "/services/app/", flag, "seed", "-o", "name").out == "10.0.0.1:1\n"
        assert lbctl(flag, "etcd-naming", "ls", "-o", "csv", "--no-headers").out.split(",")[3] == "10.0.0.2:1"
    for name in ("layout", "format"):
        (tmp_path / "lbctl.yaml").write_text(f"{name}: seed\n")
        assert lbctl("ls", "/services/app/", "-o", "name").out == "10.0.0.1:1\n"
    for name in ("LBCTL_FORMAT", "LBCTL_LAYOUT"):
        monkeypatch.setenv(name, "etcd-naming")
        assert lbctl("ls", "-o", "csv", "--no-headers").out.split(",")[3] == "10.0.0.2:1"
        monkeypatch.delenv(name)


def test_a_layout_that_is_named_has_what_nothing_else_speaks_for(lbctl: Lbctl, keys: Keys) -> None:
    keys({"conf/db": "db:5432", "/services/echo/10.0.0.1:1": "10.0.0.1:1|5"})
    assert lbctl("ls", "-o", "name").out == "echo\n"
    assert lbctl("ls", "--layout", "plain", "-o", "name").out == "conf\n"


def test_services_are_named_by_key_or_value_as_asked(lbctl: Lbctl, keys: Keys) -> None:
    keys({"/services/v1/user/x": '{"name":"user","addr":"10.0.0.1:80"}'})
    assert lbctl("ls", "-o", "name").out == "user\n"
    assert lbctl("ls", "--service-from", "key", "-o", "name").out == "v1/user\n"
    assert lbctl("ls", "v1/user", "--service-from", "key", "-o", "name").out == "10.0.0.1:80\n"
    said = lbctl("ls", "--service-from", "leaf")
    assert (said.status, said.err) == (
        2,
        "error: --service-from: 'leaf' is neither key nor value\nhint: see: lbctl ls --help\n",
    )


def test_metadata_called_as_another_column_is_told_apart(lbctl: Lbctl, keys: Keys) -> None:
    keys({"app/a": json.dumps({"Op": 0, "Addr": "10.0.0.1:1", "Metadata": {"Weight": 9, "Zone": "a", "zone": "b"}})})
    heads, row = (line.split() for line in lbctl("ls", "app", "-o", "wide").out.replace("(+0)", "").splitlines())
    assert heads.count("WEIGHT") == 1
    assert heads[heads.index("PROTOCOL") : -1] == ["PROTOCOL", "META.WEIGHT", "Zone", "zone", "MODIFIED"]
    assert row[heads.index("PROTOCOL") + 1 :][:4] == ["-", "9", "a", "b"]


def test_a_service_that_stands_where_its_clients_do_not_look_is_told_unless_one_asked_for_it_there(
    lbctl: Lbctl, keys: Keys
) -> None:
    keys({"/Hello/10.0.0.1:80": '{"network":"tcp","address":"10.0.0.1:80","weight":10,"tags":null}'})
    note = "note: kitex under '/Hello/': its clients look under 'kitex/' unless they are told otherwise\n"
    assert (lbctl("ls").err, lbctl("ls", "Hello").err) == (note, note)
    assert lbctl("ls", "--prefix", "/Hello").err == ""


def test_an_address_with_several_keys_is_one_instance(lbctl: Lbctl, keys: Keys) -> None:
    twice = {f"user.rpc/75878781234567820{n}": f"10.50.0.{1 + n % 2}:8080" for n in (10, 12, 14, 11)}
    keys(twice)
    listed = [line.split() for line in lbctl("ls").out.splitlines()]
    assert listed[0][:6] == ["SERVICE", "LAYOUT", "INSTANCES", "KEYS", "UP", "WEIGHT"]
    assert listed[1][:6] == ["user.rpc", "go-zero", "2", "4", "-", "2"]
    said = lbctl("ls", "user.rpc")
    rows = [line.split() for line in said.out.splitlines()]
    assert rows[0][:6] == ["ADDRESS", "WEIGHT", "SHARE", "HEALTH", "RTT", "KEYS"]
    assert [row[:6] for row in rows[1:]] == [
        ["10.50.0.1:8080", "(1)", "50.0%", "-", "-", "3"],
        ["10.50.0.2:8080", "(1)", "50.0%", "-", "-", "1"],
    ]
    assert said.err.splitlines()[-1] == (
        "note: an address with several keys is one backend, as the newest of them describes it"
    )
    document = json.loads(lbctl("ls", "user.rpc", "-o", "json").out)
    shares = [(each["address"], each["share"]) for each in document["services"][0]["instances"]]
    assert sorted(shares) == [("10.50.0.1:8080", 0.0)] * 2 + [("10.50.0.1:8080", 0.5), ("10.50.0.2:8080", 0.5)]


def test_a_prefix_limits_what_is_read(lbctl: Lbctl, keys: Keys) -> None:
    keys(ECHO | {"/other/echo/10.0.0.1:1": "10.0.0.1:1|5"})
    assert lbctl("--prefix", "/services/", "ls", "-o", "name").out == "echo\n"
    assert lbctl("ls", "--prefix", "/other", "-o", "csv", "--no-headers").out.split(",")[3] == "10.0.0.1:1"
