"""Which definition is meant, and what comes with it."""

from __future__ import annotations

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from lbctl.errors import NotFound
from lbctl.rpc.schemas.described_files import DescribedFiles
from lbctl.rpc.schemas.resolving import describe
from lbctl.rpc.schemas.source import Source
from tests.rpc.schemas.written import written
from tests.rpc.servers import echo_files

OTHER = written(
    "other.proto",
    """
    message_type {
        name: "Thing" field { name: "size" number: 1 type: TYPE_INT32 } nested_type { name: "Part" }
        enum_type { name: "Kind" value { name: "NONE" number: 0 } }
        extension { name: "extra" number: 100 type: TYPE_INT32 extendee: ".test.Text" }
    }
    message_type { name: "Text" }
    """,
)
HEALTH = FileDescriptorProto(name="health.proto", package="grpc.health.v1")
HEALTH.service.add(name="Health").method.add(name="Say", input_type=".test.Text", output_type=".test.Text")


def source() -> Source:
    return DescribedFiles([("--protoset x.pb", [*echo_files().values(), OTHER, HEALTH])])


async def found(wanted: str | None) -> list[str]:
    return [symbol.spelt for symbol in (await describe(source(), wanted)).symbols]


async def test_without_a_name_the_own_services_are_meant() -> None:
    assert await found(None) == ["test.Echo", "test.Admin"]


async def test_of_grpcs_own_alone_those_are_meant() -> None:
    alone = DescribedFiles([("x", [HEALTH])])
    assert [each.name for each in (await describe(alone, None)).symbols] == ["grpc.health.v1.Health"]


@pytest.mark.parametrize("wanted", ["test.Echo/Say", "test.Echo.Say", "Echo/Say", "Echo.Say", "Say", "/test.Echo/Say"])
async def test_a_method_comes_with_its_messages(wanted: str) -> None:
    assert await found(wanted) == ["test.Echo/Say", "test.Text"]


@pytest.mark.parametrize(
    ("wanted", "name"),
    [
        ("Echo", "test.Echo"),
        ("other.Thing", "other.Thing"),
        (".other.Thing", "other.Thing"),
        ("Thing.Part", "other.Thing.Part"),
        ("Kind", "other.Thing.Kind"),
        ("other.Thing.extra", "other.Thing.extra"),
        ("other.Thing.size", "other.Thing"),
        ("size", "other.Thing"),
        ("Kind.NONE", "other.Thing.Kind"),
        ("other.proto", "other.proto"),
        ("grpc.health.v1.Health", "grpc.health.v1.Health"),
        ("Health", "grpc.health.v1.Health"),
    ],
)
async def test_a_full_name_or_its_end_is_enough(wanted: str, name: str) -> None:
    assert await found(wanted) == [name]


async def test_an_end_that_fits_two_is_ambiguous() -> None:
    with pytest.raises(NotFound, match=r'"Text" is ambiguous: test\.Text, other\.Text') as raised:
        await found("Text")
    assert raised.value.hint == "give the full name, for example test.Text"


async def test_what_is_not_there_names_what_is_near() -> None:
    with pytest.raises(NotFound, match='nothing is called "Thign"') as raised:
        await found("Thign")
    assert raised.value.hint == "did you mean other.Thing?"
    with pytest.raises(NotFound) as raised:
        await found("xyz.abc")
    assert raised.value.hint == "services: test.Echo, test.Admin, grpc.health.v1.Health"


async def test_a_source_without_services_says_so() -> None:
    with pytest.raises(NotFound, match=r"--protoset y\.pb describes no services"):
        await describe(DescribedFiles([("--protoset y.pb", [OTHER])]), None)
