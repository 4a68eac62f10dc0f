"""The table of ``methods`` at the widths of terminals."""

from __future__ import annotations

import pytest

from lbctl.rpc.schemas.catalogue import MethodFacts
from lbctl.rpc.schemas.offering import Offered, Row, Teller
from lbctl.view.offered import methods_table
from lbctl.view.services import Look
from lbctl.view.text import cell_len
from lbctl.view.theme import PLAIN, UNICODE

SAY = MethodFacts("shop.orders.v1.Orders", "Place", "shop.orders.v1.PlaceRequest", "shop.orders.v1.PlaceReply")
SEE = MethodFacts(
    "shop.orders.v1.Orders", "See", "shop.orders.v2.Query", "google.protobuf.Struct", server_streaming=True
)
ADDRESSES = ("10.0.0.1:1", "10.0.0.2:1")


def lines(width: int | None) -> list[str]:
    offered = Offered("shop", (Row(SAY, ADDRESSES), Row(SEE, ADDRESSES[:1])), tuple(Teller(a, "v1") for a in ADDRESSES))
    return methods_table(offered, Look(PLAIN, UNICODE, width), every=True).lines


@pytest.mark.parametrize("width", [None, 140])
def test_types_are_named_in_full_where_there_is_room(width: int | None) -> None:
    assert lines(width) == [
        "METHOD                       KIND    REQUEST -> RESPONSE                                       ON",
        "shop.orders.v1.Orders/Place  unary   shop.orders.v1.PlaceRequest -> shop.orders.v1.PlaceReply  2/2",
        "shop.orders.v1.Orders/See    server  shop.orders.v2.Query -> google.protobuf.Struct            1/2",
    ]


def test_in_a_narrow_terminal_types_of_the_package_are_named_as_it_calls_them() -> None:
    found = lines(80)
    assert found == [
        "METHOD                       KIND    REQUEST -> RESPONSE                     ON",
        "shop.orders.v1.Orders/Place  unary   PlaceRequest -> PlaceReply              2/2",
        "shop.orders.v1.Orders/See    server  shop.orders.v2.Quer…le.protobuf.Struct  1/2",
    ]
    assert max(map(cell_len, found)) <= 80
