"""What the demo tells a backend process, and what it hears back: one JSON object a line, over the child's own pipes.

backend -> demo    {"port": 50061}           bound, not serving yet
demo -> backend    {"etcd": "127.0.0.1:42379", "weight": 5, ...}
backend -> demo    {"registered": ["/services/echo/127.0.0.1:50061"]}
demo -> backend    end of file: the demo is gone, so is the backend
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from lbctl.demo.latency import Latency, decode, encode


@dataclass(frozen=True, slots=True)
class BackendSpec:
    """What one backend serves and how it registers; the port is the backend's own choice."""

    etcd: str  # host:port
    services: tuple[str, ...]
    layout: str
    weight: int
    ttl_s: int
    latency: Latency
    error_rate: float  # 0..1
    seed: str
    orca: bool = False  # reports its load

    def to_line(self) -> bytes:
        """The spec as one line for the backend's standard input."""
        fields = asdict(self) | {"latency": encode(self.latency)}
        return json.dumps(fields).encode() + b"\n"


def spec_from_line(line: bytes) -> BackendSpec:
    """The spec that :meth:`BackendSpec.to_line` wrote."""
    fields: dict[str, Any] = json.loads(line)
    fields["services"] = tuple(fields["services"])
    fields["latency"] = decode(fields["latency"])
    return BackendSpec(**fields)
