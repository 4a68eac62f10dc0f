"""What every layout that is known by the members of its JSON makes of values that are broken in the same ways."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from lbctl.discovery.catalog import Catalog
from lbctl.discovery.codecs import CODECS, Claim, Record
from lbctl.model import Entry, Instance
from tests.discovery.codecs_json.samples import SAMPLES, flaw, instance, rows, spelled

BROKEN = [
    (b"", "empty_value"),
    (b" \n", "empty_value"),
    (b'{"name":"orders","id":', "not_json"),
    (b'\xef\xbb\xbf{"name":"orders"}', "not_json"),
    (b'{"weight":NaN}', "not_json"),
    (b'{["10.0.0.1:90"]}', "not_json"),
    (b"undefined", "not_json"),
    (b"[]", "unknown_layout"),
    (b'"orders"', "unknown_layout"),
    (b"null", "unknown_layout"),
    (b"{}", "unknown_layout"),
    (b'{"qps":100}', "unknown_layout"),
    (b'{"metadata":' + b"[" * 3000 + b"]" * 3000 + b"}", "too_deep"),
    (b'{"weight":' + b"9" * 5000 + b"}", "wrong_type"),
    (b"\x0a\x0d\xff\xfe", "bad_encoding"),
]

WRONG: dict[str, list[Any]] = {
    "text": [5, True, [], {}],
    "texts": ["grpc://10.0.0.1:90", 5, {}, [5], [None]],
    "map": ["weight=3", 5, [], {"zone": 5}, {"zone": ["a"]}],
    "lists": ["weight=3", 5, [], {"zone": 5}, {"zone": [5]}],
    "number": ["10", True, [], {}],
    "flag": ["true", 1, [], {}],
    "objects": ["a", {}, [5]],
}


@pytest.mark.parametrize("layout", SAMPLES)
@pytest.mark.parametrize(("value", "code"), BROKEN, ids=lambda part: str(part)[:30])
def test_a_broken_value_beside_good_ones_is_a_row_with_its_code(layout: str, value: bytes, code: str) -> None:
    sample = SAMPLES[layout]
    found = flaw(sample.folder + "x", value, (sample.key, sample.value))
    assert (found.layout, found.code) == (layout, code)


@pytest.mark.parametrize("layout", [codec.name for codec in CODECS if codec.name in SAMPLES and codec.roots])
@pytest.mark.parametrize(("value", "code"), BROKEN, ids=lambda part: str(part)[:30])
def test_under_its_own_root_a_broken_value_is_a_row_without_good_ones_beside_it(
    layout: str, value: bytes, code: str
) -> None:
    found = flaw(SAMPLES[layout].folder + "x", value)
    assert (found.layout, found.code) == (layout, code)


@pytest.mark.parametrize(
    ("layout", "name", "wrong"),
    [
        (layout, name, wrong)
        for layout, sample in SAMPLES.items()
        for name, kind in sample.kinds.items()
        for wrong in WRONG[kind]
    ],
)
def test_a_member_of_a_wrong_type_says_which_and_what_clients_do(layout: str, name: str, wrong: object) -> None:
    sample = SAMPLES[layout]
    found = flaw(sample.key, sample.value | {name: wrong})
    assert (found.layout, found.code) == (layout, "wrong_type")
    assert found.reason.startswith(name)
    assert "clients" in found.reason


@pytest.mark.parametrize("layout", SAMPLES)
def test_members_that_nobody_knows_and_the_order_do_not_matter(layout: str) -> None:
    sample = SAMPLES[layout]
    reordered = {"zzz": [1], **dict(reversed(sample.value.items())), "qps": 1.5}
    assert instance(sample.key, reordered) == instance(sample.key, sample.value)


@pytest.mark.parametrize("layout", SAMPLES)
def test_of_two_members_with_one_name_the_last_counts(layout: str) -> None:
    sample = SAMPLES[layout]
    value = spelled(sample.value)
    for name in sample.kinds:
        doubled = b'{"%s":[[5]],' % name.encode() + value[1:]
        assert instance(sample.key, doubled) == instance(sample.key, sample.value)


@pytest.mark.parametrize("layout", SAMPLES)
def test_a_service_is_found_again_by_what_it_was_listed_under(layout: str) -> None:
    sample = SAMPLES[layout]
    catalog = Catalog()
    catalog.put(Entry(sample.key.encode(), spelled(sample.value), 7, 3, 5))
    (service,) = catalog.read().services
    assert (service.name, service.layout, service.prefix) == (sample.service, layout, sample.folder)
    assert catalog.service(layout, sample.folder, sample.service) == (service, ())
    (found,) = service.instances
    assert (found.address, found.weight or 3, found.warnings) == ("10.0.0.1:90", 3, ())
    assert (found.lease, found.create_revision, found.mod_revision) == (7, 3, 5)


@pytest.mark.parametrize("layout", SAMPLES)
def test_control_characters_and_halves_of_characters_never_come_through_as_they_are(layout: str) -> None:
    sample = SAMPLES[layout]
    assert flaw(sample.folder + "\x1b[2J", sample.value).code == "control_chars"
    half = spelled(sample.value).replace(b'"3"', b'"3\\ud800"').replace(b"sh001", b"\\udc00")
    for row in rows(sample.key, half):
        assert isinstance(row, Instance)
        json.dumps(dict(row.metadata), ensure_ascii=False).encode()


@pytest.mark.parametrize("layout", SAMPLES)
def test_a_value_that_is_long_is_read_all_the_same(layout: str) -> None:
    sample = SAMPLES[layout]
    long = sample.value | {"ServiceMetadata": {"services": ["x" * 1000] * 200}}
    assert instance(sample.key, long) == instance(sample.key, sample.value)


GONE = object()
ODD: list[Any] = [
    *(GONE, None, True, False, 0, -1, 2.5, 1e300, 10**18, "", " ", "x", ":", "://", "a://b", "[", "0", "-", "+", "\0"),
    *([], [""], [5], [None], [[]], [{}], {}, {"": ""}, {"a": 5}, {"weight": ""}, {"weight": []}, {"weight": None}),
    *(
        {"dubbo.endpoints": "{"},
        {"dubbo.endpoints": "[{}]"},
        [{"address": "a", "port": 1}],
        [{"metadata": {"a": None}}],
    ),
]


@pytest.mark.parametrize("layout", SAMPLES)
def test_whatever_becomes_of_a_member_nothing_is_raised(layout: str) -> None:
    sample = SAMPLES[layout]
    codec = next(codec for codec in CODECS if codec.name == layout)
    for name, odd in itertools.product(sample.value, ODD):
        value = {other: odd if other == name else member for other, member in sample.value.items()}
        entry = Entry(
            sample.key.encode(), spelled({other: member for other, member in value.items() if member is not GONE})
        )
        for claim in (Claim(), Claim(owned=True), Claim(rooted=True), Claim(guess=True)):
            decoded = codec.decode(Record(entry), claim)
            assert decoded is None or bool(decoded.instances) + bool(decoded.invalid) == 1
