from __future__ import annotations

from dataclasses import replace

import pytest

from lbctl.discovery.changes import diff
from lbctl.discovery.listing import Listing, shares
from lbctl.etcd.client import TimeToLive
from lbctl.model import Endpoint, Instance, Invalid, Registry, Service
from lbctl.rpc.health import Health, Status
from lbctl.view.change_rows import change_rows
from lbctl.view.listing_notes import notes
from lbctl.view.services import SORTS, Look, instances_table, invalid_table, services_table
from lbctl.view.theme import ASCII, COLOUR, PLAIN, UNICODE


def instance(number: int, weight: int | None, lease: int = 0, **metadata: object) -> Instance:
    return Instance(
        key=f"/services/echo/10.0.0.{number}:50051",
        service="echo",
        layout="seed",
        endpoint=Endpoint(f"10.0.0.{number}", 50051),
        weight=weight,
        metadata=metadata,
        lease=lease,
        create_revision=number,
        mod_revision=number + 5,
    )


FIRST = instance(11, 5, 0x7587AB01, zone="az-a")
SECOND = instance(12, 3, 0x7587AB02)
THIRD = replace(instance(13, 2), status="disabled")
LAST = replace(instance(14, None), endpoint=Endpoint("fe80::a:1", 50051))
SERVICE = Service("echo", "seed", "/services/echo/", (FIRST, SECOND, THIRD, LAST))
LISTING = Listing(
    Registry(20, (SERVICE,)),
    leases={FIRST.lease: TimeToLive(8, 10)},
    health={
        FIRST.identity: Health(Status.SERVING, 0.0004),
        SECOND.identity: Health(Status.REFUSED, None, "connection refused"),
        LAST.identity: Health(Status.UNIMPLEMENTED, 0.0012),
    },
    checked=True,
)
PLAIN_LOOK = Look(PLAIN, UNICODE)


def test_the_instances_of_a_service_line_up_in_columns() -> None:
    assert instances_table(LISTING, SERVICE, PLAIN_LOOK).lines == [
        "ADDRESS            WEIGHT  SHARE  HEALTH           RTT  LEASE             ZONE  AGE",
        "10.0.0.11:50051         5  55.6%  SERVING        400us  7587ab01 8s/10s   az-a  rev 11 (+9)",
        "10.0.0.12:50051         3  33.3%  REFUSED            -  7587ab02 expired  -     rev 12 (+8)",
        "10.0.0.13:50051         2   0.0%  disabled           -  none              -     rev 13 (+7)",
        "[fe80::a:1]:50051     (1)  11.1%  UNIMPLEMENTED  1.2ms  none              -     rev 14 (+6)",
    ]


def test_the_services_line_up_in_columns() -> None:
    assert services_table(LISTING, PLAIN_LOOK).lines == [
        "SERVICE  LAYOUT  INSTANCES   UP  WEIGHT  LEASES  TTL  AGE",
        "echo     seed            4  2/4      11       2  10s  rev 11 (+9)",
    ]


def test_unusable_keys_have_their_code_and_reason_beside_them() -> None:
    flaw = Invalid("/services/echo/x", "seed", "bad_weight", "weight is empty")
    assert invalid_table([flaw], PLAIN_LOOK).lines == [
        "INVALID KEY       LAYOUT  CODE        REASON",
        "/services/echo/x  seed    bad_weight  weight is empty",
    ]


def test_of_the_reasons_that_no_word_says_five_are_told_and_the_others_counted() -> None:
    several = tuple(instance(number, 1) for number in range(1, 9))
    refused, *others = (each.identity for each in several)
    health = {each: Health(Status.ERROR, None, f"is odd, {number}") for number, each in enumerate(others, 2)}
    health[refused] = Health(Status.REFUSED, None, "refused the connection")
    registry = Registry(20, (Service("echo", "seed", "/services/echo/", several),))
    said = list(notes(Listing(registry, health=health, checked=True), asked="echo", endpoints=()))
    told = [f"note: 10.0.0.{number}:50051 is odd, {number}" for number in range(2, 7)]
    assert said == [*told, "note: and 2 more", "0 of 8 ready; 8 need a look: lbctl doctor echo"]


def test_who_speaks_something_else_than_grpc_is_told_and_needs_no_look() -> None:
    web, serving = replace(instance(1, 1), protocol="http"), replace(instance(2, 1), protocol="grpc")
    registry = Registry(20, (Service("echo", "seed", "/services/echo/", (web, serving)),))
    health = {serving.identity: Health(Status.SERVING, 0.001)}
    said = list(notes(Listing(registry, health=health, checked=True), asked="echo", endpoints=()))
    assert said == ["note: gRPC clients do not call what speaks http", "1 of 1 ready"]


@pytest.mark.parametrize("width", [20, 30, 40, 50, 60, 70, 80, 140])
def test_a_table_keeps_within_its_width_unless_even_its_main_columns_do_not_fit(width: int) -> None:
    table = instances_table(LISTING, SERVICE, Look(PLAIN, UNICODE, width))
    assert all(len(line) <= max(width, 30) for line in table.lines)


def test_columns_are_dropped_from_the_least_important_and_named() -> None:
    assert instances_table(LISTING, SERVICE, Look(PLAIN, UNICODE, 60)).hidden == ["LEASE", "ZONE", "AGE"]
    assert instances_table(LISTING, SERVICE, Look(PLAIN, UNICODE, 40)).hidden == [
        "HEALTH",
        "RTT",
        "LEASE",
        "ZONE",
        "AGE",
    ]


def test_a_long_name_is_cut_in_the_middle_before_a_column_goes() -> None:
    service = replace(SERVICE, name="/services/very.long.name.of.a.v1.InventoryService")
    table = services_table(Listing(Registry(20, (service,))), Look(PLAIN, UNICODE, 88))
    assert table.hidden == []
    assert len(table.lines[1].split()[0]) < len(service.name)
    assert "…" in table.lines[1]
    assert "~" in services_table(Listing(Registry(20, (service,))), Look(PLAIN, ASCII, 88)).lines[1]


def test_colour_adds_only_escape_sequences() -> None:
    import re

    coloured = instances_table(LISTING, SERVICE, Look(COLOUR, UNICODE)).lines
    assert any("\x1b[31m" in line for line in coloured)
    plain = [re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip() for line in coloured]
    assert plain == instances_table(LISTING, SERVICE, PLAIN_LOOK).lines


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("", [11, 12, 13, 14]),
        ("address", [11, 12, 13, 14]),
        ("weight", [11, 12, 13, 14]),
        ("share", [11, 12, 14, 13]),
        ("health", [12, 11, 14, 13]),
        ("rtt", [14, 11, 12, 13]),
        ("ttl", [11, 12, 13, 14]),
        ("created", [11, 12, 13, 14]),
    ],
)
def test_rows_can_be_sorted_by_every_column(sort: str, order: list[int]) -> None:
    lines = instances_table(LISTING, SERVICE, PLAIN_LOOK, sort=sort).lines[1:]
    assert [int(line.split("rev ")[1].split()[0]) for line in lines] == order


def test_every_sort_the_command_line_offers_exists() -> None:
    from lbctl.cli.ls_options import SORTS as OFFERED

    assert OFFERED == SORTS


def test_a_change_is_one_row_that_says_what_the_instance_is_like_now() -> None:
    heavier = replace(SECOND, weight=9)
    moved = replace(FIRST, endpoint=Endpoint("10.0.0.99", 1))
    after = Service("echo", "seed", "/services/echo/", (moved, heavier, instance(15, 1)))
    flaw = Invalid("/services/echo/x", "seed", "bad_weight", "weight is empty")
    rows = change_rows(diff(SERVICE.instances, after.instances, (), (flaw,)), shares(after), 21, PLAIN)
    assert list(rows) == [
        "LEFT    echo  10.0.0.13:50051  weight 2  rev 21",
        "LEFT    echo  [fe80::a:1]:50051  weight 1  rev 21",
        "MOVED   echo  10.0.0.99:1  weight 5  share 33.3%  was 10.0.0.11:50051  rev 21",
        "WEIGHT  echo  10.0.0.12:50051  weight 9  share 60.0%  rev 21",
        "JOINED  echo  10.0.0.15:50051  weight 1  share 6.7%  rev 21",
        "INVALID /services/echo/x  weight is empty [bad_weight]",
    ]
