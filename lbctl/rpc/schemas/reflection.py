"""Find a method: in files that describe it, or by server reflection at the first of several backends that has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from google.protobuf.descriptor_pb2 import FileDescriptorProto
from grpc_health.v1 import health_pb2

from lbctl.errors import LbctlError, NotFound, UsageError
from lbctl.model import Endpoint
from lbctl.rpc import health
from lbctl.rpc.access import AccessFor, plain
from lbctl.rpc.obstacle import Kind, Obstacle, hint
from lbctl.rpc.schemas import lookup
from lbctl.rpc.schemas.asking import Obstacles, Versions, conversing, first_of, nobody, of
from lbctl.rpc.schemas.conversation import Conversation
from lbctl.rpc.schemas.described_files import DescribedFiles
from lbctl.rpc.schemas.lookup import HEALTH, Catalog, Name, Wanted
from lbctl.rpc.schemas.schema import Method, build_method
from lbctl.rpc.schemas.source import Source
from lbctl.suggestion import PLAIN, Again

HEALTH_CHECK: Final = Name(HEALTH, "Check")
NO_METHOD_NOTE: Final = f"no METHOD given: calling {HEALTH_CHECK}, which changes nothing"


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A method, the backend that described it, by which version, and what the user should know.

    ``protocol`` is builtin for the health check of a server without reflection, and files where those described the
    method and no backend was asked. ``source`` can be asked for more types, at any time.
    """

    method: Method
    backend: Endpoint | None
    protocol: Literal["v1", "v1alpha", "builtin", "files"]
    source: Source
    note: str = ""


async def load_method(
    endpoints: Sequence[Endpoint],
    wanted: str | None,
    *,
    timeout_s: float,
    service: str = "",
    registered: bool = True,
    access_for: AccessFor = plain,
    named: str = "",
    again: Again = PLAIN,
    source: DescribedFiles | None = None,
    versions: Versions | None = None,
) -> Found:
    """Load the method a user means; without one, the health check if it is offered.

    With a ``source`` the method is one of its, and no backend is asked. ``versions`` remembers from one call to the
    next which version of reflection a backend knows.

    ``service`` is what the backends are called in messages; where they are in no registry (``registered``) no hint
    sends the user to it. ``again`` spells the commands of hints, where the service is ``named`` so if not as it is
    called. Raises NotFound, UsageError or CannotCall.
    """
    spelt = None if wanted is None else lookup.parse(wanted)
    if source is not None:
        return await find_method(source, spelt, source.origin)
    if not endpoints:
        raise NotFound(f"{of(service)} has no backend to ask for its methods")
    distinct = list(dict.fromkeys(endpoints))  # several keys may share an address
    known: Versions = {} if versions is None else versions

    async def ask(endpoint: Endpoint) -> Found | Obstacle:
        async def find(talk: Conversation) -> Found:
            return replace(await find_method(talk, spelt, str(endpoint)), backend=endpoint)

        return await conversing(endpoint, access_for(endpoint), find, timeout_s=timeout_s, versions=known)

    answer = await first_of(distinct, ask)
    if isinstance(answer, Found):
        return answer
    if spelt is None or (spelt.service, spelt.method) == HEALTH_CHECK:
        healthy = await _checkable(answer, access_for, timeout_s)
        if healthy is not None:
            return replace(_builtin(spelt), backend=healthy)
    advice = hint(answer.values(), named or service, registered=registered, again=again)
    raise nobody(answer, len(distinct), service, advice)


async def find_method(source: Source, spelt: Wanted | None, who: str) -> Found:
    """Find a method in a source, which errors call ``who``; without one, the health check if it is there.

    Raises NotFound, UsageError or CannotCall, and what the source raises.
    """
    if spelt is None and HEALTH not in source.listing:
        raise await _method_needed(source, who)
    wanted = spelt or lookup.parse(str(HEALTH_CHECK))
    catalog = await _catalog(source, lookup.places(wanted, source.listing))
    if lookup.may_be_unlisted(wanted, source.listing):
        catalog = await _unlisted(source, wanted.service) or catalog
    offered = HEALTH in source.listing or source.protocol == "files"  # which do not tell what a backend offers
    if (wanted.service, wanted.method) == HEALTH_CHECK and offered and not catalog[HEALTH]:
        method = _health_method()  # offered and not described
    else:
        name = lookup.choose(wanted, catalog, source.origin)
        await source.complete()
        method = build_method(source.files, name.service, name.method, source.origin)
    return Found(method, None, source.protocol, source, "" if spelt else NO_METHOD_NOTE)


async def _unlisted(source: Source, service: str) -> Catalog:
    """A service that is described although it is not listed: Python servers are told by hand what to list."""
    found = await source.methods(service)
    return {service: found} if found else {}


async def _catalog(source: Source, services: Sequence[str]) -> Catalog:
    return {service: await source.methods(service) for service in services}


async def _method_needed(source: Source, who: str) -> LbctlError:
    catalog = await _catalog(source, lookup.own(source.listing))
    choices = lookup.described(catalog)
    advice = f"give one of its methods: {choices}" if choices else "it has no method to call"
    verb = "describe" if source.protocol == "files" else "offer"
    return UsageError(f"no METHOD given, and {who} does not {verb} {HEALTH}", advice)


async def _checkable(obstacles: Obstacles, access_for: AccessFor, timeout_s: float) -> Endpoint | None:
    """Find a backend without reflection that answers health checks all the same."""
    for endpoint, obstacle in obstacles.items():
        if obstacle.kind is not Kind.UNIMPLEMENTED:
            continue
        answer = await health.check(endpoint, access_for(endpoint), timeout_s=timeout_s)
        if answer.rtt_s is not None and answer.status is not health.Status.UNIMPLEMENTED:
            return endpoint
    return None


def _builtin(spelt: Wanted | None) -> Found:
    """The health check as lbctl itself knows it."""
    source = DescribedFiles([("lbctl", [_health_file()])])
    return Found(_health_method(), None, "builtin", source, "" if spelt else NO_METHOD_NOTE)


def _health_method() -> Method:
    file = _health_file()
    return build_method({file.name: file}, *HEALTH_CHECK)


def _health_file() -> FileDescriptorProto:
    file = FileDescriptorProto()
    health_pb2.DESCRIPTOR.CopyToProto(file)
    return file
