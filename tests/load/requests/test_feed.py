"""The contents of a method's calls: in every order, from every kind of source, with metadata and keys of their own."""

from __future__ import annotations

import io
import threading
import tracemalloc
from collections import Counter
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import pytest

from lbctl.errors import UsageError
from lbctl.load.requests.content import Content
from lbctl.load.requests.feed import Feed, mixed
from lbctl.load.requests.given import Given, Order, Written
from lbctl.load.requests.reading import KEPT, DataFile
from lbctl.load.requests.supply import Supply
from lbctl.load.requests.templates import Drawing
from lbctl.rpc.messages.message import decode
from tests.fakes import FakeClock
from tests.rpc.protos import KITCHEN_SINK


def drawing(seed: int = 1) -> Drawing:
    return Drawing(Random(seed), FakeClock())


def file(folder: Path, text: str | bytes, name: str = "data.json") -> DataFile:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return DataFile(str(path), "-D")


def made(given: Given, count: int = 6, seed: int = 1) -> list[Content]:
    return list(islice(Feed(given, "t.S/M", KITCHEN_SINK).contents(drawing(seed)), count))


def messages(given: Given, count: int = 6, seed: int = 1) -> list[dict[str, Any]]:
    return [decode(KITCHEN_SINK, content.messages[0]) for content in made(given, count, seed)]


def names(given: Given, count: int = 6, seed: int = 1) -> str:
    return "".join(message["name"] for message in messages(given, count, seed))


ABC = '[{"name": "a"}, {"name": "b"}, {"name": "c"}]'


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.json", ABC),
        ("x", '{"name": "a"}\n{"name": "b"}\n{"name": "c"}\n'),
        ("x", '{\n"name": "a"}{"name": "b"}\n\n{"name": "c"}'),
        ("x.csv", "name,big\na,\nb,\nc,\n"),
    ],
)
def test_the_requests_of_a_file_come_in_turn_by_chance_or_once(tmp_path: Path, name: str, text: str) -> None:
    given = Given(source="f", file=file(tmp_path, text, name))
    assert names(given, 7) == "abcabca"
    assert names(Given(source="f", file=given.file, order=Order.ONCE), 7) == "abc"
    by_chance = Given(source="f", file=given.file, order=Order.RANDOM)
    assert names(by_chance, 30) == names(by_chance, 30) != names(by_chance, 30, seed=2)
    assert set(names(by_chance, 30)) == set("abc")


def test_a_text_is_as_good_as_a_file() -> None:
    assert names(Given(text=ABC), 4) == "abca"
    assert names(Given(text='{"name": "a"} {"name": "b"}'), 3) == "aba"


@pytest.mark.parametrize("order", [Order.SEQUENTIAL, Order.RANDOM, Order.ONCE])
@pytest.mark.parametrize("suffix", ["json", "ndjson", "csv", "bin"])
def test_a_large_file_is_read_on_and_on_in_little_memory(tmp_path: Path, suffix: str, order: Order) -> None:
    count, filler = 3000, "x" * 700
    rows = [(number, f"{number:05}{filler}") for number in range(count)]
    if suffix == "csv":
        text = "small,name\n" + "".join(f"{number},{name}\n" for number, name in rows)
    elif suffix == "bin":
        text = "".join(f"\xc1\x05\x0a\xbe\x05{name[:-3]}" for _, name in rows).encode("latin-1")  # type: ignore[assignment]
    else:
        lines = [f'{{"small": {number}, "name": "{name}"}}' for number, name in rows]
        text = "\n".join(lines) if suffix == "ndjson" else f"[{','.join(lines)}]"
    data = file(tmp_path, text, f"x.{suffix}")
    assert data.size > 2 * KEPT
    given = Given(source="f", file=data, written=Written.SERIES if suffix == "bin" else None, order=order)
    seen: Counter[str] = Counter()
    tracemalloc.start()
    try:
        for content in islice(Feed(given, "t.S/M", KITCHEN_SINK).contents(drawing()), 2 * count):
            seen[content.messages[0].decode("latin-1").partition("x")[0][-5:]] += 1
        used = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert set(seen.values()) == {1 if order is Order.ONCE else 2}
    assert len(seen) == count
    # Of a random order a window of records is kept, and of this file that is all of them.
    assert order is Order.RANDOM or used < data.size


def test_a_pipe_is_read_to_its_end_and_then_again() -> None:
    data = DataFile("standard input", "-D", io.BytesIO(ABC.encode()))
    assert names(Given(source="standard input", file=data), 5) == "abcab"


def test_columns_are_fields_by_their_type(tmp_path: Path) -> None:
    head = "name,big,ratio,flag,colour,raw,tags,when,maybe,free,snakeName"
    row = 'a,9007199254740993,1.5,True,GREEN,AAE=,"[""x""]",2026-01-02T03:04:05Z,7,"{""k"": 1}",s'
    given = Given(source="f", file=file(tmp_path, f"{head}\n{row}\nb,,,,1,,,,,,\n", "x.csv"))
    whole = {
        "name": "a",
        "big": "9007199254740993",
        "ratio": 1.5,
        "flag": True,
        "colour": "GREEN",
        "raw": "AAE=",
        "tags": ["x"],
        "when": "2026-01-02T03:04:05Z",
        "maybe": "7",
        "free": {"k": 1.0},
        "snakeName": "s",
    }
    assert messages(given, 2) == [whole, {"name": "b", "colour": "GREEN"}]


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("name,nmae\na,b\n", 'f: line 1: column "nmae": t.Sink has no field "nmae"; did you mean name?'),
        ("items.number\n1\n", 'f: line 1: column "items.number": items is not a single message'),
        (
            "name,small\na,1\nb,x\n",
            'f: line 3: field "small" must be an integer from -2147483648 to 2147483647, not "x"',
        ),
        ("flag\nyes\n", "f: line 2, column \"flag\": must be true or false, not 'yes'"),
        ("tags\n[1\n", 'f: line 2, column "tags" is not valid JSON: line 1 column 3'),
        ("name\n", "f is empty: there is no row under its header in it"),
        ("", "f is empty: there is no row under its header in it"),
        ("small\n{{int 0 9999999999}}\n", 'f: line 2: field "small" must be an integer'),
    ],
)
def test_a_wrong_cell_is_told_with_line_and_column(tmp_path: Path, text: str, mistake: str) -> None:
    with pytest.raises(UsageError) as raised:
        made(Given(source="f", file=file(tmp_path, text, "x.csv")))
    assert str(raised.value).startswith(mistake)


def test_an_empty_file_is_an_error(tmp_path: Path) -> None:
    for name, written in (("x.json", None), ("x.ndjson", None), ("x.bin", Written.SERIES)):
        with pytest.raises(UsageError, match=r"f is empty: there is no (request|message) in it"):
            made(Given(source="f", file=file(tmp_path, "", name), written=written))
    with pytest.raises(UsageError, match=r"-D: cannot read .*: no such file"):
        DataFile(str(tmp_path / "none"), "-D")
    with pytest.raises(UsageError, match=r"-D: cannot read .*: is a directory"):
        DataFile(str(tmp_path), "-D")


def test_a_bad_line_deep_in_a_large_file_is_told_when_it_comes(tmp_path: Path) -> None:
    lines = ['{"name": "%s"}' % ("x" * 1000)] * 2000
    lines[1500] = '{"nmae": 1}'
    feed = Feed(Given(source="f", file=file(tmp_path, "\n".join(lines), "x.ndjson")), "t.S/M", KITCHEN_SINK)
    contents = feed.contents(drawing())
    assert sum(1 for _ in islice(contents, 1500)) == 1500
    with pytest.raises(UsageError, match=r'f: line 1501: t\.Sink has no field "nmae"'):
        next(contents)


def test_metadata_is_drawn_and_taken_from_columns(tmp_path: Path) -> None:
    columns = {"tenant": "x-tenant", "name": "x-name", "token": "t-bin"}
    text = "name,tenant,token\na,1,AAE=\nb,,aGkgdGhlcmU=\n"
    given = Given(
        source="f", file=file(tmp_path, text, "x.csv"), columns=columns, drawn=((b"x-id", "n{{seq}}"),), templates=True
    )
    assert [content.metadata for content in made(given, 2)] == [
        ((b"x-tenant", b"1"), (b"x-name", b"a"), (b"t-bin", b"AAE"), (b"x-id", b"n0")),
        ((b"x-name", b"b"), (b"t-bin", b"aGkgdGhlcmU"), (b"x-id", b"n1")),
    ]
    assert messages(given, 2) == [{"name": "a"}, {"name": "b"}]


def test_metadata_is_taken_from_json(tmp_path: Path) -> None:
    text = '{"name": "a", "tenant": 7, "free": {"zone": "eu"}}\n{"name": "b", "tenant": true}\n'
    columns = {"tenant": "x-tenant", "free.zone": "x-zone"}
    given = Given(source="f", file=file(tmp_path, text, "x.ndjson"), columns=columns)
    assert [content.metadata for content in made(given, 2)] == [
        ((b"x-tenant", b"7"), (b"x-zone", b"eu")),
        ((b"x-tenant", b"true"),),
    ]
    assert messages(given, 2) == [{"name": "a", "free": {"zone": "eu"}}, {"name": "b"}]


def test_actions_are_seen_in_every_source_and_left_alone_where_that_was_said(tmp_path: Path) -> None:
    sources = (
        Given(text='{"name": "n{{seq}}", "small": {{seq}}}'),
        Given(source="f", file=file(tmp_path, '[{"name": "n{{seq}}", "small": {{seq}}}]')),
        Given(source="f", file=file(tmp_path, "name,small\nn{{seq}},{{seq}}\n", "x.csv")),
        Given(source="f", file=file(tmp_path, '{"name": "n{{seq}}", "small": {{seq}}}\n', "x.ndjson")),
    )
    for given in sources:
        assert messages(given, 3) == [{"name": "n0"}, {"name": "n1", "small": 1}, {"name": "n2", "small": 2}]
    assert messages(Given(text='[{"name": "n{{seq}}"}, {}]', templates=False), 1) == [{"name": "n{{seq}}"}]


def test_binary_messages_are_never_looked_into(tmp_path: Path) -> None:
    data = b"\x07{{seq}}\x00\x03\xff{{"
    given = Given(source="f", file=file(tmp_path, data), written=Written.SERIES)
    contents = list(islice(Feed(given, "t.S/M", None).contents(drawing()), 4))
    assert [content.messages for content in contents] == [(b"{{seq}}",), (b"",), (b"\xff{{",), (b"{{seq}}",)]


def test_keys_follow_the_content() -> None:
    feed = Feed(Given(text=ABC), "t.S/M", KITCHEN_SINK)
    feed.follow(lambda content: content.messages[0][-1:])
    assert [content.key for content in islice(feed.contents(drawing()), 4)] == [b"a", b"b", b"c", b"a"]
    assert [content.key for content in feed.all or ()] == [b"a", b"b", b"c"]


def test_a_mix_is_drawn_by_weight_from_feeds_that_keep_their_order() -> None:
    one = Feed(Given(text=ABC), "t.S/M", KITCHEN_SINK).contents(drawing())
    other = iter([Content((b"%d" % number,)) for number in range(300)])
    found = list(mixed([one, other], [3, 1], drawing()))
    assert [content.messages[0] for content in found if content.method] == [b"%d" % number for number in range(300)]
    assert [content.messages[0][-1:] for content in found if not content.method][:4] == [b"a", b"b", b"c", b"a"]
    assert 1050 < len(found) < 1370  # 1200 are expected


def test_one_reader_that_ends_leaves_the_others_alone(tmp_path: Path) -> None:
    text = f'{{"name": "{"x" * 1000}"}}\n' * 3000
    feed = Feed(Given(source="f", file=file(tmp_path, text, "x.ndjson"), order=Order.ONCE), "t.S/M", KITCHEN_SINK)
    first, second = Supply(feed.contents(drawing())), Supply(feed.contents(drawing()))
    assert (first.supply(10), second.supply(10)) == (10, 10)
    before = {thread.name for thread in threading.enumerate()}
    assert "requests" in before
    first.close()
    assert second.supply(4000) == 3000
    second.close()
    for thread in threading.enumerate():
        if thread.name == "requests":
            thread.join(5)
    assert "requests" not in {thread.name for thread in threading.enumerate()}


def test_values_are_drawn_in_every_line_of_a_large_file(tmp_path: Path) -> None:
    lines = ['{"name": "%s{{seq}}", "small": {{seq}}}' % ("x" * 1000)] * 1500
    lines[1200] = '{"small": {{pick 1 x}}, "name": "{{int 5000000000 5000000000}}"}'
    data = file(tmp_path, "\n".join(lines), "x.ndjson")
    found = messages(Given(source="f", file=data), 1200)
    assert [message.get("small", 0) for message in found] == list(range(1200))
    assert found[1199]["name"] == "x" * 1000 + "1199"
    lines[1200] = '{"small": {{int 5000000000 5000000000}}}'
    data = file(tmp_path, "\n".join(lines), "x.ndjson")
    with pytest.raises(UsageError, match=r'f: line 1201: field "small" must be an integer'):
        messages(Given(source="f", file=data), 1300)
