"""Registrations out of the rotation and back: what each layout writes, to the byte, and what it refuses."""

from __future__ import annotations

import pytest

from lbctl.cli.layouts import WRITERS
from lbctl.discovery.codecs import CODECS, Codec
from lbctl.discovery.codecs.registration import Wanted
from lbctl.discovery.flaws import Unusable
from lbctl.discovery.registering import registration
from lbctl.discovery.rotation import drained, has_status, undrained
from lbctl.model import Endpoint

SEED, RPCX = "/services/echo/127.0.0.1:5", "/rpcx_test/Arith/tcp@10.90.0.61:8972"
DRAINABLE = ("seed", "etcd-naming", "kratos")


@pytest.mark.parametrize("layout", DRAINABLE)
@pytest.mark.parametrize("weight", [None, 3])
def test_what_is_drained_and_undrained_is_what_it_was_to_the_byte(layout: str, weight: int | None) -> None:
    key, value = registration(layout, Wanted("echo", Endpoint("127.0.0.1", 5), weight))

    out = drained(layout, key.decode(), value)
    back = undrained(layout, key.decode(), out.value, value)

    assert (out.weight, out.status) == (0, None)
    assert back.value == value
    assert back.weight == weight or weight is None


def test_the_seed_layout_and_kratos_say_weight_0() -> None:
    assert drained("seed", SEED, b"127.0.0.1:5|3").value == b"127.0.0.1:5|0"
    value = b'{"id":"1","name":"a","version":"","metadata":{"weight":"20","z":"1"},"endpoints":["grpc://1.2.3.4:5"]}'
    assert drained("kratos", "/microservices/a/1", value).value == value.replace(b'"20"', b'"0"')


@pytest.mark.parametrize(
    ("value", "out"),
    [
        (b"", b"state=inactive"),
        (b"group=blue&weight=7", b"group=blue&weight=7&state=inactive"),
        (b"calls=12.50&%67roup=a%20b", b"calls=12.50&%67roup=a%20b&state=inactive"),
    ],
)
def test_rpcx_has_a_state_for_it_and_keeps_its_weight(value: bytes, out: bytes) -> None:
    turned = drained("rpcx", RPCX, value)

    assert has_status("rpcx")
    assert (turned.value, turned.status) == (out, "inactive")
    assert undrained("rpcx", RPCX, out, None).value == value


def test_what_changed_while_it_was_drained_stays_changed() -> None:
    before = b'{"Op":0,"Addr":"127.0.0.1:5","Metadata":{"weight":3,"zone":"a"}}'
    now = b'{"Op":0,"Addr":"127.0.0.1:5","Metadata":{"zone":"b","weight":0}}'

    back = undrained("etcd-naming", "echo/127.0.0.1:5", now, before)

    assert back.value == b'{"Op":0,"Addr":"127.0.0.1:5","Metadata":{"zone":"b","weight":3}}'


def test_one_that_stated_no_weight_has_weight_1_where_the_rest_has_changed() -> None:
    now = b'{"Op":0,"Addr":"127.0.0.1:5","Metadata":{"zone":"b","weight":0}}'
    before = b'{"Op":0,"Addr":"127.0.0.1:5","Metadata":null}'
    assert undrained("etcd-naming", "echo/127.0.0.1:5", now, before).weight == 1


def test_all_instances_of_a_key_are_drained_with_it() -> None:
    value = b'{"id":"1","name":"a","version":"","metadata":{},"endpoints":["http://1.2.3.4:5","grpc://1.2.3.4:6"]}'
    assert drained("kratos", "/microservices/a/1", value).value == value.replace(b"{}", b'{"weight":"0"}')


KITEX = b'{"network":"tcp","address":"10.60.0.31:8888","weight":10,"tags":null}'
KRATOS_V1 = b'{"appid":"a","hostname":"h","addrs":["grpc://10.41.0.2:9000"],"metadata":null,"status":1}'
DUBBO = b'{"ID":"1","ServiceName":"a","Host":"10.81.0.1","Port":20000,"Weight":0,"Enable":true,"Healthy":true}'
JUPITER = b'{"Op":0,"Addr":"10.100.0.71:9528","MetadataX":{"name":"a","weight":100}}'


@pytest.mark.parametrize(
    ("layout", "key", "value", "reason"),
    [
        ("kitex", "kitex/registry-etcd/echo/10.60.0.31:8888", KITEX, "clients of the layout kitex read weight 0 as 10"),
        ("hertz", "hertz/registry-etcd/echo/10.60.0.31:8888", KITEX, "clients of the layout hertz read weight 0 as 10"),
        ("kratos-v1", "/kratos_etcd/a/h", KRATOS_V1, "clients of the layout kratos-v1 read weight 0 as 10"),
        ("dubbo-app", "/services/a/10.81.0.1:20000", DUBBO, "clients of the layout dubbo-app read weight 0 as 100"),
        (
            "jupiter",
            "grpc:a:v1:live/10.100.0.71:9528",
            JUPITER,
            "clients of Jupiter go by the address, and heed no weight",
        ),
        (
            "go-zero",
            "user.rpc/42",
            b"10.50.0.21:8080",
            "the layout go-zero has neither weights nor a status to drain by",
        ),
        ("plain", SEED, b"127.0.0.1:5", "the layout plain has neither weights nor a status to drain by"),
    ],
)
def test_where_clients_would_pick_it_all_the_same_it_is_refused(
    layout: str, key: str, value: bytes, reason: str
) -> None:
    with pytest.raises(Unusable) as caught:
        drained(layout, key, value)
    assert caught.value.reason == reason


def test_without_a_note_the_weight_is_not_known() -> None:
    with pytest.raises(Unusable, match="what its weight was is not kept"):
        undrained("seed", SEED, b"127.0.0.1:5|0", None)


def test_a_status_that_is_not_its_own_to_change_is_left_alone() -> None:
    def careless(value: bytes, on: bool) -> bytes:
        return value

    def clumsy(value: bytes, on: bool) -> bytes:
        return b"weight=9&state=inactive"

    rpcx = next(codec for codec in CODECS if codec.name == "rpcx")
    with pytest.raises(Unusable, match="its status says otherwise"):
        drained("rpcx", RPCX, b"", [Codec("rpcx", rpcx.parse, enable=careless)])
    with pytest.raises(Unusable, match="without changing something else"):
        drained("rpcx", RPCX, b"", [Codec("rpcx", rpcx.parse, enable=clumsy)])


def test_these_of_the_layouts_that_are_written_can_be_drained() -> None:
    def drains(layout: str) -> bool:
        key, value = registration(layout, Wanted("echo", Endpoint("127.0.0.1", 5), lease=42))
        try:
            return bool(drained(layout, key.decode(), value))
        except Unusable:
            return False

    assert {layout for layout in WRITERS if drains(layout)} == set(DRAINABLE)
