"""What lbctl writes to register an instance: the exact bytes of each layout, and what it refuses to write."""

from __future__ import annotations

from typing import Any

import pytest

from lbctl.cli.layouts import WRITERS
from lbctl.discovery.catalog import Catalog
from lbctl.discovery.codecs import CODECS, Codec
from lbctl.discovery.codecs.registration import Registration, Wanted
from lbctl.discovery.flaws import Unusable
from lbctl.discovery.registering import has_weights, preview, registration
from lbctl.model import Endpoint, Entry

HERE = Endpoint("127.0.0.1", 50061)
V6 = Endpoint("fd00::1", 50061)
LEASE = 7587878123456782001
ID = "6ebae431-6996-5f25-8579-9580859fa8fe"

BYTES: dict[str, tuple[dict[str, Any], str, str]] = {
    "seed": ({"weight": 5}, "/services/echo/127.0.0.1:50061", "127.0.0.1:50061|5"),
    "etcd-naming": (
        {"weight": 5},
        "echo/127.0.0.1:50061",
        '{"Op":0,"Addr":"127.0.0.1:50061","Metadata":{"weight":5}}',
    ),
    "kratos": (
        {"weight": 5, "metadata": {"zone": "z1"}},
        f"/microservices/echo/{ID}",
        f'{{"id":"{ID}","name":"echo","version":"","metadata":{{"weight":"5","zone":"z1"}},'
        '"endpoints":["grpc://127.0.0.1:50061"]}',
    ),
    "kitex": (
        {"metadata": {"cluster": "gray"}},
        "kitex/registry-etcd/echo/127.0.0.1:50061",
        '{"network":"tcp","address":"127.0.0.1:50061","weight":10,"tags":{"cluster":"gray"}}',
    ),
    "go-micro": (
        {},
        f"/micro/registry/echo/echo-{ID}",
        '{"name":"echo","version":"latest","metadata":null,"endpoints":[],"nodes":[{"metadata":{"broker":"http",'
        '"protocol":"grpc","registry":"etcd","server":"grpc","transport":"grpc"},'
        f'"id":"echo-{ID}","address":"127.0.0.1:50061"}}]}}',
    ),
    "go-zero": ({}, f"echo/{LEASE}", "127.0.0.1:50061"),
    "plain": ({}, "/services/echo/127.0.0.1:50061", "127.0.0.1:50061"),
}


@pytest.mark.parametrize("layout", WRITERS)
def test_a_registration_is_written_by_its_layouts_own_rule(layout: str) -> None:
    given, key, value = BYTES[layout]
    written = registration(layout, Wanted("echo", HERE, lease=LEASE, **given))
    assert (written.key.decode(), written.value.decode()) == (key, value)


@pytest.mark.parametrize("layout", WRITERS)
@pytest.mark.parametrize("endpoint", [HERE, V6, Endpoint("backend-1.example", 1)])
def test_what_is_written_is_read_back_as_what_was_meant(layout: str, endpoint: Endpoint) -> None:
    weight = 7 if has_weights(layout) else None
    for root in (None, "/mine/"):
        written = registration(layout, Wanted("echo", endpoint, weight, root=root, lease=LEASE))
        catalog = Catalog(root or "", rooted=root is not None)
        catalog.put(Entry(*written, lease=LEASE))
        ((service,), invalid, foreign) = catalog.read()
        (instance,) = service.instances
        assert (service.name, service.layout, instance.endpoint) == ("echo", layout, endpoint)
        assert (instance.weight, instance.warnings) == (weight, ()) or weight is None
        assert (invalid, foreign) == ((), 0)


@pytest.mark.parametrize("layout", WRITERS)
def test_an_instance_registers_under_the_same_key_again_and_others_under_others(layout: str) -> None:
    def key(endpoint: Endpoint) -> bytes:
        return registration(layout, Wanted("echo", endpoint, lease=LEASE)).key

    assert key(HERE) == key(HERE)
    assert (key(HERE) != key(V6)) is not preview(layout, Wanted("echo", HERE)).named_by_lease


def test_metadata_goes_where_the_layout_keeps_it() -> None:
    written = registration("etcd-naming", Wanted("echo", HERE, metadata={"zone": "z1"}))
    assert written.value == b'{"Op":0,"Addr":"127.0.0.1:50061","Metadata":{"zone":"z1"}}'
    bare = registration("etcd-naming", Wanted("echo", HERE))
    assert bare.value == b'{"Op":0,"Addr":"127.0.0.1:50061","Metadata":null}'


@pytest.mark.parametrize(
    ("layout", "wanted", "reason"),
    [
        ("seed", Wanted("echo", HERE, metadata={"zone": "z1"}), "the layout seed has no place for metadata zone"),
        (
            "seed",
            Wanted("", HERE),
            '"" is no name for a service: the key would be /services//127.0.0.1:50061',
        ),
        (
            "seed",
            Wanted("/services/echo", HERE),
            '"/services/echo" is no name for a service: the key would be /services//services/echo/127.0.0.1:50061',
        ),
        (
            "etcd-naming",
            Wanted("echo", HERE, 5, {"weight": "7"}),
            "clients of the layout etcd-naming read weight 5 as 7",
        ),
        ("seed", Wanted("ec\tho", HERE), "control characters in the key or the name"),
        (
            "seed",
            Wanted("echo", Endpoint("0.0.0.0", 1)),
            "0.0.0.0 is a wildcard: it would reach the caller's own machine",
        ),
        ("kitex", Wanted("echo", HERE, 0), "clients of the layout kitex read weight 0 as 10"),
        ("kitex", Wanted("a/echo", HERE), '"a/echo" would be read as the service "echo"'),
        ("go-zero", Wanted("echo", HERE, 3), "the layout go-zero has no weights"),
        ("go-zero", Wanted("echo", HERE), "a key of go-zero is named by its lease"),
        ("plain", Wanted("echo", HERE, metadata={"zone": "z1"}), "the layout plain has no place for metadata zone"),
        ("key-only", Wanted("echo", HERE), "lbctl does not register in the layout key-only"),
    ],
)
def test_what_would_be_read_as_something_else_is_not_written(layout: str, wanted: Wanted, reason: str) -> None:
    with pytest.raises(Unusable) as caught:
        registration(layout, wanted)
    assert caught.value.reason == reason


def test_a_writer_that_does_not_write_what_is_read_is_caught() -> None:
    def careless(wanted: Wanted) -> Registration:
        return Registration(b"/services/echo/127.0.0.1:1", b"127.0.0.1:1|1")

    seed = next(codec for codec in CODECS if codec.name == "seed")
    with pytest.raises(Unusable, match=r"127\.0\.0\.1:50061 would be read as 127\.0\.0\.1:1"):
        registration(
            "seed", Wanted("echo", HERE), [Codec("seed", seed.parse, weak=True, roots=seed.roots, write=careless)]
        )
