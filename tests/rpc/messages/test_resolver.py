"""Types that a message needs and its method's files do not define: fetched from whoever describes them, each once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from lbctl.errors import CannotCall, UsageError
from lbctl.model import Code, Origin, Reply
from lbctl.rpc.messages.message import decode, encode_value
from lbctl.rpc.messages.resolver import names_in, names_in_text, resolver_of
from lbctl.rpc.schemas.conversation import ReflectionFailed
from lbctl.rpc.schemas.described_files import DescribedFiles
from lbctl.rpc.schemas.schema import Method
from tests.rpc.messages.envelopes import envelope, letters
from tests.rpc.protos import method_of

TYPE: Final = "type.googleapis.com"


class Counted(DescribedFiles):
    """A source that keeps what it was asked for; it begins without any file, as reflection does."""

    def __init__(self, files: Sequence[FileDescriptorProto], *, failing: bool = False) -> None:
        super().__init__([("reflection", files)])
        self._all = self.files
        self.files: Mapping[str, FileDescriptorProto] = {}
        self.asked: list[str | tuple[str, int]] = []
        self._failing = failing

    async def symbol(self, name: str) -> bool:
        return await self._answer(name, await DescribedFiles.symbol(self._whole(), name))

    async def extension(self, type_name: str, number: int) -> bool:
        return await self._answer((type_name, number), await DescribedFiles.extension(self._whole(), type_name, number))

    def _whole(self) -> Counted:
        self.files = self._all
        return self

    async def _answer(self, question: str | tuple[str, int], answer: bool) -> bool:
        self.asked.append(question)
        if self._failing:
            raise ReflectionFailed(Reply(Code.UNAVAILABLE, Origin.CLIENT, "the connection broke"))
        return answer


def fresh() -> Method:
    """The method in a pool that nothing was put into yet."""
    return method_of(envelope())


VALUES: Final[list[dict[str, Any]]] = [
    {"content": {"@type": f"{TYPE}/x.Letter", "paper": {"weight": "5"}}},
    {"content": {"@type": f"{TYPE}/google.protobuf.Any", "value": {"@type": f"{TYPE}/x.Letter", "paper": {}}}},
    {"content": {"@type": f"{TYPE}/google.protobuf.Duration", "value": "1.500s"}},
    {"content": {"@type": f"{TYPE}/google.protobuf.Value", "value": [1.0, None, "a", {"b": True}]}},
    {"content": {"@type": f"{TYPE}/google.protobuf.Int64Value", "value": "5"}},
    {"content": {"@type": f"{TYPE}/google.protobuf.FieldMask", "value": "a.b,c"}},
    {"content": {"@type": f"{TYPE}/google.protobuf.Empty"}},
    {"content": {"@type": f"{TYPE}/e.Envelope", "content": {"@type": f"{TYPE}/x.Paper", "weight": "1"}}},
    {"content": {"@type": f"{TYPE}/e.Envelope", "name": "a", "[x.price]": "7"}},
    {"[x.price]": "9007199254740993", "[x.made_of]": {"weight": "1"}, "[x.seals]": ["a", "b"]},
]


@pytest.mark.parametrize("value", VALUES)
async def test_what_requests_name_and_replies_hold_is_fetched(value: dict[str, Any]) -> None:
    sender, receiver = fresh(), fresh()
    await resolver_of(Counted(letters()), sender).fill(value)
    octets = encode_value(sender, value)
    assert await resolver_of(Counted(letters()), receiver).reveal(receiver.output_type, octets) == value
    assert decode(receiver, octets) == value


async def test_what_is_known_is_not_asked_for_and_what_is_not_once() -> None:
    method, source = fresh(), Counted(letters())
    resolver = resolver_of(source, method)
    for _ in range(3):
        await resolver.fill({"content": {"@type": "x/x.Paper"}}, {"content": {"@type": "x/no.Such"}, "[x.no]": 1})
        await resolver.fill({"content": {"@type": "x/google.protobuf.Duration", "value": "1s"}})
    assert sorted(map(str, source.asked)) == ["no.Such", "x.Paper", "x.no"]
    await resolver_of(source, method).fill({"content": {"@type": "y/x.Paper"}})
    assert len(source.asked) == 3


async def test_a_reply_with_what_nobody_knows_is_shown() -> None:
    method, source = fresh(), Counted([envelope()])
    octets = bytes.fromhex("12080a04") + b"x/no" + bytes.fromhex("1200a006059a0c00")
    resolver = resolver_of(source, method)
    for _ in range(2):
        assert await resolver.reveal(method.output_type, octets) == {
            "content": {"@type": "x/no", "@error": "nobody describes no", "@value": ""}
        }
    assert sorted(map(str, source.asked)) == ["('e.Envelope', 100)", "('e.Envelope', 195)", "no"]


async def test_a_source_that_breaks_leaves_replies_as_they_are_and_is_left_alone() -> None:
    method, source = fresh(), Counted(letters(), failing=True)
    octets = bytes.fromhex("120d0a09") + b"x/x.Paper" + bytes.fromhex("1200a00605")
    resolver = resolver_of(source, method)
    for _ in range(2):
        assert await resolver.reveal(method.output_type, octets) == {
            "content": {"@type": "x/x.Paper", "@error": "nobody describes x.Paper", "@value": ""}
        }
    assert len(source.asked) == 1


async def test_a_source_that_breaks_over_a_request_is_said() -> None:
    method = fresh()
    with pytest.raises(CannotCall) as broken:
        await resolver_of(Counted(letters(), failing=True), method).fill({"content": {"@type": "x/x.Paper"}})
    assert str(broken.value).startswith("reflection was asked for x.Paper: ")
    assert "the connection broke" in str(broken.value)


async def test_without_a_source_protobufs_own_types_are_known() -> None:
    method = fresh()
    value = {"content": {"@type": "x/google.protobuf.Timestamp", "value": "2026-01-02T03:04:05Z"}}
    await resolver_of(None, method).fill(value, {"content": {"@type": "x/x.Paper"}})
    assert decode(method, encode_value(method, value)) == value
    with pytest.raises(UsageError, match=r'holds the type "x/x\.Paper", which nobody describes'):
        encode_value(method, {"content": {"@type": "x/x.Paper"}})


async def test_a_file_that_contradicts_the_methods_own_is_as_good_as_none() -> None:
    other = envelope()
    other.name = "other.proto"
    other.message_type.add(name="More")
    method = fresh()
    await resolver_of(Counted([other]), method).fill({"content": {"@type": "x/e.More"}})
    with pytest.raises(UsageError, match="nobody describes"):
        encode_value(method, {"content": {"@type": "x/e.More"}})


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        ({"[x.no]": 1}, 'nobody describes the extension "[x.no]" of e.Envelope', True),
        (
            {"[x.pricee]": 1},
            'nobody describes the extension "[x.pricee]" of e.Envelope; did you mean "[x.price]"?',
            True,
        ),
        (
            {"[x.price]": "a"},
            'field "[x.price]" must be an integer from -9223372036854775808 to 9223372036854775807, not "a"',
            False,
        ),
        (
            {"content": {"@type": "x/e.Envelope", "[x.made_of]": {"wieght": 1}}},
            'x.Paper has no field "wieght" (at content.[x.made_of]); did you mean "weight"?',
            False,
        ),
        (
            {"content": {"@type": "x/x.Paper", "[x.price]": 1}},
            'x.Paper takes no extensions, so no "[x.price]" (at content)',
            False,
        ),
        ({"[x.seals]": "a"}, 'field "[x.seals]" must be a list, not "a"', False),
    ],
)
async def test_mistakes_in_what_was_fetched_have_their_place(text: dict[str, Any], said: str, hint: bool) -> None:
    method = fresh()
    resolver = resolver_of(Counted(letters()), method)
    await resolver.fill(text, {"[x.price]": 1, "content": {"@type": "x/x.Letter"}})
    with pytest.raises(UsageError) as refused:
        encode_value(method, text)
    assert str(refused.value) == said
    assert refused.value.hint == ("describe it with --proto FILE or --protoset FILE" if hint else "")


def test_names_are_found_at_every_depth() -> None:
    value = [{"a": {"@type": "x/p.A", "b": [{"@type": "p.B"}]}, "[p.ext]": {"[q.ext]": 1}}, {"@type": 5, "[": 1}]
    assert names_in(value) == {"p.A", "p.B", "p.ext", "q.ext"}
    assert names_in({"@type": "x/not a name", "[a b]": 1}) == set()


@pytest.mark.parametrize("size", [7, 64, 10_000])
def test_names_are_found_in_text_across_its_pieces(size: Literal[7, 64, 10_000]) -> None:
    text = '{"a": {"@type" :\n "x/p.A"}, "[p.ext]": 1}\n"{""@type"": ""x\\/p.B""}",1\n{"@type": "{{uuid}}"} ["a"]'
    assert names_in_text(text[at : at + size] for at in range(0, len(text), size)) == {"p.A", "p.B", "p.ext"}
