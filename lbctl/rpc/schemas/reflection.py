"""Find a method by server reflection, at the first of several backends that has it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
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
from lbctl.rpc.schemas.conversation import Ask, Conversation, ReflectionFailed, converse
from lbctl.rpc.schemas.lookup import HEALTH, Catalog, Name, Wanted
from lbctl.rpc.schemas.schema import Method, build_method
from lbctl.suggestion import PLAIN, Again

MAX_BACKENDS: Final = 5
# How long a backend may be silent before the next one is asked as well.
STAGGER_S: Final = 0.3
HEALTH_CHECK: Final = Name(HEALTH, "Check")
NO_METHOD_NOTE: Final = f"no METHOD given: calling {HEALTH_CHECK}, which changes nothing"
MAX_MESSAGE: Final = 64 << 20  # octets; a schema may be large
Obstacles = Mapping[Endpoint, Obstacle]


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A method, the backend that described it, by which version, and what the user should know.

    ``protocol`` is builtin for the health check of a server without reflection.
    """

    method: Method
    backend: Endpoint
    protocol: Literal["v1", "v1alpha", "builtin"]
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
) -> Found:
    """Load the method a user means; without one, the health check if it is offered.

    ``service`` is what the backends are called in messages; where they are in no registry (``registered``) no hint
    sends the user to it. ``again`` spells the commands of hints, where the service is ``named`` so if not as it is
    called. Raises NotFound, UsageError or CannotCall.
    """
    if not endpoints:
        raise NotFound(f"{_of(service)} has no backend to ask for its methods")
    spelt = None if wanted is None else lookup.parse(wanted)
    distinct = list(dict.fromkeys(endpoints))  # several keys may share an address
    answer = await _first(distinct, lambda endpoint: _ask(endpoint, access_for(endpoint), spelt, timeout_s))
    if isinstance(answer, Found):
        return answer
    if spelt is None or (spelt.service, spelt.method) == HEALTH_CHECK:
        healthy = await _checkable(answer, access_for, timeout_s)
        if healthy is not None:
            return Found(_health_method(), healthy, "builtin", "" if spelt else NO_METHOD_NOTE)
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


async def _ask(endpoint: Endpoint, access: Access, spelt: Wanted | None, timeout_s: float) -> Found | Obstacle:
    access = _roomy(access)
    async with access.caller(endpoint) as caller:
        ask = asking(caller, access, timeout_s)
        obstacle = await connect(caller, endpoint, access.secure, timeout_s)
        if obstacle is not None:
            return obstacle
        try:
            return await _find(await converse(ask), endpoint, spelt)
        except ReflectionFailed as error:
            return silent(timeout_s) if is_late(error.reply) else _declined(error.reply)


def _roomy(access: Access) -> Access:
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


def _declined(reply: Reply) -> Obstacle:
    """Whatever the status: the backend is there, and does not reflect."""
    plainly = reply.code is Code.UNIMPLEMENTED and reply.origin is Origin.SERVER
    return Obstacle(Kind.UNIMPLEMENTED, "answered UNIMPLEMENTED" if plainly else told(reply))


async def _find(talk: Conversation, endpoint: Endpoint, spelt: Wanted | None) -> Found:
    if spelt is None and HEALTH not in talk.listing:
        raise await _method_needed(talk, endpoint)
    wanted = spelt or lookup.parse(str(HEALTH_CHECK))
    catalog = await _catalog(talk, lookup.places(wanted, talk.listing))
    if (wanted.service, wanted.method) == HEALTH_CHECK and HEALTH in talk.listing and not catalog[HEALTH]:
        method = _health_method()  # offered and not described
    else:
        name = lookup.choose(wanted, catalog)
        await talk.complete()
        method = build_method(talk.files, name.service, name.method)
    return Found(method, endpoint, talk.protocol, "" if spelt else NO_METHOD_NOTE)


async def _catalog(talk: Conversation, services: Sequence[str]) -> Catalog:
    return {service: await talk.methods(service) for service in services}


async def _method_needed(talk: Conversation, endpoint: Endpoint) -> LbctlError:
    catalog = await _catalog(talk, lookup.own(talk.listing))
    choices = lookup.described(catalog)
    advice = f"give one of its methods: {choices}" if choices else "it has no method to call"
    return UsageError(f"no METHOD given, and {endpoint} does not offer {HEALTH}", advice)


async def _checkable(obstacles: Obstacles, access_for: AccessFor, timeout_s: float) -> Endpoint | None:
    """Find a backend without reflection that answers health checks all the same."""
    for endpoint, obstacle in obstacles.items():
        if obstacle.kind is not Kind.UNIMPLEMENTED:
            continue
        answer = await health.check(endpoint, access_for(endpoint), timeout_s=timeout_s)
        if answer.rtt_s is not None and answer.status is not health.Status.UNIMPLEMENTED:
            return endpoint
    return None


def _health_method() -> Method:
    file = FileDescriptorProto()
    health_pb2.DESCRIPTOR.CopyToProto(file)
    return build_method({file.name: file}, *HEALTH_CHECK)


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
