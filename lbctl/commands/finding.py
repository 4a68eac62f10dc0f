"""The calls that a run makes: the methods that were meant, found by reflection or in files that describe them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from lbctl.commands.calling import Calling, described, described_in_mix, mix_of, undescribed
from lbctl.load.requests.given import Written

if TYPE_CHECKING:
    from lbctl.commands.calling import Payload
    from lbctl.commands.hammer import Hammer, Tell
    from lbctl.commands.reach import Reaching
    from lbctl.model import Service
    from lbctl.rpc.schemas.asking import Versions
    from lbctl.rpc.schemas.reflection import Found

_SCHEMA_TIMEOUT_S: Final = 3.0


class Meant(NamedTuple):
    """The call, and who described its method: ``v1``, ``v1alpha``, ``builtin``, ``files``, "" for nobody."""

    calling: Calling
    described_by: str = ""


async def meant(request: Hammer, service: Service, reaching: Reaching, tell: Tell) -> Meant:
    """Find the call of the method that was meant, or of each method of a mix; raises what ``load_method`` does."""
    versions: Versions = {}
    if not request.payload.mix:
        calling = _undescribed(request, request.payload, request.method)
        if calling is not None:
            return Meant(calling)
        found = await _found(request, request.method, service, reaching, tell, versions)
        await learn(found, request.payload)
        return Meant(described(request.payload, found.method), found.protocol)
    parts, who = [], []
    for share in request.payload.mix:
        calling = _undescribed(request, share.payload, share.method)
        if calling is None:
            found = await _found(request, share.method, service, reaching, tell, versions)
            await learn(found, share.payload)
            calling = described_in_mix(share, found.method)
            who.append(found.protocol)
        parts.append((share, calling))
    return Meant(mix_of(parts), ", ".join(dict.fromkeys(who)))


def _undescribed(request: Hammer, payload: Payload, method: str | None) -> Calling | None:
    """The call that needs no description; files that were given are used all the same: they tell what streams."""
    return None if request.schema is not None else undescribed(payload, method)


async def _found(
    request: Hammer, name: str | None, service: Service, reaching: Reaching, tell: Tell, versions: Versions
) -> Found:
    """What files or a backend say of a method of this name."""
    from lbctl.rpc.schemas.reflection import load_method

    instances = {instance.endpoint: instance for instance in reversed(service.instances)}
    found = await load_method(
        list(dict.fromkeys(instance.endpoint for instance in service.instances)),
        name,
        timeout_s=_SCHEMA_TIMEOUT_S,
        service=service.name,
        registered=bool(service.prefix),
        access_for=lambda endpoint: reaching.access(instances[endpoint]),
        named=request.service,
        again=request.again,
        source=request.schema,
        versions=versions,
    )
    if found.note:
        tell.note(found.note)
    return found


async def learn(found: Found, payload: Payload) -> None:
    """Have the types described that requests and checks name and the method's own files do not define."""
    from lbctl.rpc.messages.resolver import names_in_check, names_in_text, resolver_of

    names = names_in_text(_written(payload)) | names_in_check(payload.check or "")
    if names:
        await resolver_of(found.source, found.method).learn(names)


def _written(payload: Payload) -> Iterator[str]:
    """The JSON of requests, in pieces."""
    given = payload.given
    if payload.data is not None:
        yield payload.data
    if given.file is not None and given.written is not Written.SERIES:
        yield from (chunk.decode("latin-1") for chunk in given.file.chunks())  # names are ASCII
