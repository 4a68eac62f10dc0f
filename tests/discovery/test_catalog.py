from __future__ import annotations

from lbctl.discovery.catalog import Catalog
from lbctl.model import Entry, Service


def catalog(*pairs: tuple[str, str], root: str = "") -> Catalog:
    made = Catalog(root, rooted=bool(root))
    for key, value in pairs:
        made.put(Entry(key.encode(), value.encode()))
    return made


def names(made: Catalog) -> list[tuple[str, str, int]]:
    return [(service.name, service.prefix, len(service.instances)) for service in made.read()[0]]


def test_a_service_is_its_folder_and_never_a_longer_name() -> None:
    made = catalog(
        ("/services/demo/127.0.0.1:1", "127.0.0.1:1|1"),
        ("/services/demo-b/127.0.0.1:2", "127.0.0.1:2|1"),
        ("/services/demo/canary/127.0.0.1:3", "127.0.0.1:3|1"),
    )

    assert names(made) == [
        ("demo", "/services/demo/", 1),
        ("demo-b", "/services/demo-b/", 1),
        ("demo/canary", "/services/demo/canary/", 1),
    ]
    assert made.service("seed", "/services/demo/", "demo")[0].instances[0].address == "127.0.0.1:1"


def test_a_prefix_is_taken_off_the_names() -> None:
    pairs = (("/prod/echo/b1", "127.0.0.1:1|1"), ("/prod/echo/b2", "127.0.0.1:2|1"))

    assert names(catalog(*pairs, root="/prod/")) == [("echo", "/prod/echo/", 2)]
    assert names(catalog(*pairs, root="/prod/echo/")) == [("echo", "/prod/echo/", 2)]
    assert names(catalog(*pairs)) == []


def test_two_layouts_in_one_folder_are_two_services() -> None:
    made = catalog(
        ("/services/echo/a", "127.0.0.1:1|1"),
        ("/services/echo/b", '{"Op":0,"Addr":"127.0.0.1:2","Metadata":null}'),
    )

    assert [(service.name, service.layout) for service in made.read()[0]] == [
        ("echo", "seed"),
        ("services/echo", "etcd-naming"),
    ]


def test_a_service_of_unusable_keys_only_exists_and_is_empty() -> None:
    made = catalog(("/services/echo/a", "127.0.0.1|1"))

    services, invalid, foreign = made.read()

    assert services == (Service("echo", "seed", "/services/echo/", ()),)
    assert [flaw.code for flaw in invalid] == ["no_port"]
    assert foreign == 0


def test_a_key_that_is_put_again_is_replaced_and_a_deleted_one_is_forgotten() -> None:
    made = catalog(("/services/echo/a", "127.0.0.1:1|1"))
    for _ in range(1000):
        made.put(Entry(b"/services/echo/a", b"127.0.0.1:1|2"))
    assert [i.weight for i in made.read()[0][0].instances] == [2]

    made.put(Entry(b"/services/echo/a", b"nonsense"))
    assert [flaw.code for flaw in made.read().invalid] == ["no_port"]

    made.put(Entry(b"/services/echo/a", b"127.0.0.1:1|3"))
    made.remove(b"/services/echo/a")
    made.remove(b"/services/echo/a")
    assert made.read() == ((), (), 0)


def test_keys_that_are_not_text_are_counted_and_not_read() -> None:
    made = Catalog()
    made.put(Entry(b"/services/echo/\xff", b"127.0.0.1:1|1"))

    assert made.read() == ((), (), 1)


def test_instances_come_in_key_order_whatever_the_order_of_arrival() -> None:
    made = catalog(*((f"/services/echo/127.0.0.1:{port}", f"127.0.0.1:{port}|1") for port in (3, 1, 2)))

    assert [instance.endpoint.port for instance in made.read()[0][0].instances] == [1, 2, 3]
