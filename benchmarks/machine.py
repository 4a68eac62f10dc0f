"""Where a measurement ran: its cores, who has which, and the versions of what took part. No names of machines."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cores:
    """Which core each side has; None where the system cannot pin or has only one."""

    client: int | None
    server: int | None

    def __str__(self) -> str:
        if self.client is None:
            return "not pinned: one core, or a system that cannot"
        return f"server on core {self.server}, client on core {self.client}"


def share_out() -> Cores:
    """Give clients the first core, and the last one to servers and to this process, which mostly waits."""
    if not hasattr(os, "sched_setaffinity"):
        return Cores(None, None)
    have = sorted(os.sched_getaffinity(0))
    if len(have) < 2:
        return Cores(None, None)
    os.sched_setaffinity(0, {have[-1]})
    return Cores(have[0], have[-1])


def pin(cpu: int | None) -> Callable[[], None]:
    """Return what a child does after fork: stay on one core."""

    def prepare() -> None:
        if cpu is not None:
            os.sched_setaffinity(0, {cpu})

    return prepare


def description() -> dict[str, str]:
    """What a reader has to know to compare figures with those of another machine."""
    return {
        "cores": str(os.cpu_count()),
        "processor": _processor(),
        "kernel": f"{platform.system()} {platform.release()}",
        "load": f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "?",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as lines:
            fields = dict(line.split(":", 1) for line in lines if ":" in line)
    except OSError:
        return platform.machine()
    named = {key.strip(): value.strip() for key, value in fields.items()}
    virtual = ", virtual" if "hypervisor" in named.get("flags", "") else ""
    return f"{named.get('model name', platform.machine())}{virtual}"
