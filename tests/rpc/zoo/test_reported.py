"""What users of other tools ran into with schemas and JSON, against real servers with reflection."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import AsyncIterator
from typing import Any, Final

import pytest
import pytest_asyncio
from google.protobuf import json_format
from google.protobuf.message_factory import GetMessageClass

from lbctl.errors import UsageError
from lbctl.model import Code, Endpoint
from lbctl.rpc.access import Access
from lbctl.rpc.messages.details import decode_details
from lbctl.rpc.messages.message import encode, encode_value, parse
from lbctl.rpc.messages.own_types import STATUS, own_files
from lbctl.rpc.messages.resolver import resolver_of
from lbctl.rpc.schemas.reflection import load_method
from tests.rpc.zoo.keeper import Keeper, keeping, pool_of, zoo_files

ECHO: Final = "zoo.modern.Keeper/Echo"
EGG: Final = "type.googleapis.com/zoo.unlinked.Egg"


@pytest_asyncio.fixture
async def zoo() -> AsyncIterator[tuple[Keeper, Endpoint]]:
    async with keeping(zoo_files()) as kept:
        yield kept


async def sent_back(zoo: tuple[Keeper, Endpoint], text: str, name: str) -> tuple[Any, Any]:
    """What a server reads of a request, and what we show of the echo."""
    keeper, endpoint = zoo
    found = await load_method([endpoint], name, timeout_s=5)
    value, resolver = parse(text, "request"), resolver_of(found.source, found.method)
    await resolver.fill(value)
    async with Access().caller(endpoint) as caller:
        octets = encode_value(found.method, value)
        reply = (await caller.unary(f"/{found.method.full_name}", octets, timeout_s=5)).reply
    assert reply.code is Code.OK
    return keeper.heard.pop(), await resolver.reveal(found.method.output_type, reply.message)


async def echoed(zoo: tuple[Keeper, Endpoint], text: str, name: str = ECHO) -> tuple[Any, Any]:
    """The same, with what the server reads as protobuf's own mapping shows it."""
    heard, shown = await sent_back(zoo, text, name)
    return json_format.MessageToDict(heard, descriptor_pool=zoo[0].pool), shown


async def test_an_any_of_a_type_that_the_service_does_not_import_is_asked_for(zoo: tuple[Keeper, Endpoint]) -> None:
    text = (
        f'{{"any": {{"@type": "{EGG}", "number": 1, "inside": {{"@type": "{EGG}", "laid": "1970-01-01T00:00:00Z"}}}}}}'
    )
    expected = {
        "any": {"@type": EGG, "number": "1", "inside": {"@type": EGG, "laid": "1970-01-01T00:00:00Z"}},
    }
    assert await echoed(zoo, text) == (expected, expected)


async def test_an_extension_that_the_service_does_not_import_is_asked_for(zoo: tuple[Keeper, Endpoint]) -> None:
    text = '{"name": "x", "[zoo.unlinked.weight]": 7, "[zoo.unlinked.nest]": [{"number": 1}]}'
    expected = {"name": "x", "[zoo.unlinked.weight]": "7", "[zoo.unlinked.nest]": [{"number": "1"}]}
    assert await echoed(zoo, text, "zoo.old.Keeper/Echo") == (expected, expected)


@pytest.mark.parametrize(
    ("any_", "said", "form"),
    [
        (
            '{"@type": "type.googleapis.com/no.Such", "id": 1}',
            'holds the type "type.googleapis.com/no.Such", which nobody',
            'an Any is written {"@type": "type.googleapis.com/pkg.Message", ...}',
        ),
        (
            '{"type_url": "type.googleapis.com/no.Such", "value": "CAE="}',
            'is an Any, whose type "type.googleapis.com/no.Such" stands in "@type"',
            '{"@type": "type.googleapis.com/no.Such", "@value": "CAE="}',
        ),
    ],
)
async def test_an_any_that_cannot_be_made_is_said_with_the_accepted_form(
    zoo: tuple[Keeper, Endpoint], any_: str, said: str, form: str
) -> None:
    with pytest.raises(UsageError) as refused:
        await echoed(zoo, f'{{"any": {any_}}}')
    assert said in str(refused.value)
    assert form in refused.value.hint


async def test_an_any_that_nobody_knows_is_sent_back_as_it_was_shown(zoo: tuple[Keeper, Endpoint]) -> None:
    shown = {"@type": "example.com/no.Such", "@error": "nobody describes no.Such", "@value": "CAEA/w=="}
    inside = {"@type": "example.com/zoo.unlinked.Egg", "number": "1", "inside": shown}
    expected = {"any": inside, "anys": [shown], "bySfixed64": {"-7": shown}}
    heard, found = await sent_back(zoo, json.dumps(expected), ECHO)
    assert found == expected
    assert (heard.anys[0].value, heard.any.type_url) == (b"\x08\x01\x00\xff", "example.com/zoo.unlinked.Egg")


async def test_a_reply_with_an_any_that_nobody_knows_is_shown_in_base64(zoo: tuple[Keeper, Endpoint]) -> None:
    keeper, endpoint = zoo
    keeper.replies.append(bytes.fromhex("b204170a11") + b"example.com/no.Su" + bytes.fromhex("12020801"))
    found = await load_method([endpoint], ECHO, timeout_s=5)
    async with Access().caller(endpoint) as caller:
        reply = (await caller.unary(f"/{ECHO}", b"", timeout_s=5)).reply
    shown = await resolver_of(found.source, found.method).reveal(found.method.output_type, reply.message)
    assert shown == {"any": {"@type": "example.com/no.Su", "@error": "nobody describes no.Su", "@value": "CAE="}}


@pytest.mark.parametrize(
    "written", ["9007199254740993", '"9007199254740993"', "9007199254740993.0", '"9007199254740993.0"']
)
async def test_no_integer_is_rounded(zoo: tuple[Keeper, Endpoint], written: str) -> None:
    expected = {"int64Value": "9007199254740993"}
    assert await echoed(zoo, f'{{"int64Value": {written}}}') == (expected, expected)


async def test_octets_and_enums_that_nobody_named_arrive(zoo: tuple[Keeper, Endpoint]) -> None:
    expected = {"bytesValue": "AAE=", "colour": 99, "colours": [99, "RED"]}
    assert await echoed(zoo, '{"bytesValue": "AAE", "colour": 99, "colours": [99, 1]}') == (expected, expected)
    with pytest.raises(UsageError, match=r'^field "bytesValue" must be a string of base64, not "AA!E="$'):
        await echoed(zoo, '{"bytesValue": "AA!E="}')
    with pytest.raises(
        UsageError, match=r"must be one of JURASSIC \(1\), CRETACEOUS \(2\), since zoo.old.Era is closed"
    ):
        await echoed(zoo, '{"name": "x", "era": 99}', "zoo.old.Keeper/Echo")


async def test_wrappers_and_free_form_values_are_not_empty(zoo: tuple[Keeper, Endpoint]) -> None:
    text = '{"int64Wrapper": "0", "stringWrapper": "", "value": null, "optionalInt64": 0, "struct": {"a": [null, 1]}}'
    expected = {
        "int64Wrapper": "0",
        "stringWrapper": "",
        "value": None,
        "optionalInt64": "0",
        "struct": {"a": [None, 1.0]},
    }
    assert await echoed(zoo, text) == (expected, expected)


async def test_a_request_and_a_reply_that_are_no_objects_are_those_of_their_types(zoo: tuple[Keeper, Endpoint]) -> None:
    keeper, _ = zoo
    keeper.replies.append(b"\x1a\x01a")
    assert await echoed(zoo, '{"a": 1}', "zoo.modern.Keeper/Own") == ({"a": 1.0}, "a")


@pytest.mark.parametrize("text", [None, "", " \n", "{}"])
async def test_no_data_is_the_empty_message(zoo: tuple[Keeper, Endpoint], text: str | None) -> None:
    found = await load_method([zoo[1]], ECHO, timeout_s=5)
    assert encode(found.method, text) == b""
    assert await echoed(zoo, (text or "").strip() or "{}") == ({}, {})


async def test_details_of_an_error_may_be_of_types_that_only_reflection_knows(zoo: tuple[Keeper, Endpoint]) -> None:
    pool = pool_of([own_files()["google/protobuf/any.proto"], own_files()["google/rpc/status.proto"]])
    status: Any = GetMessageClass(pool.FindMessageTypeByName(STATUS))(code=3)
    status.details.add(type_url=EGG, value=b"\x08\x05")
    status.details.add(type_url="x/no.Such", value=b64decode("CAE="))
    source = (await load_method([zoo[1]], ECHO, timeout_s=5)).source
    assert await decode_details(status.SerializeToString(), source) == [
        {"@type": EGG, "number": "5"},
        {"@type": "x/no.Such", "@error": "nobody describes no.Such", "@value": "CAE="},
    ]


async def test_lists_are_read_whether_they_are_packed_or_not(zoo: tuple[Keeper, Endpoint]) -> None:
    keeper, _ = zoo
    message = GetMessageClass(keeper.pool.FindMessageTypeByName("zoo.modern.Animal"))(
        packed=[1, 300], unpacked=[1, 300]
    )
    assert message.SerializeToString().hex() == "f2010301ac02" + "f801" + "01" + "f801" + "ac02"
    assert keeper.repacked(message).hex() == "f001" + "01" + "f001" + "ac02" + "fa010301ac02"
    keeper.replies.append(keeper.repacked(message))
    assert (await echoed(zoo, "{}"))[1] == {"packed": ["1", "300"], "unpacked": ["1", "300"]}
