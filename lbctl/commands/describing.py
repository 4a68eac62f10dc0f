"""Whoever describes methods and messages: files, one backend of a service, or all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from lbctl.commands.called_service import called_service
from lbctl.commands.named_backend import named_backend
from lbctl.commands.rewriting import Where
from lbctl.discovery.backends import distinct
from lbctl.model import Endpoint, Instance, Service

if TYPE_CHECKING:
    from lbctl.etcd.client import Etcd
    from lbctl.rpc.access import Access
    from lbctl.rpc.obstacle import Obstacle
    from lbctl.rpc.schemas.described_files import DescribedFiles
    from lbctl.rpc.schemas.source import Source

_AT_ONCE: Final = 32
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Asked:
    """Who is to describe: the ``schema`` of files, else the backends that are ``given``, else those of the service.

    ``backend`` names the only one of these that is asked.
    """

    where: Where
    access_for: Callable[[Instance], Access]
    given: tuple[Instance, ...] = ()
    schema: DescribedFiles | None = field(default=None, repr=False)
    backend: str | None = None
    timeout_s: float = 3.0

    @property
    def needs_registry(self) -> bool:
        """Whether etcd has to be asked who there is."""
        return self.schema is None and not self.given


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """What came of asking, and who answered: None where that were files."""

    found: T
    service: str
    backend: Endpoint | None


async def ask_one(etcd: Etcd | None, asked: Asked, work: Callable[[Source], Awaitable[T]]) -> Answer[T]:
    """Have the files, or the first backend that answers, do the work.

    Raises NotFound for a service or backend that is not there, CannotCall where none answers, RegistryError, and what
    the work does.
    """
    if asked.schema is not None:
        return Answer(await work(asked.schema), "", None)
    from lbctl.rpc.obstacle import hint
    from lbctl.rpc.schemas.asking import Versions, conversing, first_of, nobody

    service = await _service(etcd, asked)
    backends = {each.endpoint: each for each in _chosen(service, asked)}
    versions: Versions = {}

    async def ask(endpoint: Endpoint) -> tuple[T, Endpoint] | Obstacle:
        async def told(source: Source) -> tuple[T, Endpoint]:
            return await work(source), endpoint

        access = asked.access_for(backends[endpoint])
        return await conversing(endpoint, access, told, timeout_s=asked.timeout_s, versions=versions)

    answer = await first_of(list(backends), ask)
    if isinstance(answer, tuple):
        return Answer(answer[0], service.name, answer[1])
    advice = hint(answer.values(), asked.where.service, registered=bool(service.prefix), again=asked.where.again)
    raise nobody(answer, len(backends), service.name, advice)


async def ask_all(
    etcd: Etcd | None, asked: Asked, work: Callable[[Source], Awaitable[T]]
) -> tuple[str, dict[Endpoint, T | Obstacle]]:
    """Have every backend do the work; returns the name of the service, and what came of it.

    Raises as ``ask_one`` does, CannotCall only where none of all can be asked.
    """
    from lbctl.rpc.obstacle import Obstacle, hint
    from lbctl.rpc.schemas.asking import Versions, conversing, nobody

    service = await _service(etcd, asked)
    backends = {each.endpoint: each for each in _chosen(service, asked)}
    versions: Versions = {}
    turn = asyncio.Semaphore(_AT_ONCE)

    async def ask(endpoint: Endpoint) -> T | Obstacle:
        async with turn:
            access = asked.access_for(backends[endpoint])
            return await conversing(endpoint, access, work, timeout_s=asked.timeout_s, versions=versions)

    answers = dict(zip(backends, await asyncio.gather(*map(ask, backends)), strict=True))
    obstacles = {endpoint: each for endpoint, each in answers.items() if isinstance(each, Obstacle)}
    if len(obstacles) == len(answers):
        advice = hint(obstacles.values(), asked.where.service, registered=bool(service.prefix), again=asked.where.again)
        raise nobody(obstacles, len(backends), service.name, advice)
    return service.name, answers


async def _service(etcd: Etcd | None, asked: Asked) -> Service:
    return await called_service(None if asked.given else etcd, asked.where, asked.given)


def _chosen(service: Service, asked: Asked) -> Sequence[Instance]:
    """The backends to ask, an address once."""
    if asked.backend is None:
        return distinct(service.instances)
    return [named_backend(service, asked.backend)]
