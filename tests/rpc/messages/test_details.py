"""Details of errors: gRPC's own types are known, others come from whoever describes them, and nothing fails."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.json_format import ParseDict
from google.protobuf.message_factory import GetMessageClass

from lbctl.rpc.messages.details import decode_details
from lbctl.rpc.messages.own_types import STATUS, own_files, own_types
from lbctl.rpc.schemas.described_files import DescribedFiles
from lbctl.rpc.schemas.schema import build_pool
from tests.rpc.protos import F, add_field


def status(*details: dict[str, Any], files: tuple[FileDescriptorProto, ...] = ()) -> bytes:
    """The octets of a status as a server writes them."""
    pool = build_pool(own_files(), own_types()[STATUS])
    for file in (own_files()["google/protobuf/duration.proto"], own_files()["google/rpc/error_details.proto"], *files):
        pool.Add(file)
    message = GetMessageClass(pool.FindMessageTypeByName(STATUS))()
    ParseDict({"code": 3, "message": "no", "details": list(details)}, message, descriptor_pool=pool)
    return bytes(message.SerializeToString())


def own_detail() -> FileDescriptorProto:
    file = FileDescriptorProto(name="shop.proto", package="shop", syntax="proto3")
    add_field(file.message_type.add(name="OutOfStock"), "left", 1, F.TYPE_INT64)
    return file


@pytest.mark.parametrize(
    "detail",
    [
        {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "R", "domain": "d", "metadata": {"a": "b"}},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1.500s"},
        {"@type": "type.googleapis.com/google.rpc.DebugInfo", "stackEntries": ["a", "b"], "detail": "d"},
        {
            "@type": "type.googleapis.com/google.rpc.QuotaFailure",
            "violations": [
                {"subject": "s", "quotaDimensions": {"r": "eu"}, "quotaValue": "5", "futureQuotaValue": "0"}
            ],
        },
        {
            "@type": "type.googleapis.com/google.rpc.PreconditionFailure",
            "violations": [{"type": "TOS", "subject": "s", "description": "d"}],
        },
        {
            "@type": "type.googleapis.com/google.rpc.BadRequest",
            "fieldViolations": [
                {"field": "f", "description": "d", "reason": "R", "localizedMessage": {"locale": "de", "message": "m"}}
            ],
        },
        {"@type": "type.googleapis.com/google.rpc.RequestInfo", "requestId": "1", "servingData": "x"},
        {
            "@type": "type.googleapis.com/google.rpc.ResourceInfo",
            "resourceType": "t",
            "resourceName": "n",
            "owner": "o",
        },
        {"@type": "type.googleapis.com/google.rpc.Help", "links": [{"description": "d", "url": "u"}]},
        {"@type": "type.googleapis.com/google.rpc.LocalizedMessage", "locale": "en", "message": "m"},
        {"@type": "type.googleapis.com/google.protobuf.Duration", "value": "3s"},
    ],
)
async def test_grpcs_own_details_need_nobody_to_describe_them(detail: dict[str, Any]) -> None:
    assert await decode_details(status(detail)) == [detail]


async def test_details_of_other_types_come_from_the_source() -> None:
    detail = {"@type": "type.googleapis.com/shop.OutOfStock", "left": "2"}
    octets = status(detail, files=(own_detail(),))
    assert await decode_details(octets, DescribedFiles([("--proto shop.proto", [own_detail()])])) == [detail]


async def test_a_detail_that_nobody_describes_is_shown_in_base64_beside_those_that_are_known() -> None:
    unknown = {"@type": "type.googleapis.com/shop.OutOfStock", "left": "2"}
    known = {"@type": "type.googleapis.com/google.rpc.RequestInfo", "requestId": "1"}
    assert await decode_details(status(unknown, known, files=(own_detail(),))) == [
        {
            "@type": "type.googleapis.com/shop.OutOfStock",
            "@error": "nobody describes shop.OutOfStock",
            "@value": b64encode(b"\x08\x02").decode(),
        },
        known,
    ]


async def test_octets_that_are_no_status_are_shown_in_base64() -> None:
    assert await decode_details(b"\x0a\xff") == [{"@error": "the octets are no google.rpc.Status", "@value": "Cv8="}]
    assert await decode_details(b"") == []


async def test_a_detail_that_is_cut_off_is_shown_in_base64() -> None:
    octets = bytes.fromhex("1a2e0a28") + b"type.googleapis.com/google.rpc.RetryInfo" + bytes.fromhex("12020aff")
    assert await decode_details(octets) == [
        {
            "@type": "type.googleapis.com/google.rpc.RetryInfo",
            "@error": "the octets are no google.rpc.RetryInfo",
            "@value": "Cv8=",
        }
    ]
