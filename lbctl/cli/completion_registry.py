"""What etcd and backends say of services, within 300 ms in all, or from the cache.

``LBCTL_COMPLETION_TIMEOUT`` is another limit, for those who live far away.
"""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar

from lbctl import __version__
from lbctl.cli.addresses import parse_weighted_endpoints
from lbctl.cli.completion_cache import Cache
from lbctl.cli.completion_values import Typed, limit_s
from lbctl.cli.config import profile_names, read_config
from lbctl.cli.settings import Settings, resolve
from lbctl.clock import SystemClock
from lbctl.discovery.names import find
from lbctl.errors import LbctlError
from lbctl.model import Endpoint, Instance, Registry, Service
from lbctl.redaction import masked_text

MOST_ASKED: Final = 3  # backends, for what they offer

T = TypeVar("T")
Methods = tuple[tuple[str, str], ...]  # package.Service/Method, and what streams


class Budget:
    """The time that this press of Tab has for everything outside of this process."""

    def __init__(self, seconds: float) -> None:
        self._left_s = seconds

    def run(self, work: Coroutine[Any, Any, T]) -> T | None:
        """The result, or None where it is not there in time or the work failed."""
        begun = SystemClock.now_ns()
        try:
            return asyncio.run(asyncio.wait_for(work, max(self._left_s, 0.0)))
        except (LbctlError, TimeoutError, OSError):
            return None
        finally:
            self._left_s -= (SystemClock.now_ns() - begun) / 1e9


@functools.cache
def budget() -> Budget:
    """The one of this process: it answers one press."""
    return Budget(limit_s(os.environ))


def services_of(typed: Typed) -> tuple[Service, ...]:
    """The services that the command line would see; none where that cannot be told in time."""
    settings = _askable(typed)
    if settings is None:
        return ()
    cache, question = Cache(os.environ, SystemClock.wall()), _question(settings)
    kept = cache.get(question)
    if kept is None:
        found = _read_in_time(settings)
        if found is None:
            return ()
        kept = [_packed(each) for each in found]
        cache.put(question, kept)
    return tuple(map(_unpacked, kept))


def metadata_of(typed: Typed) -> list[Mapping[str, Any]]:
    """The metadata of every instance of the service that the first argument names, of all services without one.

    Etcd is asked each time: metadata is not kept.
    """
    settings = _askable(typed)
    services = _read_in_time(settings) if settings is not None else None
    if services is None:
        return []
    with suppress(LbctlError):
        found = [find(Registry(0, services), typed.arguments[0])] if typed.arguments else services
        return [each.metadata for service in found for each in service.instances]
    return []


def service_of(typed: Typed) -> Service | None:
    """The service that the first argument names, if it means one."""
    if not typed.arguments:
        return None
    with suppress(LbctlError):
        return find(Registry(0, services_of(typed)), typed.arguments[0])
    return None


def methods_of(typed: Typed) -> Methods:
    """The methods that the service's backends offer, or those of ``--backends``; none where nobody tells in time.

    Those that ``--protoset`` and ``--proto`` describe, where they are given.
    """
    return _of_demo() if typed.hosts else _told(typed, "methods")


def symbols_of(typed: Typed) -> Methods:
    """All that can be described, and what each is, by whoever is asked for methods."""
    return _of_demo() if typed.hosts else _told(typed, "symbols")


def _told(typed: Typed, what: str) -> Methods:
    if typed.options.get("protoset") or typed.options.get("proto"):
        from lbctl.cli.completion_files import given, told_by

        files = given(typed)
        return told_by(files, what, limit_s(os.environ)) if files is not None else ()
    settings, instances = settings_of(typed), _callable(typed)
    if settings is None or not instances:
        return ()
    cache = Cache(os.environ, SystemClock.wall())
    question = [
        what,
        __version__,
        str(settings.reach),
        [[each.service, each.address, each.secure] for each in instances],
    ]
    kept = cache.get(question)
    if kept is None:
        import lbctl.rpc.schemas.offers  # noqa: F401 - likewise

        kept = budget().run(_ask(instances, settings, what))
        if not kept:
            return ()
        cache.put(question, kept)
    return tuple((name, kind) for name, kind in kept)


def settings_of(typed: Typed) -> Settings | None:
    """The settings that the command line would have; None where they are wrong."""
    flags = _flags(typed)
    with suppress(LbctlError, OSError):
        file = read_config(flags, os.environ, Path.cwd())
        return replace(resolve(flags, os.environ, file.values), quiet=True)
    return None


def profiles_of(typed: Typed) -> list[str]:
    """The profiles that the settings files have; none where a file is wrong."""
    with suppress(LbctlError, OSError):
        return profile_names(_flags(typed), os.environ, Path.cwd())
    return []


def _flags(typed: Typed) -> dict[str, Any]:
    from lbctl.cli.options import shared_names

    flags: dict[str, Any] = {}
    for name in shared_names().intersection(typed.options):
        value = typed.options[name][-1]
        flags[name] = os.path.expandvars(value) if isinstance(value, str) else value
    return flags


def _askable(typed: Typed) -> Settings | None:
    """The settings to ask etcd with; None where there is none to ask."""
    settings = settings_of(typed)
    return settings if settings is not None and not typed.hosts and _may_log_in(settings) else None


def _read_in_time(settings: Settings) -> tuple[Service, ...] | None:
    import lbctl.discovery.directory
    import lbctl.etcd.client  # noqa: F401 - what imports take is not etcd's time

    return budget().run(_read(settings))


def _may_log_in(settings: Settings) -> bool:
    """Whether nobody has to be asked for a password, nor standard input for one."""
    if settings.user is None or ":" in settings.user:
        return True
    return settings.password_file != "-" and (settings.password_file or settings.secret) is not None


def _question(settings: Settings) -> list[object]:
    """All that decides what etcd answers, and no password."""
    user = settings.user.partition(":")[0] if settings.user else None
    where: Sequence[object] = (settings.tls, settings.cacert, settings.cert, settings.key)
    endpoints = [str(each) for each in settings.endpoints]
    return [
        "services",
        __version__,
        endpoints,
        settings.prefix,
        settings.layout,
        settings.service_from,
        user,
        str(where),
    ]


async def _read(settings: Settings) -> tuple[Service, ...]:
    from lbctl.cli.registry import etcd_config
    from lbctl.discovery.directory import read
    from lbctl.etcd.client import Etcd

    async with Etcd(etcd_config(settings)) as etcd:
        found = await read(etcd, settings.prefix, layout=settings.layout, named_by=settings.service_from)
    return tuple(each for each in found.services if settings.layout in (None, each.layout))


def _packed(service: Service) -> list[object]:
    """What is kept of a service: no metadata, and no key that holds a secret."""
    instances = [
        (
            each.key if masked_text(each.key) == each.key else each.address,
            *each.endpoint,
            each.weight,
            each.protocol,
            each.secure,
            each.status,
            each.create_revision,
        )
        for each in service.instances
    ]
    return [service.name, service.layout, service.prefix, instances]


def _unpacked(kept: Sequence[Any]) -> Service:
    name, layout, prefix, instances = kept
    return Service(
        name,
        layout,
        prefix,
        tuple(
            Instance(
                key,
                name,
                layout,
                Endpoint(host, port),
                weight=weight,
                protocol=protocol,
                secure=secure,
                status=status,
                create_revision=revision,
            )
            for key, host, port, weight, protocol, secure, status, revision in instances
        ),
    )


def named_backends(typed: Typed) -> list[Instance] | None:
    """Those of ``--backends``; None without it."""
    backends = typed.last("backends")
    if backends is None:
        return None
    with suppress(ValueError):
        return [
            Instance(str(endpoint), "backends", "backends", endpoint)
            for endpoint, _ in parse_weighted_endpoints(os.path.expandvars(backends))
        ]
    return []


def _callable(typed: Typed) -> list[Instance]:
    """Whom to ask for methods."""
    named = named_backends(typed)
    if named is not None:
        return named[:MOST_ASKED]
    service = service_of(typed)
    return [each for each in service.instances if each.speaks_grpc][:MOST_ASKED] if service is not None else []


async def _ask(instances: Iterable[Instance], settings: Settings, what: str) -> list[tuple[str, str]]:
    """The methods, or symbols, as the first backend has them that tells."""
    from lbctl.commands.reach import Reaching
    from lbctl.rpc.schemas.offers import described, symbols

    ask = symbols if what == "symbols" else described

    reaching = Reaching(settings.reach, discovered=settings.reach.authority is None)
    tasks = [
        asyncio.ensure_future(ask(each.endpoint, reaching.access(each), timeout_s=limit_s(os.environ)))
        for each in instances
    ]
    try:
        for answer in asyncio.as_completed(tasks):
            if (found := await answer) is not None:
                return found
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return []


def _of_demo() -> Methods:
    from lbctl.demo.protos import echo_pb2, math_pb2

    return tuple(
        (f"{service.full_name}/{method.name}", "")
        for file in (echo_pb2.DESCRIPTOR, math_pb2.DESCRIPTOR)
        for service in file.services_by_name.values()
        for method in service.methods
    )
