"""Who is asked of several backends, and what is said of those that do not answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, MutableMapping, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from lbctl.errors import CannotCall, LbctlError, NotFound
from lbctl.model import Code, Endpoint, Origin, Reply
from lbctl.rpc.access import Access
from lbctl.rpc.caller import Caller
from lbctl.rpc.obstacle import Kind, Obstacle, is_late, listed, silent, told
from lbctl.rpc.probe import connect
from lbctl.rpc.schemas.conversation import Ask, Conversation, Protocol, ReflectionFailed, converse

MAX_BACKENDS: Final = 5
MAX_ANSWERS: Final = 32  # of backends that are there, and of which none has what is wanted
# How long a backend may be silent before the next one is asked as well.
STAGGER_S: Final = 0.3
MAX_MESSAGE: Final = 64 << 20  # octets; a schema may be large
Obstacles = Mapping[Endpoint, Obstacle]
# Which version of server reflection each backend was found to know.
Versions = MutableMapping[Endpoint, Protocol]
T = TypeVar("T")


async def first_of(endpoints: Sequence[Endpoint], ask: Callable[[Endpoint], Awaitable[T | Obstacle]]) -> T | Obstacles:
    """Ask in order, the next one as soon as the last failed or is slow; the first that has it wins.

    Not more than MAX_BACKENDS are waited for, beside those that answer at once that they do not have it: stale keys, or
    the backends of an older release, must not hide the one that has it. Where all that answer lack what is wanted, what
    the first of them raised, NotFound or CannotCall, is raised.
    """
    waiting = list(endpoints)
    running: dict[asyncio.Task[T | Obstacle], Endpoint] = {}
    failed: dict[Endpoint, Obstacle | LbctlError] = {}
    try:
        while waiting or running:
            if waiting and _may_go_on(len(running), failed.values()):
                endpoint = waiting.pop(0)
                running[asyncio.ensure_future(ask(endpoint))] = endpoint
            elif not running:
                break
            patience = STAGGER_S if waiting else None
            done, _ = await asyncio.wait(running, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                endpoint, answer = running.pop(task), _answer(task)
                if not isinstance(answer, Obstacle | LbctlError):
                    return answer
                failed[endpoint] = answer
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
    return _obstacles({endpoint: failed[endpoint] for endpoint in endpoints if endpoint in failed})


def _answer(task: asyncio.Task[T | Obstacle]) -> T | Obstacle | LbctlError:
    """What came of a question; that a backend does not have what is wanted is an answer, too."""
    try:
        return task.result()
    except (NotFound, CannotCall) as lacking:
        return lacking


def _may_go_on(running: int, failed: Collection[Obstacle | LbctlError]) -> bool:
    """Whether one more may be asked."""
    obstacles = [each for each in failed if isinstance(each, Obstacle)]
    refused = sum(each.kind is Kind.REFUSED for each in obstacles)
    slow = sum(each.kind not in (Kind.REFUSED, Kind.UNIMPLEMENTED) for each in obstacles)
    return running + slow < MAX_BACKENDS and running + len(failed) - refused < MAX_ANSWERS


def _obstacles(failed: Mapping[Endpoint, Obstacle | LbctlError]) -> Obstacles:
    lacking = next((each for each in failed.values() if isinstance(each, LbctlError)), None)
    if lacking is not None:
        raise lacking
    return {endpoint: each for endpoint, each in failed.items() if isinstance(each, Obstacle)}


async def conversing(
    endpoint: Endpoint,
    access: Access,
    work: Callable[[Conversation], Awaitable[T]],
    *,
    timeout_s: float,
    versions: Versions,
) -> T | Obstacle:
    """Have a conversation with one backend, and return what came of it, or why it cannot be had.

    It can be gone on with when this is over: further questions have connections of their own. Raises what the work
    does.
    """
    access = roomy(access)
    async with access.caller(endpoint) as caller:
        ask = asking(caller, access, timeout_s)
        obstacle = await connect(caller, endpoint, access.secure, timeout_s)
        if obstacle is not None:
            return obstacle
        try:
            talk = await converse(ask, versions.get(endpoint))
            versions[endpoint] = talk.protocol
            found = await work(talk)
        except ReflectionFailed as error:
            return silent(timeout_s) if is_late(error.reply) else declined(error.reply)
    talk.goes_on(asking_anew(endpoint, access, timeout_s))
    return found


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


def nobody(obstacles: Obstacles, known: int, service: str, advice: str) -> CannotCall:
    """Say why none of the backends could be asked, of so many that are ``known``."""
    kinds = {obstacle.kind for obstacle in obstacles.values()}
    answered = Kind.UNIMPLEMENTED in kinds
    many = "answers gRPC server reflection" if answered else "can be asked for its methods"
    single = "does not answer gRPC server reflection" if answered else "cannot be asked for its methods"
    reasons = listed(obstacles)
    tried = len(obstacles)
    which = f"the {tried} backends" if tried == known else f"the {tried} backends tried (of {known})"
    none = f"none of {which} of {of(service)} {many}: {reasons}"
    one = f"the only backend of {of(service)} {single}: {reasons}"
    return CannotCall(one if known == 1 else none, advice)


def of(service: str) -> str:
    """What errors call a service."""
    return f'"{service}"' if service else "this service"
