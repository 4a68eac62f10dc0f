"""The layouts in which demo backends register, each written by its own rule.

seed          /services/echo/127.0.0.1:50061   127.0.0.1:50061|5
etcd-naming   echo/127.0.0.1:50061             {"Op":0,"Addr":"127.0.0.1:50061","Metadata":{"weight":5}}
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import NamedTuple

from lbctl.model import Endpoint


class Registration(NamedTuple):
    """One key and its value, as they go into etcd."""

    key: bytes
    value: bytes


def _seed(service: str, endpoint: Endpoint, weight: int) -> Registration:
    return Registration(f"/services/{service}/{endpoint}".encode(), f"{endpoint}|{weight}".encode())


def _etcd_naming(service: str, endpoint: Endpoint, weight: int) -> Registration:
    # Op 0 is "add"; the layout has no weight of its own, so it travels in the free-form metadata.
    value = {"Op": 0, "Addr": str(endpoint), "Metadata": {"weight": weight}}
    return Registration(f"{service}/{endpoint}".encode(), json.dumps(value, separators=(",", ":")).encode())


LAYOUTS: dict[str, Callable[[str, Endpoint, int], Registration]] = {"seed": _seed, "etcd-naming": _etcd_naming}
