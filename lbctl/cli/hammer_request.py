"""From what was typed after ``lbctl hammer`` to the request that runs; nothing is sent before it is whole."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from random import SystemRandom
from typing import Final

from lbctl.commands.hammer import Hammer
from lbctl.errors import UsageError
from lbctl.load.plan import Plan
from lbctl.model import Endpoint, Instance

DEFAULT_REQUESTS: Final = 1000
DEFAULT_CONCURRENCY: Final = 50
DEFAULT_TIMEOUT_S: Final = 20.0
DEFAULT_CONNECT_TIMEOUT_S: Final = 10.0
DEFAULT_GRACE_S: Final = 5.0
_SEEDS: Final = 1 << 31

Weighted = Sequence[tuple[Endpoint, int]]


def split_target(service: str | None, method: str | None, *, direct: bool) -> tuple[str, str | None]:
    """SERVICE and METHOD. With ``--backends`` a lone ``package.Service/Method`` is a method; it names the service."""
    if service is None:
        if not direct:
            raise UsageError("hammer needs a SERVICE", "see what there is: lbctl ls")
        return "backends", None
    if method is None and direct and "/" in service:
        return service.strip("/").partition("/")[0], service
    return service, method


def read_data(spec: str | None) -> tuple[str | None, str]:
    """The JSON text of ``-d`` and what to call it in errors: as given, from ``@FILE``, or from standard input."""
    if spec is None or not spec.startswith("@"):
        return spec, "request"
    name = "standard input" if spec in ("@", "@-") else spec[1:]
    try:
        # Bytes: how Python decodes its own streams depends on the locale, and JSON is UTF-8.
        raw = Path(name).read_bytes() if name == spec[1:] else _standard_input()
        return raw.decode("utf-8-sig"), name
    except OSError as error:
        raise UsageError(f"-d: cannot read {name}: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"-d: {name} is not UTF-8 text (byte {error.start})") from None


def _standard_input() -> bytes:
    if sys.stdin is None:
        raise UsageError("-d: standard input is closed", "give the message itself, or @FILE")
    return sys.stdin.buffer.read()


def read_binary(path: Path | None, *, with_data: bool) -> bytes | None:
    """The bytes of ``--binary-file``, which may be none at all."""
    if path is None:
        return None
    if with_data:
        raise UsageError("-d and --binary-file are two requests", "give one of them")
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"--binary-file: cannot read {path}: {(error.strerror or str(error)).lower()}") from None


def build(
    *,
    service: str,
    method: str | None,
    policy: str,
    requests: int | None,
    duration_s: float | None,
    concurrency: int | None,
    timeout_s: float | None,
    seed: int | None,
    data: str | None,
    source: str,
    raw: bytes | None,
    backends: Weighted | None,
    prefix: str | None,
    layout: str | None,
    authority: str | None,
    connect_timeout_s: float | None,
    grace_s: float | None,
) -> Hammer:
    """The request with every default in its place. ``-z`` alone means no limit on the number of calls."""
    if requests is None and duration_s is None:
        requests = DEFAULT_REQUESTS
    concurrency = DEFAULT_CONCURRENCY if concurrency is None else concurrency
    plan = Plan(
        # More in flight than there are calls would only be a number.
        concurrency=concurrency if requests is None else min(concurrency, requests),
        requests=requests,
        duration_s=duration_s,
        timeout_s=DEFAULT_TIMEOUT_S if timeout_s is None else timeout_s,
    )
    return Hammer(
        service=service,
        method=method,
        policy=policy,
        plan=plan,
        seed=SystemRandom().randrange(_SEEDS) if seed is None else seed,
        data=data,
        source=source,
        raw=raw,
        backends=_instances(service, backends or ()),
        prefix=prefix,
        layout=layout,
        authority=authority,
        connect_timeout_s=DEFAULT_CONNECT_TIMEOUT_S if connect_timeout_s is None else connect_timeout_s,
        grace_s=DEFAULT_GRACE_S if grace_s is None else grace_s,
    )


def _instances(service: str, backends: Weighted) -> tuple[Instance, ...]:
    return tuple(
        Instance(key=str(endpoint), service=service, layout="backends", endpoint=endpoint, weight=weight)
        for endpoint, weight in backends
    )
