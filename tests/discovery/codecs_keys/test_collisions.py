"""Keys and values that two layouts could claim, and keys that may not be tidied up."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lbctl.discovery.catalog import Catalog
from lbctl.discovery.codecs import CODECS, Claim, Record
from lbctl.model import Entry
from tests.discovery.codecs_keys.reading import instance, service, skipped

INFO = b'{"name":"user","address":"10.0.0.1:90","weight":5}'
UPDATE = b'{"Op":0,"Addr":"10.0.0.1:90","Metadata":null}'
METADATA = b'{"protocol":"grpc"}'
DEEP = "/service/default/default/user/latest/10.0.0.1:90"


def layout(key: str, value: bytes) -> str:
    return instance(key, value).layout


@pytest.mark.parametrize(
    "folder",
    ["/dubbo/", "/ego/user/", "/jupiter/user/", "/rpcx_test/Arith/", "/skydns/local/x/", DEEP[:-11], "openim:///user/"],
)
def test_a_lock_is_told_by_its_own_lease_and_may_well_hold_an_address(folder: str) -> None:
    catalog = Catalog()
    catalog.put(Entry(f"{folder}{7587878123456785001:x}".encode(), b"10.0.0.1:90", 7587878123456785001))
    assert catalog.read() == ((), (), 1)
    assert "lock" in catalog.others()[0].why


@pytest.mark.parametrize(
    ("key", "value", "name"),
    [
        ("/dubbo/user/providers/tri%3A%2F%2F10.0.0.1%3A90%2Fuser", b"", "dubbo-interface"),
        ("/ego/user/providers/tri%3A%2F%2F10.0.0.1%3A90%2Fuser", b"", "dubbo-interface"),
        ("/ego/user/providers/grpc://10.0.0.1:90", INFO, "ego"),
        ("/dubbo/user/providers/grpc://10.0.0.1:90", INFO, "ego"),
        ("/jupiter/user/providers/grpc://10.0.0.1:90", INFO, "jupiter-v0"),
    ],
)
def test_a_url_in_a_key_is_dubbos_encoded_and_egos_raw(key: str, value: bytes, name: str) -> None:
    assert layout(key, value) == name


def test_a_value_that_repeats_its_key_is_a_marker_and_one_with_a_port_is_a_server() -> None:
    assert "marker" in skipped("/services/user", b"user")
    assert layout("/services/user/10.0.0.1:90", b"10.0.0.1:90") == "plain"
    assert layout("/services/user/tcp@10.0.0.1:90", b"") == "rpcx"


@pytest.mark.parametrize(
    ("key", "value", "name"),
    [
        (DEEP, METADATA, "goframe"),
        (DEEP, UPDATE, "etcd-naming"),
        (DEEP, b'{"network":"tcp","address":"10.0.0.1:90","weight":10,"tags":null}', "kitex"),
        (DEEP, b'{"addr":"10.0.0.1:90","weight":3}', "json"),
        (DEEP, b"10.0.0.1:90", "plain"),
        ("/a/b/c/d/e/10.0.0.1:90", METADATA, "goframe"),
        ("a/b/c/d/e/10.0.0.1:90", METADATA, "goframe"),
    ],
)
def test_under_a_deep_key_values_that_have_an_address_are_not_goframes(key: str, value: bytes, name: str) -> None:
    assert layout(key, value) == name


def test_an_update_is_jupiters_by_its_key_alone() -> None:
    assert layout("grpc:user:v1:live/10.0.0.1:90", UPDATE) == "jupiter"
    assert layout("grpc/user/10.0.0.1:90", UPDATE) == "etcd-naming"


@pytest.mark.parametrize(
    ("key", "value", "prefix"),
    [
        ("//ego//user/providers/grpc://10.0.0.1:90", INFO, "//ego//user/providers/"),
        (" rpcx/Arith/tcp@10.0.0.1:90", b"", " rpcx/Arith/"),
        ("//rpcx//Arith/tcp@10.0.0.1:90", b"", "//rpcx//Arith/"),
        ("/dubbo/ user/providers/tri%3A%2F%2F10.0.0.1%3A90", b"", "/dubbo/ user/providers/"),
        ("openim:///user/10.0.0.1:90", b"10.0.0.1:90", "openim:///user/"),
    ],
)
def test_keys_keep_their_spaces_and_slashes(key: str, value: bytes, prefix: str) -> None:
    assert service(key, value).prefix == prefix
    assert instance(key, value).key == key


PARTS = (
    "|.| |/|//|apisix|upstreams|routes|skydns|local|dubbo|providers|ego|jupiter|service|openim:|grpc:u:v1:m|tcp@|unix@|"
    "grpc://|tri%3A%2F%2F|%3A|%|10.0.0.1:90|[::1]"
)
MEMBERS = (
    "Op Addr Metadata MetadataX nodes upstream scheme host port weight mail text name address enable healthy metadata "
    "status service_name priority ttl protocol insecure"
)
SOME = st.sampled_from(PARTS.split("|"))
KEYS = st.lists(SOME, max_size=12).map("".join) | st.lists(SOME, max_size=8).map("/".join)
PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("10.0.0.1:90")
DOCUMENTS = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(MEMBERS.split()), inner, max_size=5),
    max_leaves=10,
)
VALUES = st.one_of(
    st.binary(max_size=20),
    DOCUMENTS.map(lambda document: json.dumps(document).encode()),
    st.sampled_from([b"", b"7", b"rpcx_path", b"init_dir", b"a=%zz", b"weight=%ff&state=inactive", b"10.0.0.1:90"]),
)


@given(key=KEYS, value=VALUES, layout=st.sampled_from(["", *(codec.name for codec in CODECS)]), owned=st.booleans())
def test_nothing_that_looks_a_little_like_it_makes_a_layout_raise(
    key: str, value: bytes, layout: str, owned: bool
) -> None:
    for codec in CODECS:
        decoded = codec.decode(Record(Entry(key.encode(), value)), Claim(owned=owned, layout=layout))
        assert decoded is None or bool(decoded.instances) + bool(decoded.invalid) + bool(decoded.skipped) == 1


@pytest.mark.parametrize(
    ("layout", "key", "value"),
    [
        ("apisix", "/own/upstreams/7", b'{"nodes":{"10.0.0.1:90":1}}'),
        ("skydns", "/own/local/user/n1", b'{"host":"10.0.0.1","port":90}'),
        ("rpcx", "/own/Arith/10.0.0.1:90", b""),
        ("goframe", "/own/d/n/user/v1/10.0.0.1:90", b""),
        ("jupiter-v0", "/own/user/providers/grpc://10.0.0.1:90", INFO),
    ],
)
def test_a_layout_that_is_asked_for_under_a_prefix_is_read_there_and_nowhere_else(
    layout: str, key: str, value: bytes
) -> None:
    under, anywhere = Catalog("/own/", rooted=True, preferred=layout), Catalog(preferred=layout)
    under.put(Entry(key.encode(), value))
    assert [each.layout for each in under.read().services] == [layout]
    others = (("/services/echo/10.0.0.1:90", b"10.0.0.1:90|1"), ("/conf/a/b", b"?"), ("/conf/upstreams", b"{}"))
    for other, held in others:
        anywhere.put(Entry(other.encode(), held))
    found = anywhere.read()
    assert ([each.layout for each in found.services], found.invalid, found.foreign) == (["seed"], (), 2)
