"""What a failed call says beside its status: ``grpc-status-details-bin``, a google.rpc.Status with messages in it."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Any, Final

from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from lbctl.rpc.messages.own_types import STATUS, own_files, own_types
from lbctl.rpc.messages.resolver import Resolver
from lbctl.rpc.schemas.schema import build_pool

if TYPE_CHECKING:
    from lbctl.rpc.schemas.source import Source

HEADER: Final = "grpc-status-details-bin"


async def decode_details(octets: bytes, source: Source | None = None) -> list[dict[str, Any]]:
    """Decode the details in the value of ``grpc-status-details-bin``, each with its ``"@type"``; never fails.

    gRPC's own types are known, others come from the ``source``; one that nobody knows is shown in base64, as
    ``{"@type", "@error", "@value"}``. What is no google.rpc.Status at all is one detail without a type.
    """
    pool = build_pool(own_files(), own_types()[STATUS])
    kind = pool.FindMessageTypeByName(STATUS)
    try:
        status: Any = GetMessageClass(kind).FromString(octets)
    except DecodeError:
        return [{"@error": f"the octets are no {STATUS}", "@value": b64encode(octets).decode()}]
    resolver = Resolver(source, pool)
    return [await _detail(resolver, each) for each in status.details]


async def _detail(resolver: Resolver, detail: Any) -> dict[str, Any]:  # noqa: ANN401  # an Any
    try:
        found: dict[str, Any] = await resolver.reveal(detail.DESCRIPTOR, detail.SerializeToString())
    except RecursionError:
        value = b64encode(detail.value).decode()
        return {"@type": detail.type_url, "@error": "it is nested too deeply", "@value": value}
    return found
