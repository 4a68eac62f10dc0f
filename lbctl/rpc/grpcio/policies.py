"""gRPC's own balancers: what service config each one takes, and whether this grpcio really has it."""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final

import grpc
import grpc.aio

from lbctl.errors import UsageError
from lbctl.rpc.grpcio.tap import HEADER
from lbctl.rpc.transport import Connectivity

_TRIAL_S: Final = 0.5
# Without it gRPC ignores which header to hash, and has no other source of a hash outside of xDS.
_HASH_KEY_SWITCH: Final = "GRPC_EXPERIMENTAL_RING_HASH_SET_REQUEST_HASH_KEY"


@dataclass(frozen=True, slots=True)
class LbPolicy:
    """One of gRPC's balancers. ``eager``: it connects to every backend, not only to those it picks."""

    name: str  # in service configs
    config: dict[str, Any]
    eager: bool
    lazy_pick: bool = False  # an idle backend is picked, and connected to then
    switch: str = ""  # an environment variable it depends on
    goes_by: bytes = b""  # a field of replies, without which it is a round robin

    def service_config(self) -> str:
        """The service config that asks for it, as JSON."""
        return json.dumps({"loadBalancingConfig": [{self.name: self.config}]})

    def state_of(self, tap: Connectivity, reason: str) -> tuple[Connectivity, str]:
        """The state of a backend and the reason for it, by what its tap says."""
        if self.lazy_pick and tap in (Connectivity.IDLE, Connectivity.CONNECTING):
            return Connectivity.READY, ""  # gRPC picks it, and connects then
        if tap is Connectivity.IDLE and self.eager and reason:
            return Connectivity.CONNECTING, reason  # at once
        return tap, reason

    def turn_on(self) -> None:
        """Set the switch, before a channel is made."""
        if self.switch:
            os.environ.setdefault(self.switch, "true")


LB_POLICIES: Final = {
    "grpc:round_robin": LbPolicy("round_robin", {}, eager=True),
    "grpc:pick_first": LbPolicy("pick_first", {}, eager=False),
    "grpc:weighted_round_robin": LbPolicy("weighted_round_robin", {}, eager=True, goes_by=b"endpoint-load-metrics-bin"),
    "grpc:ring_hash": LbPolicy(
        "ring_hash_experimental",
        {"requestHashHeader": HEADER},
        eager=False,
        lazy_pick=True,
        switch=_HASH_KEY_SWITCH,
    ),
}


async def require(name: str, policies: Mapping[str, LbPolicy] = LB_POLICIES) -> None:
    """Raise UsageError unless this grpcio takes the policy, found out by making a call that goes nowhere."""
    policy = policies[name]
    policy.turn_on()
    with closing(socket.socket()) as nobody:
        nobody.bind(("127.0.0.1", 0))  # bound and not listening: every connection is refused
        address = f"ipv4:127.0.0.1:{nobody.getsockname()[1]}"
        options = [("grpc.service_config", policy.service_config()), ("grpc.use_local_subchannel_pool", 1)]
        async with grpc.aio.insecure_channel(address, options=options) as channel:
            try:
                await channel.unary_unary("/lbctl/Trial", None, None)(b"", timeout=_TRIAL_S, metadata=((HEADER, "0"),))
            except grpc.aio.AioRpcError as error:
                code, said = error.code(), error.details() or ""
    if code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED):
        return
    words = re.sub(r".*service config: \[field:loadBalancingConfig error:(.*)\]$", r"\1", said)
    raise UsageError(f"grpcio {grpc.__version__} does not take the policy {name}: {words}")
