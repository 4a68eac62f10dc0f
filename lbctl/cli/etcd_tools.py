"""What etcd's own tools have to be told of etcd, from the settings; never a password."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lbctl.cli.settings import Settings
from lbctl.doctor.etcd_tools import EtcdTools


def tools(settings: Settings, environ: Mapping[str, str]) -> EtcdTools:
    """Spell their command lines with the settings, wherever those are from: the tools know of variables at most."""
    flags = dict(_etcdctl(settings))
    names = ("endpoints", *(flag.removeprefix("--").replace("-", "_") for flag in flags))
    shadows = [name for each in names if environ.get(name := f"ETCDCTL_{each.upper()}")]
    told = tuple(f"{flag}={value}" if value else flag for flag, value in flags.items())
    return EtcdTools(told, tuple(_curl(settings)), tuple(shadows), settings.tls)


def _etcdctl(settings: Settings) -> Iterator[tuple[str, str]]:
    for flag, file in (("--cacert", settings.cacert), ("--cert", settings.cert), ("--key", settings.key)):
        if file is not None:
            yield flag, str(file)
    if settings.insecure_skip_tls_verify:
        yield "--insecure-skip-tls-verify", ""
    if settings.user is not None:
        yield "--user", settings.user.partition(":")[0]


def _curl(settings: Settings) -> Iterator[str]:
    if not settings.tls:
        return
    for flag, file in (("--cacert", settings.cacert), ("--cert", settings.cert), ("--key", settings.key)):
        if file is not None:
            yield from (flag, str(file))
    if settings.insecure_skip_tls_verify:
        yield "--insecure"
