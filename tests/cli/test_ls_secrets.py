"""``lbctl ls`` prints no secrets of registrations, and nothing without end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from tests.cli.conftest import Keys, Lbctl

SCHEMA = Path(__file__).parents[2] / "docs" / "reference" / "services.schema.json"
SECRET = "hunter2"
METADATA = {
    "zone": "az1",
    "db_password": SECRET,
    "registry": f"etcd://bob:{SECRET}@10.0.0.9:2379?token={SECRET}",
    "login": {"user": "bob", "api_key": SECRET, "tls": True},
}
DUBBO = f"/dubbo/demo.Greeter/providers/tri%3A%2F%2F10.0.0.5%3A20000%2Fdemo.Greeter%3Ftoken%3D{SECRET}%26weight%3D100"
BROKEN = f"/dubbo/demo.Greeter/providers/tri%3A%2F%2Fbob%3A{SECRET}%40h%3A0%2Fx%3Fpassword%3D{SECRET}"
KEYS = {
    "app/a": json.dumps({"Op": 0, "Addr": "10.0.0.1:1", "Metadata": METADATA}),
    DUBBO: "",
    BROKEN: "",
    "/microservices/orders/1": json.dumps(
        {"id": "1", "name": "orders", "version": "", "metadata": {}, "endpoints": [f"//bob:{SECRET}@h:1?pass={SECRET}"]}
    ),
}

pytestmark = pytest.mark.usefixtures("at")


@pytest.mark.parametrize("output", ["table", "wide", "csv", "name"])
@pytest.mark.parametrize("service", [(), ("app",), ("demo.Greeter",), ("--all",)])
def test_no_format_for_people_has_a_secret(lbctl: Lbctl, keys: Keys, output: str, service: tuple[str, ...]) -> None:
    keys(KEYS)
    if service == ("--all",) and output in ("csv", "name"):
        return
    said = lbctl("ls", *service, "-o", output)
    assert said.status == 0
    shown = (
        said.out if output != "csv" else said.out.replace(DUBBO, "").replace(BROKEN, "")
    )  # a record says which key it is about
    assert SECRET not in shown + said.err


def test_documents_have_the_keys_as_they_are_and_secrets_nowhere_else(lbctl: Lbctl, keys: Keys) -> None:
    keys(KEYS)
    document = json.loads(lbctl("ls", "-o", "json").out)
    Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8"))).validate(document)
    services = {service["name"]: service["instances"] for service in document["services"]}
    assert services["app"][0]["metadata"] == {
        "zone": "az1",
        "db_password": "***",
        "registry": "etcd://bob:***@10.0.0.9:2379?token=***",
        "login": {"user": "bob", "api_key": "***", "tls": True},
    }
    assert services["demo.Greeter"][0]["metadata"]["token"] == "***"
    assert services["demo.Greeter"][0]["key"] == DUBBO
    assert {flaw["key"] for flaw in document["invalid"]} == {BROKEN, "/microservices/orders/1"}
    assert SECRET not in str([flaw["reason"] for flaw in document["invalid"]])


def test_a_secret_can_still_be_asked_for_by_who_knows_it(lbctl: Lbctl, keys: Keys) -> None:
    keys(KEYS)
    assert lbctl("ls", "app", "-l", f"db_password={SECRET}", "-o", "name").out == "10.0.0.1:1\n"
    assert lbctl("ls", "app", "-l", "db_password=***", "-o", "name").out == ""


@pytest.mark.parametrize("key", sorted(KEYS))
@pytest.mark.parametrize("output", ["table", "json"])
def test_no_explanation_has_a_secret(lbctl: Lbctl, keys: Keys, key: str, output: str) -> None:
    keys(KEYS)
    said = lbctl("ls", "--explain", key, "-o", output)
    assert said.status == 0
    assert SECRET not in said.out.replace(json.dumps(key), "")


def test_of_large_metadata_the_largest_members_are_left_out_and_told(lbctl: Lbctl, keys: Keys) -> None:
    large = {"zone": "az1", "note": "x" * 70_000, "methods": ["m" * 10] * 2_000}
    value = json.dumps({"Op": 0, "Addr": "10.0.0.1:1", "Metadata": large})
    keys({"app/a": value})
    said = lbctl("ls", "app", "-o", "json")
    document = json.loads(said.out)
    Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8"))).validate(document)
    instance = document["services"][0]["instances"][0]
    assert instance["metadata"] == {"zone": "az1", "methods": ["m" * 10] * 2_000}
    assert instance["metadata_cut"]["names"] == ["note"]
    assert instance["metadata_cut"]["members"] == 1
    assert instance["metadata_cut"]["bytes"] == len(json.dumps(large, separators=(",", ":")))
    assert f"note: 1 value has more than 64 KiB ({len(value):,} bytes at app/a): not all of it is shown\n" in said.err
    assert len(lbctl("ls", "app", "-o", "wide").out) < 1_000


def test_large_values_are_told_of_what_is_listed_usable_or_not(lbctl: Lbctl, keys: Keys) -> None:
    keys(
        {
            "/services/small/10.0.0.1:80": "10.0.0.1:80|1",
            "/services/wide/10.0.0.2:80": json.dumps({"addr": "10.0.0.2:80", "note": "x" * 70_000}),
            "/services/broken/10.0.0.3:80": "10.0.0.3:80|" + "9" * 1_400_000,
        }
    )
    told = {name: lbctl("ls", *name).err.partition("note: ")[2] for name in ((), ("small",), ("wide",), ("broken",))}
    words = "more than 64 KiB ({} bytes at /services/{}): not all of it is shown"
    assert told[()].startswith("2 values have " + words.format("1,400,012", "broken/10.0.0.3:80"))
    assert told["small",] == ""
    assert told["wide",].startswith("1 value has " + words.format("70,035", "wide/10.0.0.2:80"))
    assert told["broken",].startswith("1 value has " + words.format("1,400,012", "broken/10.0.0.3:80"))


def test_metadata_of_many_names_has_a_column_for_those_that_most_instances_have(lbctl: Lbctl, keys: Keys) -> None:
    many = {f"n{number:03}": "v" for number in range(100)}
    keys(
        {
            "app/a": json.dumps({"Op": 0, "Addr": "10.0.0.1:1", "Metadata": many | {"zone": "az1"}}),
            "app/b": json.dumps({"Op": 0, "Addr": "10.0.0.2:1", "Metadata": {"zone": "az2"}}),
        }
    )
    heads, *rows = (line.split() for line in lbctl("ls", "app", "-o", "wide").out.splitlines())
    assert len([head for head in heads if head.startswith("N0") or head == "ZONE"]) == 40
    assert [row[heads.index("MORE") :][-4] for row in rows] == ["61", "0"]


def test_of_too_many_keys_the_newest_of_each_address_is_listed(
    lbctl: Lbctl, keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lbctl.discovery.listing.MOST_LISTED", 20)
    monkeypatch.setattr("lbctl.view.listing_notes.MOST_LISTED", 20)
    keys({f"user.rpc/7587878123456782{n:03}": f"10.50.0.{1 + n % 2}:8080" for n in range(21)})
    said = lbctl("ls", "user.rpc", "-o", "json")
    service = json.loads(said.out)["services"][0]
    assert [each["key"][-3:] for each in service["instances"]] == ["020", "019"]
    assert service["left_out"] == 19
    assert "note: user.rpc has 21 keys: listed are the newest of each address, 20 at most\n" in said.err
    assert len(lbctl("ls", "user.rpc", "-o", "csv", "--no-headers").out.splitlines()) == 2


def test_of_keys_that_are_no_use_twenty_of_each_kind_are_shown(lbctl: Lbctl, keys: Keys) -> None:
    bad = {f"/services/echo/10.0.0.{n}:80": f"10.0.0.{n}:80|-1" for n in range(23)}
    bare = {f"/services/echo/10.0.1.{n}:80": f"10.0.1.{n}|1" for n in range(21)}
    keys(bad | bare | {f"/app/conf/k{n}": "v" for n in range(22)})
    said = lbctl("ls", "--all", "--no-headers")
    codes = [line.split("  ")[2].strip() for line in said.out.splitlines() if " seed " in line and "/10." in line]
    assert (codes.count("bad_weight"), codes.count("no_port"), said.out.count("/app/conf/k")) == (20, 20, 20)
    assert said.err.splitlines() == [
        "note: 4 more unusable keys not shown (seed bad_weight: 3; seed no_port: 1); -o wide or -o json has them",
        "note: 2 more other keys not shown (no layout has such a key and value); -o wide or -o json has them",
    ]
    wide = lbctl("ls", "--all", "-o", "wide")
    assert (wide.out.count("bad_weight"), wide.out.count("/app/conf/k"), wide.err) == (23, 22, "")
    document = json.loads(lbctl("ls", "--all", "-o", "json").out)
    Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8"))).validate(document)
    assert (len(document["invalid"]), document["invalid_left_out"]) == (44, 0)
    assert (len(document["others"]), document["others_left_out"]) == (22, 0)
