"""The engines by name: what makes the transport that carries the calls of a run to one of its backends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Final

from lbctl.clock import Clock
from lbctl.load.plan import plaintext
from lbctl.model import Instance
from lbctl.rpc.dial import TCP, Network
from lbctl.rpc.link import Flusher
from lbctl.rpc.options import ConnectionOptions, Secure
from lbctl.rpc.subchannel import Subchannel
from lbctl.rpc.transport import Listener, Transport
from lbctl.wire.request import Request


@dataclass(frozen=True, slots=True)
class Dialling:
    """How backends are connected: the request each is sent, whether by TLS, and what all connections share."""

    request_for: Callable[[Instance], Request]
    flusher: Flusher
    clock: Clock
    rng: Random
    secure_for: Callable[[Instance], Secure | None] = plaintext
    options: ConnectionOptions = field(default_factory=ConnectionOptions)
    network: Network = TCP


Factory = Callable[[Instance, Listener, Dialling], Transport]


def wire(instance: Instance, listener: Listener, how: Dialling) -> Transport:
    """The own connection of lbctl."""
    return Subchannel(
        instance.endpoint,
        how.request_for(instance),
        listener,
        flusher=how.flusher,
        clock=how.clock,
        rng=how.rng,
        options=how.options,
        secure=how.secure_for(instance),
        network=how.network,
    )


def grpcio(instance: Instance, listener: Listener, how: Dialling) -> Transport:
    """Channels of grpcio, to compare with; its import takes long, and most runs do without."""
    from lbctl.rpc.grpcio.transport import GrpcTransport

    return GrpcTransport(
        instance.endpoint,
        how.request_for(instance),
        listener,
        flusher=how.flusher,
        clock=how.clock,
        options=how.options,
        secure=how.secure_for(instance),
    )


ENGINES: Final[Mapping[str, Factory]] = {"wire": wire, "grpcio": grpcio}
