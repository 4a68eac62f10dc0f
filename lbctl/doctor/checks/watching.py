"""LB103: etcd lets itself be read, and not be watched."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from lbctl.doctor.case import Case
from lbctl.doctor.finding import Check, Level, Symptom
from lbctl.errors import RegistryError
from lbctl.etcd.glance import glance

_MOST: Final = 20  # folders that are tried one by one


async def examine(case: Case) -> Sequence[Symptom]:
    """Open a watch where clients have theirs, and close it again.

    Clients may be permitted less than the whole: only a folder of services that is refused is a fault.
    """
    folders = _folders(case)
    whole = folders[0] if len(folders) == 1 else case.order.prefix or ""
    refused = {whole: why} if (why := await _refusal(case, whole)) else {}
    if refused and whole not in folders:
        tried = folders[:_MOST]
        refused = {each: why for each in tried if (why := await _refusal(case, each))}
    return [_symptom(case, where, why, refused) for why, where in _first_of_each(refused.items())]


def _folders(case: Case) -> Sequence[str]:
    """Where the clients of the services watch; everywhere, where there are none."""
    return list(dict.fromkeys(each.prefix for each in case.services)) or [case.order.prefix or ""]


async def _refusal(case: Case, prefix: str) -> str:
    """Why a folder cannot be watched, or nothing."""
    try:
        async with glance(case.etcd, prefix.encode()):
            return ""
    except RegistryError as error:
        return str(error)


def _first_of_each(refused: Iterable[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    """Every reason once, with the first folder that it was given for."""
    firsts: dict[str, str] = {}
    for where, why in refused:
        firsts.setdefault(why, where)
    return firsts.items()


def _symptom(case: Case, where: str, why: str, refused: dict[str, str]) -> Symptom:
    more = sum(each == why for each in refused.values()) - 1
    what = f"{why} (and {more} more prefix{'es' if more > 1 else ''})" if more else why
    return Symptom(what, where, command=case.etcdctl("watch", "--prefix", where))


CHECK = Check(
    "LB103",
    "watch refused",
    Level.ERROR,
    why="Clients see the backends of when they started, and nothing that changed since.",
    fix="grant the role read access to the whole prefix; let proxies before etcd pass streams",
    examine=examine,
)
