"""Records of files: the same however the file falls into chunks, and every mistake with its line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lbctl.errors import UsageError
from lbctl.load.requests.given import Written
from lbctl.load.requests.records import Record, form_of, ndjson, rows, series, values

Reader = Callable[[Iterable[bytes], str], Iterator[Record]]


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


def read(reader: Reader, data: bytes, size: int = 1 << 20) -> list[tuple[int, Any]]:
    return [(record.place, record.value) for record in reader(cut(data, size), "f")]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(JSON, max_size=5), st.integers(1, 9), st.sampled_from((None, 1)))
def test_an_array_and_values_in_a_row_are_read_whatever_the_chunks(
    found: list[Any], size: int, indent: int | None
) -> None:
    whole = json.dumps(found, ensure_ascii=False, indent=indent).encode()
    assert [value for _, value in read(values, whole, size)] == found
    in_a_row = "\n".join(json.dumps(value) for value in found).encode()
    if not isinstance(next(iter(found), None), list):
        assert [value for _, value in read(values, in_a_row, size)] == found
    assert [value for _, value in read(ndjson, in_a_row, size)] == found


@given(st.lists(st.binary(max_size=300), max_size=5), st.integers(1, 50))
def test_a_series_is_read_whatever_the_chunks(messages: list[bytes], size: int) -> None:
    data = b"".join(varint(len(message)) + message for message in messages)
    assert read(series, data, size) == list(enumerate(messages, 1))


def varint(number: int) -> bytes:
    return bytes((number,)) if number < 0x80 else bytes((number & 0x7F | 0x80, number >> 7))


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_places_are_lines(size: int) -> None:
    assert read(ndjson, b'\xef\xbb\xbf{"a": 1}\r\n\n{"a": 2}', size) == [(1, {"a": 1}), (3, {"a": 2})]
    assert read(values, b'[\n {"a": 1},\n\n {"a":\n2}]', size) == [(2, {"a": 1}), (4, {"a": 2})]
    csv = b'a,b.c\r\n1,"x\ny"\r\n\r\n2,\xc3\xa9\n'
    assert read(rows, csv, size) == [(2, {"a": "1", "b.c": "x\ny"}), (5, {"a": "2", "b.c": "é"})]


@pytest.mark.parametrize("size", [3, 1000])
@pytest.mark.parametrize(
    ("reader", "data", "mistake"),
    [
        (ndjson, b'{"a": 1}\n{"a": }\n', "f is not valid JSON: line 2 column 7: expecting value"),
        (ndjson, b'{"a": 1} {"a": 2}\n', "f is not valid JSON: line 1 column 10: extra data"),
        (ndjson, b'{"a": 1, "a": 2}', 'f: line 1 is not usable JSON: the key "a" appears twice in one object'),
        (ndjson, b'{"a": "\xff"}', "f: line 1 is not UTF-8 text"),
        (ndjson, b'1\n2\n"\xc3', "f: line 3 is not UTF-8 text"),
        (values, b"[1,\n2 3]", "f is not valid JSON: line 2 column 3: expecting ',' delimiter"),
        (values, b"[1,]", "f is not valid JSON: line 1 column 4: a value is missing"),
        (values, b"[1, 2", "f is not valid JSON: line 1 column 6: expecting ',' delimiter"),
        (values, b"[", "f is not valid JSON: line 1 column 2: the array is not closed"),
        (values, b"[1] 2", "f is not valid JSON: line 1 column 5: there is more behind the array"),
        (values, b'{"a": 1}\n{"b": tru}', "f is not valid JSON: line 2 column 7: expecting value"),
        (values, b'{"a": 1}\n{"b": "x', "f is not valid JSON: line 2 column 7: unterminated string starting at"),
        (values, b'1\n{"a": 1, "a": 2}', 'f: line 2 is not usable JSON: the key "a" appears twice in one object'),
        (rows, b"a,b\n1\n", "f: line 2 has 1 cell for 2 columns"),
        (rows, b"a,a\n", "f: line 1: the column 'a' appears twice"),
        (rows, b"a,\n", "f: line 1: the name of a column is missing"),
        (rows, b'a\n1\n"x', "f: line 3 is not CSV: unexpected end of data"),
        (series, b"\x02ab\x05ab", "f: message 2 at byte 3 is cut off by the end of the file"),
        (series, b"\x80" * 11, "f: byte 0 is no length of a message 1"),
        (series, b"\xff\xff\xff\xff\x7f", "f: message 1 at byte 0 says to be of"),
    ],
)
def test_a_mistake_is_told_with_its_place(reader: Reader, data: bytes, mistake: str, size: int) -> None:
    with pytest.raises(UsageError) as raised:
        read(reader, data, size)
    assert str(raised.value).startswith(mistake)


@pytest.mark.parametrize(
    ("name", "head", "form"),
    [
        ("a.csv", b"x", Written.CSV),
        ("a.NDJSON", b"x", Written.NDJSON),
        ("a.jsonl", b"", Written.NDJSON),
        ("a", b' \n[{"a": 1}', Written.JSON),
        ("a.json", b'{"a": 1}\n{"a": 2}\n', Written.NDJSON),
        ("a.json", b'{\n"a": 1}\n{"a": 2}\n', Written.JSON),
        ("a", b'{"a": 1}', Written.JSON),
        ("a", b"", Written.JSON),
    ],
)
def test_a_form_is_known_by_the_name_or_the_beginning(name: str, head: bytes, form: Written) -> None:
    assert form_of(name, head) is form


def test_memory_of_a_long_array_is_that_of_one_value() -> None:
    def chunks() -> Iterator[bytes]:
        yield b"["
        for number in range(20_000):
            yield b'{"n": %d, "text": "%s"},' % (number, b"x" * 100)
        yield b"{}]"

    import tracemalloc

    tracemalloc.start()
    try:
        assert sum(1 for _ in values(chunks(), "f")) == 20_001
        assert tracemalloc.get_traced_memory()[1] < 1_000_000  # of 2.5 million octets
    finally:
        tracemalloc.stop()
