"""The methods that a source describes, in full."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lbctl.rpc.schemas.lookup import FULL_NAME
from lbctl.rpc.schemas.schema import find_service

if TYPE_CHECKING:
    from google.protobuf.descriptor_pb2 import FileDescriptorProto, MethodDescriptorProto

    from lbctl.rpc.schemas.source import Source

# Which sides of a method stream, as --stream says it: by (client streams, server streams).
KINDS: Final = {(False, False): "unary", (True, False): "client", (False, True): "server", (True, True): "bidi"}


@dataclass(frozen=True, slots=True)
class MethodFacts:
    """One method as it is declared; types are full names."""

    service: str
    name: str
    request: str
    response: str
    client_streaming: bool = False
    server_streaming: bool = False
    deprecated: bool = False
    file: str = ""

    @property
    def full_name(self) -> str:
        """``pkg.Service/Method``."""
        return f"{self.service}/{self.name}"

    @property
    def kind(self) -> str:
        """Which sides stream: unary, client, server or bidi."""
        return KINDS[self.client_streaming, self.server_streaming]


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What one source offers: methods in the order of their declaration, and services that it does not describe.

    ``protocol`` says how it was told: v1, v1alpha, or files.
    """

    protocol: str
    methods: tuple[MethodFacts, ...]
    undescribed: tuple[str, ...]
    files: Mapping[str, FileDescriptorProto]


async def catalogue(source: Source, *, whole: bool = False) -> Catalogue:
    """Fetch the methods of every service; their messages, and all those need, where it is to be ``whole``.

    Raises what the source raises.
    """
    found: list[MethodFacts] = []
    undescribed: list[str] = []
    for service in source.listing:
        declared = await source.methods(service) if FULL_NAME.fullmatch(service) else {}
        if not declared and find_service(source.files, service) is None:
            undescribed.append(service)
    if whole:
        await source.complete()
    for service in source.listing:
        place = find_service(source.files, service)
        if place is not None:
            found.extend(_facts(service, method, place[0].name) for method in place[1].method)
    return Catalogue(source.protocol, tuple(found), tuple(undescribed), dict(source.files))


def _facts(service: str, method: MethodDescriptorProto, file: str) -> MethodFacts:
    return MethodFacts(
        service,
        method.name,
        method.input_type.removeprefix("."),
        method.output_type.removeprefix("."),
        method.client_streaming,
        method.server_streaming,
        method.options.deprecated,
        file,
    )
