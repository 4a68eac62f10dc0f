"""Commands that measure: run on the fast loop, with an etcd or, where backends were named, without one."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from lbctl.cli.settings import Settings

if TYPE_CHECKING:
    from lbctl.etcd.client import Etcd

T = TypeVar("T")


def measured(settings: Settings, work: Callable[[Etcd | None], Coroutine[Any, Any, T]], *, direct: bool) -> T:
    """Run ``work`` to its end with an etcd as the settings have it; where ``direct``, none is asked."""
    from lbctl.cli.loop import run_fast

    if direct:
        return run_fast(work(None))
    from lbctl.cli.registry import etcd_config
    from lbctl.etcd.client import Etcd

    config = etcd_config(settings)

    async def with_etcd() -> T:
        async with Etcd(config) as etcd:
            return await work(etcd)

    return run_fast(with_etcd())
