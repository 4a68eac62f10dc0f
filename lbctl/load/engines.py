"""The engines by name: what makes the transport that carries the calls of a run to one of its backends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Final, cast

from lbctl.balance.policies.table import GRPC_POLICIES
from lbctl.clock import Clock
from lbctl.errors import UsageError
from lbctl.load.plan import plaintext
from lbctl.model import Instance
from lbctl.rpc.dial import TCP, Network
from lbctl.rpc.link import Flusher
from lbctl.rpc.options import ConnectionOptions, Secure
from lbctl.rpc.pool import pooled
from lbctl.rpc.subchannel import Subchannel
from lbctl.rpc.transport import Listener, Transport
from lbctl.wire.request import Request

if TYPE_CHECKING:
    from lbctl.rpc.grpcio.member import Seeing


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
    keep_messages: bool = False
    bases_for: Callable[[Instance], Sequence[Request]] | None = None  # where calls differ: one for each method


Factory = Callable[[Instance, Listener, Dialling], Transport]
Renewed = Callable[[str], None]  # told, in words, that a balancer which is not ours has begun anew


def wire(instance: Instance, listener: Listener, how: Dialling) -> Transport:
    """The own connections of lbctl."""
    make = partial(
        Subchannel,
        instance.endpoint,
        how.request_for(instance),
        flusher=how.flusher,
        clock=how.clock,
        rng=how.rng,
        options=how.options,
        secure=how.secure_for(instance),
        network=how.network,
        keep_messages=how.keep_messages,
    )
    return pooled(how.options.connections, make, listener)


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
        keep_messages=how.keep_messages,
    )


def shared(policy: str, peer: object, listener: Listener, how: Dialling, renewed: Renewed) -> tuple[Transport, Factory]:
    """One channel of grpcio over all backends, where gRPC picks, and what makes the backends behind it.

    ``peer`` is what pickers return for it, ``listener`` is told of the calls that are seen at no backend.
    """
    from lbctl.rpc.grpcio.member import Member
    from lbctl.rpc.grpcio.shared import SharedChannel

    channel = SharedChannel(
        policy,
        peer=peer,
        listener=listener,
        flusher=how.flusher,
        clock=how.clock,
        options=how.options,
        network=how.network,
        renewed=renewed,
        keep_messages=how.keep_messages,
    )

    def member(instance: Instance, one: Listener, how: Dialling) -> Transport:
        seeing = cast("Seeing", one)
        return Member(channel, instance.endpoint, how.request_for(instance), seeing, how.secure_for(instance))

    return channel, member


def remarks(policy: str, engine: str) -> Iterator[str]:
    """What the figures of such a run cannot tell."""
    if engine == "grpcio":
        yield "grpcio does not tell when a call is written: a call counts as written when it is handed over"
    if policy in GRPC_POLICIES:
        yield "calls pass a tap of lbctl on their way to a backend: latencies include it"


async def require(policy: str, engine: str, *, trailers: bool = False) -> None:
    """Raise UsageError unless the engine can pick by this policy, or leave the picking to it.

    ``trailers``: it goes by load reports in the trailers of calls, which grpcio keeps for its own balancers.
    """
    if trailers and engine == "grpcio":
        hint = f"--policy grpc:{policy}, --engine wire, or --policy-opt enable-oob-load-report=true"
        raise UsageError(f"--engine grpcio does not hand over the load reports that --policy {policy} goes by", hint)
    if policy not in GRPC_POLICIES:
        return
    if engine != "grpcio":
        raise UsageError(f"--policy {policy} is gRPC's own balancer", f"--engine grpcio --policy {policy}")
    from lbctl.rpc.grpcio.policies import require as grpcio_takes

    await grpcio_takes(policy)


ENGINES: Final[Mapping[str, Factory]] = {"wire": wire, "grpcio": grpcio}
