"""What can be asked of a catalog about keys that are no instances, and whose they are where several could have them."""

from __future__ import annotations

import pytest

from lbctl.discovery.catalog import Catalog
from lbctl.discovery.codecs import CODECS
from lbctl.model import Entry
from tests.discovery.layout_reference import PAGE, page

NAMING = '{"Op":0,"Addr":"10.0.0.1:80","Metadata":null}'


def catalog(*pairs: tuple[str, str], **options: str) -> Catalog:
    made = Catalog(**options)  # type: ignore[arg-type]
    for key, value in pairs:
        made.put(Entry(key.encode(), value.encode()))
    return made


def outcomes(made: Catalog, key: str) -> list[tuple[str, str]]:
    return [(trial.rule, trial.outcome) for trial in made.explain(key.encode())]


def test_every_rule_before_the_one_that_has_a_key_says_why_it_has_not() -> None:
    made = catalog(("/services/echo/x", "10.0.0.1:80|5"))
    trials = made.explain(b"/services/echo/x")
    order = [codec.name for codec in CODECS]
    assert [trial.rule for trial in trials] == ["known trees and locks", *order[: order.index("seed") + 1]]
    assert {trial.outcome for trial in trials[:-1]} == {"no"}
    assert all(trial.why for trial in trials)
    assert trials[-1] == ("seed", "instance", "10.0.0.1:80 of echo")


def test_a_key_of_nobody_has_every_rule_s_reason() -> None:
    trials = catalog(("conf/db", "db:5432"), ("conf/x", "y")).explain(b"conf/db")
    assert [trial.rule for trial in trials][1:] == [codec.name for codec in CODECS]
    assert {trial.outcome for trial in trials} == {"no"}
    why = {trial.rule: trial.why for trial in trials}
    assert "nothing speaks for the key" in why["plain"]
    assert why["etcd-naming"].startswith("wants {target}/{anything} -> JSON with Op, Addr and Metadata alone; not JSON")
    assert {codec.name for codec in CODECS if not why[codec.name].startswith(f"wants {codec.form}")} == {"plain"}


def test_every_layout_says_what_it_looks_like() -> None:
    assert [codec.name for codec in CODECS if " -> " not in codec.form] == []


def test_an_unusable_value_is_told_with_its_code_and_never_shown() -> None:
    made = catalog(("/services/echo/x", "hunter2"))
    assert made.explain(b"/services/echo/x")[-1] == ("plain", "invalid", "no_port: no port")
    assert not any("hunter2" in trial.why for trial in made.explain(b"/services/echo/x"))


def test_what_a_key_is_by_its_siblings_is_the_last_rule() -> None:
    made = catalog(("team/echo/a", NAMING), ("team/echo/b", '{"Op":0'))
    assert outcomes(made, "team/echo/b")[-1] == ("beside or under etcd-naming", "invalid")
    assert made.read().invalid[0].layout == "etcd-naming"


def test_a_skipped_tree_is_the_first_rule_and_ends_it() -> None:
    assert outcomes(catalog(("/registry/x/y", "z")), "/registry/x/y") == [("known trees and locks", "skipped")]


def test_a_key_that_is_not_text_is_explained_too() -> None:
    made = Catalog()
    made.put(Entry(b"/services/\xff", b"x"))
    assert [trial.why for trial in made.explain(b"/services/\xff")] == ["the key is not UTF-8"]


def test_what_keys_of_nobody_may_be_is_told_apart() -> None:
    made = catalog(("conf/db", "db:5432"), ("conf/x", "y"), ("/services/echo/a", "10.0.0.1:80"))
    assert [(service.name, service.layout) for service in made.possible()] == [("conf", "plain")]
    assert [service.name for service in made.read().services] == ["echo"]


def test_a_broken_value_under_a_strong_layout_s_root_is_that_layout_s() -> None:
    for key, layout in (("/microservices/echo/10.0.0.1:80", "kratos"), ("kitex/registry-etcd/e/10.0.0.1:80", "kitex")):
        for value in ('{"network":"tcp"', "hello"):
            (flaw,) = catalog((key, value)).read().invalid
            assert flaw.layout == layout


def test_a_broken_key_makes_no_second_service_of_a_folder() -> None:
    made = catalog(("/services/echo/a", "10.0.0.1:80|5"), ("/services/echo/b", "x"), ("/services/echo/c", "{"))
    assert [(service.layout, len(service.instances)) for service in made.read().services] == [("seed", 1)]
    assert [flaw.key[-1] for flaw in made.service("seed", "/services/echo/", "echo")[1]] == ["b", "c"]
    assert len(catalog(("/services/echo/b", "x"), ("/services/echo/c", "{")).read().services) == 1


def test_a_preferred_layout_has_what_it_can_read_and_leaves_the_rest() -> None:
    pairs = (("conf/db", "db:5432"), ("user.rpc/7587878123456782001", "10.0.0.1:80"), ("/services/echo/a", "x|y"))
    made = catalog(*pairs, preferred="plain")
    assert {(service.name, service.layout) for service in made.read().services} == {
        ("conf", "plain"),
        ("user.rpc", "plain"),
        ("echo", "seed"),
    }


@pytest.mark.parametrize(("preferred", "layout"), [("seed", "seed"), ("plain", "seed"), ("", "seed")])
def test_a_key_that_is_broken_in_every_layout_is_of_the_one_that_comes_first(preferred: str, layout: str) -> None:
    made = catalog(("/services/echo/a", "10.0.0.1:80|x|y"), preferred=preferred)
    assert [flaw.layout for flaw in made.read().invalid] == [layout]
    last = made.explain(b"/services/echo/a")[-1]
    assert (last.rule, last.outcome) == (layout, "invalid")


@pytest.mark.parametrize(
    ("named_by", "names"),
    [
        ("", ["orders", "team/a", "user"]),
        ("key", ["orders", "team/a", "v1/user"]),
        ("value", ["alpha", "orders", "user"]),
    ],
)
def test_services_are_named_by_their_keys_or_their_values(named_by: str, names: list[str]) -> None:
    made = catalog(
        ("/services/orders/x", "10.0.0.1:80"),
        ("/services/v1/user/x", '{"name":"user","addr":"10.0.0.1:80"}'),
        ("team/a/x", '{"Op":0,"Addr":"10.0.0.1:80","Metadata":{"name":"alpha"}}'),
        named_by=named_by,
    )
    assert [service.name for service in made.read().services] == names


def test_the_page_of_all_layouts_is_the_table_s() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()
