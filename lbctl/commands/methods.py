"""``lbctl methods``: the methods that a service offers, as one backend or files tell, or as each backend does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lbctl.commands.describing import Asked, ask_all, ask_one
from lbctl.etcd.client import Etcd

if TYPE_CHECKING:
    from lbctl.model import Endpoint
    from lbctl.rpc.obstacle import Obstacle
    from lbctl.rpc.schemas.catalogue import Catalogue
    from lbctl.rpc.schemas.offering import Offered, Teller
    from lbctl.rpc.schemas.source import Source


@dataclass(frozen=True, slots=True)
class Methods:
    """What to list: the methods like ``pattern``, "" for all but gRPC's own; of ``every`` backend or of the first."""

    asked: Asked
    pattern: str = ""
    every: bool = False


async def run(etcd: Etcd | None, request: Methods) -> Offered:
    """List the methods.

    Raises NotFound for a service that is not there and where no method is like the pattern, CannotCall where no backend
    tells, RegistryError.
    """
    return await (_of_every(etcd, request) if request.every else _of_one(etcd, request))


async def _of_one(etcd: Etcd | None, request: Methods) -> Offered:
    from lbctl.rpc.schemas.catalogue import catalogue
    from lbctl.rpc.schemas.offering import Offered, Row, Teller, like

    answer = await ask_one(etcd, request.asked, catalogue)
    told, schema = answer.found, request.asked.schema
    origin = schema.origin if schema is not None else ""
    methods, hidden = like(told.methods, request.pattern, origin or answer.service)
    who = () if answer.backend is None else (str(answer.backend),)
    tellers = tuple(Teller(address, told.protocol, undescribed=told.undescribed) for address in who)
    rows = tuple(Row(method, who) for method in methods)
    return Offered(answer.service, rows, tellers, hidden=hidden, undescribed=told.undescribed, origin=origin)


async def _of_every(etcd: Etcd | None, request: Methods) -> Offered:
    from lbctl.rpc.obstacle import Obstacle
    from lbctl.rpc.schemas.catalogue import catalogue
    from lbctl.rpc.schemas.differences import differences
    from lbctl.rpc.schemas.offering import Offered, Row, like

    async def whole(source: Source) -> Catalogue:
        return await catalogue(source, whole=True)

    service, answers = await ask_all(etcd, request.asked, whole)
    told = {str(endpoint): each for endpoint, each in answers.items() if not isinstance(each, Obstacle)}
    everything = {method.full_name: method for each in told.values() for method in each.methods}
    methods, hidden = like(everything.values(), request.pattern, service)
    names = [method.full_name for method in methods]
    offering = {address: {method.full_name for method in each.methods} for address, each in told.items()}
    rows = tuple(Row(each, tuple(who for who, has in offering.items() if each.full_name in has)) for each in methods)
    undescribed = dict.fromkeys(name for each in told.values() for name in each.undescribed)
    return Offered(
        service, rows, tuple(_tellers(answers)), differences(told, names), hidden, undescribed=tuple(undescribed)
    )


def _tellers(answers: Mapping[Endpoint, Catalogue | Obstacle]) -> Iterator[Teller]:
    from lbctl.rpc.obstacle import Obstacle
    from lbctl.rpc.schemas.offering import Teller

    for endpoint, each in answers.items():
        if isinstance(each, Obstacle):
            yield Teller(str(endpoint), None, each.text)
        else:
            yield Teller(str(endpoint), each.protocol, undescribed=each.undescribed)
