"""Entries of etcd's naming package: their weights, in every spelling, and what is wrong with others beside them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lbctl.model import Instance, Invalid
from tests.discovery.outcomes import read

NAMING_SIBLING = (b"team/echo/a", b'{"Op":0,"Addr":"127.0.0.1:1","Metadata":null}')


def naming(**fields: Any) -> bytes:  # noqa: ANN401 - JSON is what it is
    return json.dumps({"Op": 0, "Addr": "127.0.0.1:5", "Metadata": None} | fields).encode()


@pytest.mark.parametrize(
    ("metadata", "weight"),
    [
        ({"weight": 3}, 3),
        ({"weight": "3"}, 3),
        ({"weight": ["3", "4"]}, 3),
        ({"weight": None}, None),
        ({"weight": 0}, 0),
        ({}, None),
        (None, None),
        ('{"weight":"3"}', 3),
    ],
)
def test_an_etcd_naming_weight_is_found_however_it_was_written(metadata: object, weight: int | None) -> None:
    instance = read(b"echo/a", naming(Metadata=metadata))

    assert isinstance(instance, Instance)
    assert (instance.weight, instance.warnings) == (weight, ())


@pytest.mark.parametrize("weight", ["heavy", True, {}, [[]]])
def test_an_etcd_naming_weight_that_is_no_number_counts_as_one_and_warns(weight: object) -> None:
    instance = read(b"echo/a", naming(Metadata={"weight": weight}))

    assert isinstance(instance, Instance)
    assert instance.weight == 1
    assert len(instance.warnings) == 1
    assert "is not a number; 1 is used" in instance.warnings[0]


@pytest.mark.parametrize("weight", ["", -1, 2.5, "2.5", 10_000_000_000])
def test_an_etcd_naming_weight_that_no_client_can_use_is_invalid(weight: object) -> None:
    flaw = read(b"echo/a", naming(Metadata={"weight": weight}))

    assert isinstance(flaw, Invalid)
    assert flaw.code == "bad_weight"


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (b"", "empty_value"),
        (b"null", "unknown_layout"),
        (b"[]", "unknown_layout"),
        (b"{}", "unknown_layout"),
        (b'{"Op":0}', "no_address"),
        (b'{"Op":0,"Addr":null}', "no_address"),
        (b'{"Op":0,"Addr":5}', "wrong_type"),
        (b'{"Op":true,"Addr":"a:1"}', "wrong_type"),
        (b'{"Op":0.0,"Addr":"a:1"}', "wrong_type"),
        (b'{"Op":256,"Addr":"a:1"}', "wrong_type"),
        (b'{"Op":NaN,"Addr":"a:1"}', "not_json"),
        (b'{"Op":0,"Addr":"a:1","Metadata":' + b"9" * 5000 + b"}", "wrong_type"),
        (b'{"Op":0,"Addr":"a:1","Metadata":1e999}', "wrong_type"),
        (b'{"Op":0,"Addr":"a:1","Metadata":' + b"[" * 100 + b"]" * 100 + b"}", "too_deep"),
        (b'{"Op":0,"Addr":"a:1","Metadata":' + b"[" * 300_000, "too_deep"),
        (b'{"Op":0,"Addr":"a\\u001b[2J:1"}', "control_chars"),
        (b"\xff{}", "bad_encoding"),
    ],
)
def test_a_bad_value_beside_etcd_naming_entries_is_shown_with_its_code(value: bytes, code: str) -> None:
    flaw = read(b"team/echo/x", value, NAMING_SIBLING)

    assert isinstance(flaw, Invalid)
    assert (flaw.layout, flaw.code) == ("etcd-naming", code)


def test_lone_surrogates_become_replacement_characters() -> None:
    instance = read(b"echo/a", b'{"Op":0,"Addr":"127.0.0.1:5","Metadata":{"zone\\udc00":"az\\ud800"}}')

    assert isinstance(instance, Instance)
    assert instance.metadata == {"zone\ufffd": "az\ufffd"}
    json.dumps(instance.metadata, ensure_ascii=False).encode()
