"""What layouts are told of a key, and of the keys around it; and keys that are known to be none."""

from __future__ import annotations

import pytest

from lbctl.discovery.catalog import Catalog
from lbctl.discovery.codecs import Claim, Codec, Record
from lbctl.discovery.codecs.base import Draft, Found, Skip
from lbctl.discovery.flaws import Unusable
from lbctl.model import Endpoint, Entry

HERE = Endpoint("127.0.0.1", 1)


def record(value: bytes, key: str = "/a/b/c") -> Record:
    return Record(Entry(key.encode(), value))


def test_a_key_is_a_folder_and_a_leaf() -> None:
    assert [(each.folder, each.leaf) for each in (record(b"", key) for key in ("/a/b/c", "c", "/a/", ""))] == [
        ("/a/b/", "c"),
        ("", "c"),
        ("/a/", ""),
        ("", ""),
    ]


def test_json_is_an_object_or_has_a_reason_not_to_be() -> None:
    assert record(b' {"a": 1}\n').document == {"a": 1}
    assert [record(value).document for value in (b"[1]", b"x", b"", b'{"a":', b'{"a":NaN}')] == [None] * 5
    for value, code in ((b"[1]", "unknown_layout"), (b'{"a":', "not_json"), (b"\xff", "bad_encoding")):
        for _ in range(2):  # it is read once
            broken = record(value)
            with pytest.raises(Unusable) as raised:
                broken.members()
            assert raised.value.code == code


def parents_alone(each: Record, claim: Claim) -> Found | None:
    return Found((Draft(HERE),), service="parent") if each.has_children else None


def test_what_a_key_is_may_change_with_the_keys_below_it() -> None:
    catalog = Catalog(codecs=[Codec("parents", parents_alone)])
    catalog.put(Entry(b"/a/b", b""))
    assert catalog.read() == ((), (), 1)
    catalog.put(Entry(b"/a/b/c", b""))
    assert [service.name for service in catalog.read().services] == ["parent"]
    catalog.put(Entry(b"/a/b/d", b""))
    catalog.remove(b"/a/b/c")
    assert catalog.read().foreign == 1
    catalog.remove(b"/a/b/d")
    assert catalog.read() == ((), (), 1)


def test_the_value_of_another_key_may_tell_what_this_one_is() -> None:
    def marked(each: Record, claim: Claim) -> Found | None:
        return Found((Draft(HERE),)) if each.value_of("/a") == b"marker" else None

    catalog = Catalog(codecs=[Codec("marked", marked)])
    catalog.put(Entry(b"/a/b/c", b""))
    assert catalog.read().foreign == 1
    catalog.put(Entry(b"/a", b"marker"))
    assert [service.prefix for service in catalog.read().services] == ["/a/b/"]
    catalog.put(Entry(b"/a", b"else"))
    assert catalog.read().foreign == 2


def strict(each: Record, claim: Claim) -> Found | Skip | None:
    if each.value == b"note":
        return Skip("a note")
    if each.value == b"ok":
        return Found((Draft(HERE),))
    if claim.owned:
        raise Unusable("bad", "neither")
    return None


def test_under_a_root_of_its_own_a_layout_answers_for_what_it_cannot_read() -> None:
    catalog = Catalog(codecs=[Codec("strict", strict, roots=("/mine/",))])
    for key, value in (("/mine/a/1", "ok"), ("/mine/b/1", "?"), ("/other/b/1", "?"), ("/mine/a/2", "note")):
        catalog.put(Entry(key.encode(), value.encode()))
    services, invalid, foreign = catalog.read()
    assert [(service.name, len(service.instances)) for service in services] == [("a", 1), ("b", 0)]
    assert [(flaw.key, flaw.layout, flaw.code) for flaw in invalid] == [("/mine/b/1", "strict", "bad")]
    assert foreign == 2
    assert catalog.others() == (
        (b"/mine/a/2", "a note"),
        (b"/other/b/1", "no layout has such a key and value"),
    )


def test_a_weak_layout_has_a_key_that_nothing_speaks_for_only_where_guesses_are_asked_for() -> None:
    weak = Codec("weak", strict, weak=True)
    for key, plain, guessed in (("/x/y/z", 0, 1), ("/x/y/127.0.0.1:1", 1, 1), ("/x/y/1234567890123456", 1, 1)):
        for guess, count in ((False, plain), (True, guessed)):
            catalog = Catalog(codecs=[weak], guess=guess)
            catalog.put(Entry(key.encode(), b"ok"))
            assert sum(len(service.instances) for service in catalog.read().services) == count
    catalog = Catalog(codecs=[weak], guess=True)
    catalog.put(Entry(b"/x/y/z", b"?"))
    assert catalog.read() == ((), (), 1)  # a guess that is wrong is not a defect


@pytest.mark.parametrize("lease", [7587854733892044844, 0x1234, -5])
def test_a_key_that_ends_in_its_own_lease_is_a_lock(lease: int) -> None:
    catalog = Catalog()
    leaf = f"{lease & (1 << 64) - 1:x}"
    catalog.put(Entry(f"/services/cron/{leaf}".encode(), b"10.0.0.9:8080|5", lease))
    assert catalog.read() == ((), (), 1)
    assert catalog.others()[0].why == "a lock or an election: the key ends in its lease"
    catalog.put(Entry(f"/services/cron/{leaf}".encode(), b"10.0.0.9:8080|5", lease + 1))
    assert catalog.read().foreign == 0
