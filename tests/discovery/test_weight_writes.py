"""Another weight in a registration: what each layout writes, to the byte, and what it refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lbctl.cli.layouts import WRITERS
from lbctl.discovery.codecs import CODECS, Claim, Codec, Record
from lbctl.discovery.codecs.registration import Wanted
from lbctl.discovery.flaws import Unusable
from lbctl.discovery.registering import has_weights, registration
from lbctl.discovery.weights import MOST_WEIGHT, reweighed
from lbctl.model import Endpoint, Entry

KEY = "/services/echo/127.0.0.1:5"


def naming(value: str, weight: int = 7) -> str:
    return reweighed("etcd-naming", "echo/127.0.0.1:5", value.encode(), weight).decode()


@pytest.mark.parametrize("layout", [layout for layout in WRITERS if has_weights(layout)])
@pytest.mark.parametrize("weight", [1, 10, MOST_WEIGHT])
def test_a_weight_written_in_any_layout_is_the_weight_read_back(layout: str, weight: int) -> None:
    key, value = registration(layout, Wanted("echo", Endpoint("127.0.0.1", 5), 3))

    written = reweighed(layout, key.decode(), value, weight)

    codec = next(codec for codec in CODECS if codec.name == layout)
    decoded = codec.decode(Record(Entry(key, written)), Claim())
    assert decoded is not None
    (instance,) = decoded.instances
    assert (instance.weight, instance.endpoint, instance.warnings) == (weight, Endpoint("127.0.0.1", 5), ())


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("127.0.0.1:5|3", "127.0.0.1:5|7"),
        ("127.0.0.1:5|007", "127.0.0.1:5|7"),
        ("127.0.0.1:5|heavy", "127.0.0.1:5|7"),
        ("[::1]:5|0", "[::1]:5|7"),
        ("host.example:5|999999999", "host.example:5|7"),
    ],
)
def test_the_seed_layout_keeps_its_address_as_it_is_spelled(value: str, written: str) -> None:
    assert reweighed("seed", KEY, value.encode(), 7).decode() == written


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (
            '{"Op":0,"Addr":"127.0.0.1:5","Metadata":{"weight":3}}',
            '{"Op":0,"Addr":"127.0.0.1:5","Metadata":{"weight":7}}',
        ),
        ('{"Addr":"a:5","Metadata":{"weight":"3"}}', '{"Addr":"a:5","Metadata":{"weight":"7"}}'),
        ('{"Addr":"a:5","Metadata":{"weight":["3","4"]}}', '{"Addr":"a:5","Metadata":{"weight":["7","4"]}}'),
        ('{"Addr":"a:5","Metadata":{"weight":[ 3 ]}}', '{"Addr":"a:5","Metadata":{"weight":[ 7 ]}}'),
        ('{"Addr":"a:5","Metadata":{"weight":"5kg"}}', '{"Addr":"a:5","Metadata":{"weight":"7"}}'),
        ('{"Addr":"a:5","MetadataX":{"weight":3}}', '{"Addr":"a:5","MetadataX":{"weight":7}}'),
        (
            '\t{ "Op" : 0 , "Addr":"a:5",\n "Metadata" : { "z":[1, 2 ] , "weight" : 3 , "a\\u00e9":null } }\n',
            '\t{ "Op" : 0 , "Addr":"a:5",\n "Metadata" : { "z":[1, 2 ] , "weight" : 7 , "a\\u00e9":null } }\n',
        ),
        ('{"Metadata":{"weight":1,"weight":3},"Addr":"a:5"}', '{"Metadata":{"weight":1,"weight":7},"Addr":"a:5"}'),
        ('{"Addr":"a:5","Metadata":"{\\"weight\\":\\"3\\"}"}', '{"Addr":"a:5","Metadata":"{\\"weight\\":\\"7\\"}"}'),
        (
            '{"Addr":"a:5","Metadata":"{\\"\\u0026\\":\\"\\ud83d\\ude00\\",\\"weight\\":3}"}',
            '{"Addr":"a:5","Metadata":"{\\"\\u0026\\":\\"\\ud83d\\ude00\\",\\"weight\\":7}"}',
        ),
        (
            '{"Addr":"a:5","Metadata":"\\"{\\\\\\"weight\\\\\\":3}\\""}',
            '{"Addr":"a:5","Metadata":"\\"{\\\\\\"weight\\\\\\":7}\\""}',
        ),
    ],
)
def test_in_json_only_the_weight_changes_to_the_byte(value: str, written: str) -> None:
    assert naming(value) == written


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ('{"Addr":"a:5"}', '{"Addr":"a:5","Metadata":{"weight":7}}'),
        ('{"Addr":"a:5","Metadata":null}', '{"Addr":"a:5","Metadata":{"weight":7}}'),
        ('{"Addr":"a:5","Metadata":{}}', '{"Addr":"a:5","Metadata":{"weight":7}}'),
        ('{"Addr":"a:5","Metadata":{"zone":"z1" }}', '{"Addr":"a:5","Metadata":{"zone":"z1","weight":7 }}'),
        ('{"Addr":"a:5","Metadata":{"weight":null}}', '{"Addr":"a:5","Metadata":{"weight":7}}'),
        ('{"Addr":"a:5","Metadata":"{}"}', '{"Addr":"a:5","Metadata":"{\\"weight\\":7}"}'),
    ],
)
def test_a_weight_is_added_where_the_metadata_has_none(value: str, written: str) -> None:
    assert naming(value) == written


@pytest.mark.parametrize("metadata", ['"a word"', "5", "[1]", '"[1]"', "true"])
def test_metadata_that_is_no_object_has_no_place_for_a_weight(metadata: str) -> None:
    with pytest.raises(Unusable, match="Metadata is not an object: it has no place for a weight"):
        naming(f'{{"Addr":"a:5","Metadata":{metadata}}}')


def test_a_layout_without_weights_says_so() -> None:
    bare = Codec("bare", CODECS[0].parse)
    with pytest.raises(Unusable, match="the layout bare has no weights"):
        reweighed("bare", "bare/1", b"127.0.0.1:5", 7, [bare])


def test_a_layout_that_would_change_anything_else_is_caught() -> None:
    def careless(value: bytes, weight: int) -> bytes:
        return b"127.0.0.1:6|%d" % weight

    seed = next(codec for codec in CODECS if codec.name == "seed")
    with pytest.raises(Unusable, match="without changing something else"):
        reweighed("seed", KEY, b"127.0.0.1:5|3", 7, [Codec("seed", seed.parse, reweigh=careless)])


_PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(
    metadata=st.dictionaries(st.text(max_size=6), _PLAIN, max_size=4),
    layers=st.integers(0, 2),
    ascii_only=st.booleans(),
    indent=st.sampled_from([None, 1]),
    weight=st.integers(0, MOST_WEIGHT),
)
@example(metadata={'\U0001f600\\"/': "\n\u2028"}, layers=2, ascii_only=True, indent=1, weight=5)
def test_whatever_else_the_metadata_holds_stays(
    metadata: dict[str, Any], layers: int, ascii_only: bool, indent: int | None, weight: int
) -> None:
    """Also where it is text that holds JSON, once or twice over, escaped one way or another."""
    metadata.pop("weight", None)

    def wrapped(held: dict[str, Any]) -> object:
        told: object = held
        for _ in range(layers):
            told = json.dumps(told, ensure_ascii=ascii_only, indent=indent)
        return told

    def spelled(held: dict[str, Any]) -> str:
        return json.dumps({"Addr": "a:5", "Metadata": wrapped(held)}, ensure_ascii=ascii_only, indent=indent)

    assert naming(spelled({"weight": 3} | metadata), weight) == spelled({"weight": weight} | metadata)
    assert json.loads(_unwrapped(naming(spelled(metadata), weight), layers)) == metadata | {"weight": weight}


def _unwrapped(value: str, layers: int) -> str:
    found = json.loads(value)["Metadata"]
    for _ in range(layers):
        found = json.loads(found)
    return json.dumps(found)
