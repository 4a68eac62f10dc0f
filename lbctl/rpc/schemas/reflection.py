"""Find a method: in files that describe it, or by server reflection at the first of several backends that has it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from google.protobuf.descriptor_pb2 import FileDescriptorProto
from grpc_health.v1 import health_pb2

from lbctl.errors import CannotCall, LbctlError, NotFound, UsageError
from lbctl.model import Code, Endpoint, Origin, Reply
from lbctl.rpc import health
from lbctl.rpc.access import Access, AccessFor, plain
from lbctl.rpc.caller import Caller
from lbctl.rpc.obstacle import Kind, Obstacle, hint, is_late, listed, silent, told
from lbctl.rpc.probe import connect
from lbctl.rpc.schemas import lookup
from lbctl.rpc.schemas.conversation import Ask, Protocol, ReflectionFailed, converse
from lbctl.rpc.schemas.described_files import DescribedFiles
from lbctl.rpc.schemas.lookup import HEALTH, Catalog, Name, Wanted
from lbctl.rpc.schemas.schema import Method, build_method
from lbctl.rpc.schemas.source import Source
from lbctl.suggestion import PLAIN, Again

MAX_BACKENDS: Final = 5
# How long a backend may be silent before the next one is asked as well.
STAGGER_S: Final = 0.3
HEALTH_CHECK: Final = Name(HEALTH, "Check")
NO_METHOD_NOTE: Final = f"no METHOD given: calling {HEALTH_CHECK}, which changes nothing"
MAX_MESSAGE: Final = 64 << 20  # octets; a schema may be large
Obstacles = Mapping[Endpoint, Obstacle]
# Which version of server reflection each backend was found to know.
Versions = MutableMapping[Endpoint, Protocol]


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
        raise NotFound(f"{_of(service)} has no backend to ask for its methods")
    distinct = list(dict.fromkeys(endpoints))  # several keys may share an address
    known: Versions = {} if versions is None else versions
    answer = await _first(distinct, lambda endpoint: _ask(endpoint, access_for(endpoint), spelt, timeout_s, known))
    if isinstance(answer, Found):
        return answer
    if spelt is None or (spelt.service, spelt.method) == HEALTH_CHECK:
        healthy = await _checkable(answer, access_for, timeout_s)
        if healthy is not None:
            return replace(_builtin(spelt), backend=healthy)
    advice = hint(answer.values(), named or service, registered=registered, again=again)
    raise _nobody(answer, len(distinct), service, advice)


async def _first(
    endpoints: Sequence[Endpoint], ask: Callable[[Endpoint], Awaitable[Found | Obstacle]]
) -> Found | Obstacles:
    """Ask in order, the next one as soon as the last failed or is slow; the first that has it wins.

    At most MAX_BACKENDS are asked, beside those that refuse the connection: stale keys must not hide a live backend.
    """
    waiting = list(endpoints)
    running: dict[asyncio.Task[Found | Obstacle], Endpoint] = {}
    failed: dict[Endpoint, Obstacle] = {}
    try:
        while waiting or running:
            tried = len(running) + sum(obstacle.kind is not Kind.REFUSED for obstacle in failed.values())
            if waiting and tried < MAX_BACKENDS:
                endpoint = waiting.pop(0)
                running[asyncio.ensure_future(ask(endpoint))] = endpoint
            elif not running:
                break
            patience = STAGGER_S if waiting else None
            done, _ = await asyncio.wait(running, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                endpoint, answer = running.pop(task), task.result()
                if isinstance(answer, Found):
                    return answer
                failed[endpoint] = answer
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
    return {endpoint: failed[endpoint] for endpoint in endpoints if endpoint in failed}


async def _ask(
    endpoint: Endpoint, access: Access, spelt: Wanted | None, timeout_s: float, versions: Versions
) -> Found | Obstacle:
    access = roomy(access)
    async with access.caller(endpoint) as caller:
        ask = asking(caller, access, timeout_s)
        obstacle = await connect(caller, endpoint, access.secure, timeout_s)
        if obstacle is not None:
            return obstacle
        try:
            talk = await converse(ask, versions.get(endpoint))
            versions[endpoint] = talk.protocol
            found = await find_method(talk, spelt, str(endpoint))
        except ReflectionFailed as error:
            return silent(timeout_s) if is_late(error.reply) else declined(error.reply)
    talk.goes_on(asking_anew(endpoint, access, timeout_s))
    return replace(found, backend=endpoint)


def roomy(access: Access) -> Access:
    """The same access with room for the answers of server reflection, which may be large."""
    limits = access.options.limits
    limits = replace(limits, max_message=max(MAX_MESSAGE, limits.max_message))
    return replace(access, options=replace(access.options, limits=limits))


def asking(caller: Caller, access: Access, timeout_s: float) -> Ask:
    """Questions that have to be answered within a time that begins now."""
    clock = asyncio.get_running_loop().time
    deadline = clock() + timeout_s

    async def ask(path: str, question: bytes) -> Reply:
        return (await caller.stream(path, [question], timeout_s=deadline - clock(), metadata=access.metadata)).reply

    return ask


def asking_anew(endpoint: Endpoint, access: Access, timeout_s: float) -> Ask:
    """Questions that are rare: each has a connection, and a time, of its own."""

    async def ask(path: str, question: bytes) -> Reply:
        async with access.caller(endpoint) as caller:
            return await asking(caller, access, timeout_s)(path, question)

    return ask


def declined(reply: Reply) -> Obstacle:
    """Whatever the status: the backend is there, and does not reflect."""
    plainly = reply.code is Code.UNIMPLEMENTED and reply.origin is Origin.SERVER
    return Obstacle(Kind.UNIMPLEMENTED, "answered UNIMPLEMENTED" if plainly else told(reply))


async def find_method(source: Source, spelt: Wanted | None, who: str) -> Found:
    """Find a method in a source, which errors call ``who``; without one, the health check if it is there.

    Raises NotFound, UsageError or CannotCall, and what the source raises.
    """
    if spelt is None and HEALTH not in source.listing:
        raise await _method_needed(source, who)
    wanted = spelt or lookup.parse(str(HEALTH_CHECK))
    catalog = await _catalog(source, lookup.places(wanted, source.listing))
    offered = HEALTH in source.listing or source.protocol == "files"  # which do not tell what a backend offers
    if (wanted.service, wanted.method) == HEALTH_CHECK and offered and not catalog[HEALTH]:
        method = _health_method()  # offered and not described
    else:
        name = lookup.choose(wanted, catalog, source.origin)
        await source.complete()
        method = build_method(source.files, name.service, name.method, source.origin)
    return Found(method, None, source.protocol, source, "" if spelt else NO_METHOD_NOTE)


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


def _nobody(obstacles: Obstacles, known: int, service: str, advice: str) -> CannotCall:
    """Say why none of the backends could be asked."""
    kinds = {obstacle.kind for obstacle in obstacles.values()}
    answered = Kind.UNIMPLEMENTED in kinds
    many = "answers gRPC server reflection" if answered else "can be asked for its methods"
    single = "does not answer gRPC server reflection" if answered else "cannot be asked for its methods"
    reasons = listed(obstacles)
    tried = len(obstacles)
    which = f"the {tried} backends" if tried == known else f"the {tried} backends tried (of {known})"
    none = f"none of {which} of {_of(service)} {many}: {reasons}"
    one = f"the only backend of {_of(service)} {single}: {reasons}"
    return CannotCall(one if known == 1 else none, advice)


def _of(service: str) -> str:
    return f'"{service}"' if service else "this service"
