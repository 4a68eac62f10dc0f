from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lbctl.discovery.catalog import Catalog
from lbctl.discovery.codecs import CODECS, Claim, Codec, Record
from lbctl.discovery.flaws import Unusable
from lbctl.discovery.weights import reweighed
from lbctl.model import Entry, Instance, Invalid
from tests.discovery.outcomes import read

SEED_SIBLING = (b"/services/echo/127.0.0.1:1", b"127.0.0.1:1|5")


@pytest.mark.parametrize("text", ["heavy", "5kg", "NaN", "inf", "0x10", "five"])
def test_a_seed_weight_that_is_no_number_counts_as_one_and_warns(text: str) -> None:
    instance = read(b"/services/echo/127.0.0.1:5", f"127.0.0.1:5|{text}".encode())

    warning = f'weight "{text}" is not a number; 1 is used'
    assert isinstance(instance, Instance)
    assert (instance.weight, instance.warnings) == (1, (warning,))
    assert instance.metadata == {"@warning": warning}


@pytest.mark.parametrize("text", ["", "-1", "2.5", "1e3", "+5", "1234567890", "1|2", "9" * 5000])
def test_a_seed_weight_that_no_client_can_use_is_invalid(text: str) -> None:
    flaw = read(b"/services/echo/127.0.0.1:5", f"127.0.0.1:5|{text}".encode())

    assert isinstance(flaw, Invalid)
    assert (flaw.layout, flaw.code) == ("seed", "bad_weight")


@pytest.mark.parametrize(("text", "weight"), [("0", 0), ("007", 7), ("999999999", 999_999_999)])
def test_a_seed_weight_is_a_decimal_of_at_most_nine_digits(text: str, weight: int) -> None:
    instance = read(b"/services/echo/127.0.0.1:5", f"127.0.0.1:5|{text}".encode())

    assert isinstance(instance, Instance)
    assert (instance.weight, instance.warnings) == (weight, ())


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (b"127.0.0.1:5|5\n", "whitespace"),
        (b"127.0.0.1:5|5 ", "whitespace"),
        (b"127.0.0.1:5|\x1b[2J", "control_chars"),
        (b"\xff\xfe|5", "bad_encoding"),
        (b"127.0.0.1|5", "no_port"),
        (b"http://127.0.0.1:5|5", "bad_address"),
    ],
)
def test_a_bad_value_with_a_bar_is_shown_with_its_code(value: bytes, code: str) -> None:
    flaw = read(b"/services/echo/x", value, SEED_SIBLING)

    assert isinstance(flaw, Invalid)
    assert (flaw.layout, flaw.code) == ("seed", code)


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (b"", "empty_value"),
        (b" \n", "empty_value"),
        (b"127.0.0.1:5\n", "whitespace"),
        (b"\x1b]0;x\x07", "control_chars"),
        (b"\xff\xfe", "bad_encoding"),
        (b"127.0.0.1", "no_port"),
        (b"fd00::1:5", "ipv6_unbracketed"),
        (b"127.0.0.1:5,127.0.0.1:6", "multi_address"),
        (b"0.0.0.0:5", "wildcard_address"),
        (b":5", "no_host"),
    ],
)
def test_bad_text_is_shown_with_its_code_where_a_registration_is_expected(value: bytes, code: str) -> None:
    for key in (b"/services/echo/x", b"team/echo/10.0.0.1:5"):
        if not value and key.endswith(b":5"):
            continue  # that is one: the address is in the key
        flaw = read(key, value)
        assert isinstance(flaw, Invalid)
        assert (flaw.layout, flaw.code) == ("plain", code)
    assert read(b"team/echo/x", value) is None


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (b"null", "unknown_layout"),
        (b'"10.0.0.1:80"', "unknown_layout"),
        (b'["10.0.0.1:80"]', "unknown_layout"),
        (b"[1, 2]", "unknown_layout"),
        (b"undefined", "unknown_layout"),
        (b"{}", "no_address"),
        (b'{"qps":5}', "no_address"),
        (b'{"addr":""}', "no_address"),
        (b'{"addr":5}', "wrong_type"),
        (b'{"addr":"10.0.0.1:80","name":5}', "wrong_type"),
        (b'{"host":"10.0.0.1","port":80.5}', "wrong_type"),
        (b'{"host":"10.0.0.1","port":true}', "wrong_type"),
        (b'{"host":"10.0.0.1","port":"http"}', "bad_port"),
        (b'{"ip":"10.0.0.1"}', "no_address"),
        (b'{"addr":"10.0.0.1"}', "no_port"),
        (b'{"addr":"10.0.0.1:80","weight":true}', "wrong_type"),
        (b'{"addr":"10.0.0.1:80","weight":-1}', "bad_weight"),
        (b'{"addr":"10.0.0.1:80","weight":2.5}', "bad_weight"),
        (b'{"addr":"10.0.0.1:80","weight":' + b"9" * 5000 + b"}", "wrong_type"),
        (b'{"addr":"10.0.0.1:80"', "not_json"),
        (b'\xef\xbb\xbf{"addr":"10.0.0.1:80"}', "not_json"),
    ],
)
def test_bad_json_is_shown_with_its_code_where_a_registration_is_expected(value: bytes, code: str) -> None:
    flaw = read(b"/services/echo/x", value)

    assert isinstance(flaw, Invalid)
    assert (flaw.layout, flaw.code) == ("json", code)
    assert read(b"team/echo/x", value) is None


@pytest.mark.parametrize(
    ("value", "address", "protocol", "secure"),
    [
        ({"addr": "10.0.0.1:80"}, "10.0.0.1:80", None, None),
        ({"Address": "10.0.0.1:80"}, "10.0.0.1:80", None, None),
        ({"endpoint": "grpcs://10.0.0.1:80"}, "10.0.0.1:80", "grpc", True),
        ({"target": "http://10.0.0.1:80/v1"}, "10.0.0.1:80", "http", False),
        ({"hostport": "[fd00::1]:80"}, "[fd00::1]:80", None, None),
        ({"host": "fd00::1", "port": 80}, "[fd00::1]:80", None, None),
        ({"ip": "10.0.0.1", "port": "80"}, "10.0.0.1:80", None, None),
        ({"addr": "10.0.0.1", "port": 80}, "10.0.0.1:80", None, None),
        ({"addr": "10.0.0.1:80", "port": 81}, "10.0.0.1:80", None, None),
    ],
)
def test_json_has_its_address_in_one_member_or_in_two(
    value: dict[str, Any], address: str, protocol: str | None, secure: bool | None
) -> None:
    instance = read(b"/services/echo/x", json.dumps(value).encode())

    assert isinstance(instance, Instance)
    assert (instance.layout, instance.address, instance.protocol, instance.secure) == (
        "json",
        address,
        protocol,
        secure,
    )
    assert (instance.service, instance.weight) == ("echo", None)


@pytest.mark.parametrize(
    "value",
    [
        b"mysql://root:hunter2@10.0.0.1:3306/shop",
        b"redis://:hunter2@10.0.0.1:6379",
        b'{"host":"10.0.0.1","port":3306,"password":"hunter2"}',
        b'{"addr":"10.0.0.1:6379","User":"root"}',
        b'{"addr":"mongodb://root:hunter2@10.0.0.1:27017"}',
        b'{"host":"postgres://root:hunter2@10.0.0.1","port":5432}',
        b'{"host":"10.0.0.1","port":5432,"DB_PASSWORD":"hunter2"}',
        b'{"network":"tcp","address":"10.0.0.1:3306","user":"root","passwd":"hunter2"}',
        b'{"host":"10.0.0.1","port":5432,"metadata":{"password":"hunter2"}}',
        b'{"addr":"10.0.0.1:5432","logins":[{"secretKey":"hunter2"}]}',
    ],
)
def test_where_an_application_finds_its_database_is_nobodys_service(value: bytes) -> None:
    for key in (b"/services/shop/x", b"/conf/shop/10.0.0.1:3306", b"conf/7587878123456782001"):
        assert read(key, value) is None
        catalog = Catalog(guess=True)
        catalog.put(Entry(key, value))
        assert catalog.read() == ((), (), 1)


def test_what_logs_in_somewhere_is_no_goframe_server_however_long_its_key_is() -> None:
    assert read(b"/conf/prod/eu/shop/v1/10.0.0.1:3306", b'{"user":"root","password":"hunter2"}') is None


@pytest.mark.parametrize("key", [b"/services/ /x", b"/services//x"])
def test_a_name_that_cannot_be_seen_is_none(key: bytes) -> None:
    found = read(key, b"10.0.0.1:80")
    assert isinstance(found, Invalid)
    assert found.code == "no_service"


def test_a_bad_url_does_not_tell_its_password() -> None:
    flaw = read(b"/services/shop/x", b"http://root:hunter2@10.0.0.1:80")

    assert isinstance(flaw, Invalid)
    assert (flaw.layout, flaw.code) == ("go-kit", "bad_address")
    assert "hunter2" not in flaw.reason


@pytest.mark.parametrize(
    ("key", "lease", "value", "found"),
    [
        (b"user.rpc/7587878123456782001", 7587878123456782001, b"", "empty_value"),
        (b"user.rpc/7587878123456782001", 7587878123456782001, b"10.0.0.1", "no_port"),
        (b"user.rpc/7587878123456782001", 7587878123456782001, b"[::]:8080", "wildcard_address"),
        (b"user.rpc/7587878123456782001", 7587878123456782002, b"10.0.0.1:0", "bad_port"),
        (b"orders/7587878123456782001", 0, b"shipped", None),
        (b"orders/7587878123456782001", 0, b'{"total":5}', None),
        (b"orders/42", 0, b"10.0.0.1:0", None),
        (b"orders/042", 0, b"10.0.0.1:80", None),
        (b"42", 0, b"10.0.0.1:80", None),
    ],
)
def test_a_long_number_alone_makes_no_registration(key: bytes, lease: int, value: bytes, found: str | None) -> None:
    catalog = Catalog()
    catalog.put(Entry(key, value, lease))
    _, invalid, foreign = catalog.read()
    assert [flaw.code for flaw in invalid] == ([found] if found else [])
    assert foreign == (found is None)


def test_beside_a_go_zero_instance_every_number_is_one() -> None:
    flaw = read(b"user.rpc/7", b"10.0.0.1", (b"user.rpc/7587878123456782001", b"10.0.0.1:80"))

    assert isinstance(flaw, Invalid)
    assert (flaw.layout, flaw.code) == ("go-zero", "no_port")


@pytest.mark.parametrize(
    ("value", "layout"),
    [
        (b"10.0.0.1:80", "plain"),
        (b"10.0.0.1:80|5", "seed"),
        (b"grpc://10.0.0.1:80", "go-kit"),
        (b'{"addr":"10.0.0.1:80"}', "json"),
    ],
)
def test_a_service_of_one_instance_may_be_one_key_under_the_root(value: bytes, layout: str) -> None:
    catalog = Catalog()
    catalog.put(Entry(b"/services/orders", value))
    (service,) = catalog.read().services
    assert (service.name, service.prefix, service.layout) == ("orders", "/services/orders", layout)
    assert service.instances[0].metadata == {}


@pytest.mark.parametrize("value", [b"", b"hello", b"10.0.0.1", b"{}", b"-1338474123", b"|5"])
def test_a_key_right_under_the_root_that_is_no_instance_is_nobodys(value: bytes) -> None:
    assert read(b"/services/orders", value) is None


def test_a_folder_may_have_a_key_of_its_own() -> None:
    for value in (b"", b"-1338474123"):
        assert read(b"/services/team/orders", value, (b"/services/team/orders/x", b"10.0.0.1:80")) is None


def test_versions_of_a_service_that_its_values_name_are_one_service() -> None:
    catalog = Catalog()
    for version in "12":
        value = {"name": "user", "addr": f"10.0.0.{version}:80", "version": version}
        catalog.put(Entry(f"/user/{version}/10.0.0.{version}:80".encode(), json.dumps(value).encode()))
    (service,) = catalog.read().services
    assert (service.name, service.prefix, len(service.instances)) == ("user", "/user/", 2)


@pytest.mark.parametrize("leaf", ["user:1001", "lock:1", "a:65535"])
def test_a_name_and_a_number_speak_for_a_key_only_if_the_value_has_them_too(leaf: str) -> None:
    assert read(f"cache/{leaf}".encode(), b"") is None
    assert read(f"cache/{leaf}".encode(), b"10.0.0.1:80") is None
    assert isinstance(read(f"cache/{leaf}".encode(), leaf.encode()), Instance)


def test_text_with_a_bar_counts_only_where_something_speaks_for_it() -> None:
    assert read(b"/conf/choices", b"a|b") is None
    assert isinstance(read(b"/team/echo/127.0.0.1:5", b"127.0.0.1:5|2"), Instance)
    assert isinstance(read(b"/services/echo/x", b"a|b"), Invalid)
    assert read(b"/team/echo/x", b'{"a":"|"}') is None


def test_json_of_other_layouts_is_left_to_them() -> None:
    kitex = read(b"kitex/x/a", b'{"network":"tcp","address":"127.0.0.1:1","weight":10}')
    assert isinstance(kitex, Instance)
    assert kitex.layout == "kitex"
    assert read(b"/s/x/a", b'{"addr":"127.0.0.1:1"}') is None
    assert read(b"/s/x/a", b'{"Op":0,"Addr":"127.0.0.1:1","Extra":1}') is None


@pytest.mark.parametrize("layout", [codec for codec in CODECS if codec.objects], ids=lambda codec: codec.name)
@pytest.mark.parametrize("value", [b"", b"10.0.0.1:80", b"[{}]", b'"{}"', b"\xef\xbb\xbf{}", b"7587878123456782001"])
def test_layouts_of_objects_make_nothing_of_other_values_unless_they_are_theirs(layout: Codec, value: bytes) -> None:
    for root in (*layout.roots, "a/"):
        record = Record(Entry(f"{root}b/10.0.0.1:80".encode(), value))
        for claim in (Claim(), Claim("a/", rooted=True), Claim(guess=True)):
            assert layout.decode(record, claim) is None


def test_control_characters_in_a_key_make_it_invalid() -> None:
    flaw = read(b"/services/ec\x1bho/127.0.0.1:5", b"127.0.0.1:5|1")

    assert isinstance(flaw, Invalid)
    assert flaw.code == "control_chars"


KEYS = st.one_of(st.binary(max_size=30), st.text(max_size=20).map(lambda text: ("/services/echo/" + text).encode()))
VALUES = st.one_of(
    st.binary(max_size=60),
    st.text(max_size=30).map(lambda text: f"127.0.0.1:5|{text}".encode()),
    st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), st.lists, max_leaves=5).map(
        lambda part: json.dumps({"Op": 0, "Addr": "127.0.0.1:5", "Metadata": part}).encode()
    ),
)


@given(key=KEYS, value=VALUES)
def test_no_key_and_no_value_makes_a_codec_raise(key: bytes, value: bytes) -> None:
    for codec in CODECS:
        for claim in (Claim(), Claim(owned=True), Claim("/services/", rooted=True)):
            decoded = codec.decode(Record(Entry(key, value)), claim)
            assert decoded is None or bool(decoded.instances) + bool(decoded.invalid) + bool(decoded.skipped) == 1


@given(entries=st.lists(st.tuples(KEYS, VALUES), max_size=8, unique_by=lambda pair: pair[0]))
def test_every_key_is_an_instance_or_invalid_or_counted(entries: list[tuple[bytes, bytes]]) -> None:
    catalog = Catalog()
    for key, value in entries:
        catalog.put(Entry(key, value))

    services, invalid, foreign = catalog.read()

    assert sum(len(service.instances) for service in services) + len(invalid) + foreign == len(entries)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ('{"addr":"h:1","weight":2}', '{"addr":"h:1","weight":7}'),
        ('{ "Weight" : "2", "addr":"h:1" }\n', '{ "Weight" : "7", "addr":"h:1" }\n'),
        ('{"addr":"h:1","metadata":{"a":1,"weight":"8"}}', '{"addr":"h:1","metadata":{"a":1,"weight":"7"}}'),
        ('{"addr":"h:1","weight":null,"metadata":{"weight":8}}', '{"addr":"h:1","weight":7,"metadata":{"weight":8}}'),
    ],
)
def test_a_json_weight_is_written_where_it_stands_as_it_is_spelled(value: str, written: str) -> None:
    assert reweighed("json", "/services/echo/x", value.encode(), 7).decode() == written
    instance = read(b"/services/echo/x", written.encode())
    assert isinstance(instance, Instance)
    assert instance.weight == 7


def test_json_without_a_weight_gets_none() -> None:
    for value in (b'{"addr":"h:1"}', b'{"addr":"h:1","metadata":{}}', b'{"addr":"h:1","metadata":"x"}'):
        with pytest.raises(Unusable, match="no weight"):
            reweighed("json", "/services/echo/x", value, 7)
