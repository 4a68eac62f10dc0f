from __future__ import annotations

import pytest

from lbctl.discovery.catalog import Catalog
from lbctl.discovery.elsewhere import elsewhere
from lbctl.model import Entry

KITEX = b'{"network":"tcp","address":"10.0.0.1:80","weight":10,"tags":null}'


def said(*keys: str, value: bytes = KITEX) -> list[str]:
    catalog = Catalog()
    for key in keys:
        catalog.put(Entry(key.encode(), value))
    return list(elsewhere(catalog.read().services))


def test_a_service_where_the_clients_of_its_layout_do_not_look_is_told() -> None:
    assert said("kitex/registry-etcd/a/10.0.0.1:80", "/Hello/10.0.0.1:80") == [
        "kitex under '/Hello/': its clients look under 'kitex/' unless they are told otherwise"
    ]


def test_many_of_one_layout_are_told_in_one_line() -> None:
    assert said(*(f"/{name}/10.0.0.1:80" for name in "abcde")) == [
        "kitex under '/a/', '/b/', '/c/' and 2 more: its clients look under 'kitex/' unless they are told otherwise"
    ]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("kitex/registry-etcd/a/10.0.0.1:80", KITEX),
        ("user.rpc/7587878123456782001", b"10.0.0.1:80"),
        ("team/orders/10.0.0.1:80", b'{"Op":0,"Addr":"10.0.0.1:80","Metadata":null}'),
        ("/conf/orders/10.0.0.1:80", b"10.0.0.1:80|3"),
    ],
)
def test_a_layout_that_may_stand_anywhere_is_at_home_everywhere(key: str, value: bytes) -> None:
    assert said(key, value=value) == []
