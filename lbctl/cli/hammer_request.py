"""From what was typed after ``lbctl hammer`` to the request that runs; nothing is sent before it is whole."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import SystemRandom
from typing import Final

from lbctl.balance.policies.table import GRPC_POLICIES
from lbctl.cli import suggestions
from lbctl.cli.connection_options import DEFAULT_ENGINE, ConnectionFlags
from lbctl.cli.guard_options import GuardFlags, guards_of
from lbctl.cli.hammer_options import LoadFlags
from lbctl.cli.hash_key_options import HashKeyFlags, source_for
from lbctl.cli.metadata import first_variable
from lbctl.cli.pacing_options import PacingFlags
from lbctl.cli.pacing_schedule import schedule_of
from lbctl.cli.policy_options import chosen
from lbctl.cli.read_only import refusal
from lbctl.cli.request_data_options import DataFlags
from lbctl.cli.request_options import RequestFlags, StreamFlags
from lbctl.cli.request_payload import payload_of
from lbctl.cli.retry_options import RetryFlags, balanced, configured
from lbctl.cli.schema_options import SchemaFlags, source_of
from lbctl.cli.service_guards import guarded
from lbctl.cli.settings import Settings
from lbctl.commands.calling import Streaming
from lbctl.commands.hammer import Hammer
from lbctl.errors import UsageError
from lbctl.load.plan import MAX_OUTSTANDING, Plan
from lbctl.load.requests.given import Order
from lbctl.model import Endpoint, Instance
from lbctl.rpc.options import ConnectionOptions
from lbctl.wire.limits import MAX_MESSAGE, OWN_STREAM_LIMIT, Limits

DEFAULT_REQUESTS: Final = 1000
DEFAULT_CONCURRENCY: Final = 50
DEFAULT_TIMEOUT_S: Final = 20.0
DEFAULT_GRACE_S: Final = 5.0
_SEEDS: Final = 1 << 31

Weighted = Sequence[tuple[Endpoint, int]]


def split_target(
    service: str | None, method: str | None, *, direct: bool, look: str, command: str = "hammer"
) -> tuple[str, str | None]:
    """SERVICE and METHOD. With ``--backends`` a lone ``package.Service/Method`` is a method; it names the service.

    ``look`` is the command that shows which services there are.
    """
    if service is None:
        if not direct:
            raise UsageError(f"{command} needs a SERVICE", f"see what there is: {look}")
        return "backends", None
    if method is None and direct and "/" in service:
        return service.strip("/").partition("/")[0], service
    return service, method


@dataclass(frozen=True, slots=True)
class Asked:
    """What was typed about a run, by the groups that the options come in."""

    load: LoadFlags
    request: RequestFlags
    stream: StreamFlags = field(default_factory=StreamFlags)
    connection: ConnectionFlags = field(default_factory=ConnectionFlags)
    hash_keys: HashKeyFlags = field(default_factory=HashKeyFlags)
    again: RetryFlags = field(default_factory=RetryFlags)
    guards: GuardFlags = field(default_factory=GuardFlags)
    pacing: PacingFlags = field(default_factory=PacingFlags)
    data: DataFlags = field(default_factory=DataFlags)
    schema: SchemaFlags = field(default_factory=SchemaFlags)


def build(service: str, method: str | None, asked: Asked, settings: Settings, environ: Mapping[str, str]) -> Hammer:
    """The whole request, every default in its place. Raises UsageError for options that contradict each other."""
    load, request, connection, data = asked.load, asked.request, asked.connection, asked.data
    if data.mix is not None and method is not None:
        raise UsageError(f"--mix names the methods, and {method} is one more", "leave METHOD out, or add it to the mix")
    plan = _plan(load, asked.pacing, request, once=data.data_order == Order.ONCE)
    repeating = configured(asked.again, timeout_given=request.timeout is not None)
    found = balanced(repeating.config, load.policy, settings.policy)
    policy = chosen(found.policy, load.policy_opt, settings)
    around = guarded(asked.guards, repeating.config, policy, balanced=load.policy is None)
    explain = load.explain_call or int(load.explain)
    if explain and policy.name in GRPC_POLICIES:
        raise UsageError("--explain: gRPC's own balancers do not tell why", "name one of lbctl's: lbctl policies")
    return Hammer(
        service=service,
        method=method,
        policy=policy,
        hash_key=source_for(policy, asked.hash_keys.hash_key),
        plan=plan,
        seed=SystemRandom().randrange(_SEEDS) if load.seed is None else load.seed,
        payload=payload_of(request, data, streaming_of(asked.stream, plan.timeout_s), environ),
        reach=settings.reach,
        connection=_connection(connection, settings.reach.connect_timeout_s),
        engine=connection.engine or DEFAULT_ENGINE,
        retry=not connection.no_retry,
        backends=given(service, connection.backends or ()),
        prefix=settings.prefix,
        layout=settings.layout,
        named_by=settings.service_from,
        grace_s=DEFAULT_GRACE_S if load.grace is None else load.grace,
        explain=explain,
        repeating=repeating,
        guards=guards_of(around.flags, policy, settings.health_check),
        notes=(*found.notes, *around.notes, *_capped(load, plan)),
        limits=settings.limits,
        read_only=refusal(settings),
        again=suggestions.again(settings),
        schema=source_of(asked.schema),
    )


def _plan(load: LoadFlags, pacing: PacingFlags, request: RequestFlags, *, once: bool = False) -> Plan:
    """How much load. ``-z`` alone, a schedule that ends, or requests that do mean no limit on the number of calls."""
    limits = [seconds for seconds in (load.duration, pacing.max_duration) if seconds is not None]
    schedule = schedule_of(pacing, load.rps or None, min(limits, default=None))
    ends = schedule is not None and schedule.seconds < math.inf
    bounded = load.duration is not None or ends or once
    requests = DEFAULT_REQUESTS if load.requests is None and not bounded else load.requests
    if schedule is None:
        if load.max_outstanding is not None:
            raise UsageError("--max-outstanding is for an open loop", "give a rate too: -r 500")
        concurrency = DEFAULT_CONCURRENCY if load.concurrency is None else load.concurrency
        # More in flight than there are calls would only be a number.
        concurrency = concurrency if requests is None else min(concurrency, requests)
    else:
        concurrency = load.concurrency or 0
        if schedule.times_ns is not None:
            requests = min(requests or sys.maxsize, len(schedule.times_ns))
        elif ends:
            limits.append(schedule.seconds)
    return Plan(
        concurrency=concurrency,
        requests=requests,
        duration_s=min(limits, default=None),
        timeout_s=DEFAULT_TIMEOUT_S if request.timeout is None else request.timeout,
        schedule=schedule,
        max_outstanding=load.max_outstanding or MAX_OUTSTANDING,
        warmup=pacing.warmup,
    )


def _capped(load: LoadFlags, plan: Plan) -> Iterator[str]:
    """Fewer calls than were to be in flight."""
    if plan.schedule is None and load.concurrency is not None and plan.concurrency < load.concurrency:
        yield f"-c {load.concurrency} is more than there are calls: {plan.concurrency} are in flight"


def slips(request: RequestFlags, data: DataFlags) -> Iterator[str]:
    """What was said of metadata and will hardly be what was meant, a sentence each."""
    pairs = (*(request.metadata or ()), *(request.header or ()))
    named = {name for name, _ in (*pairs, *(data.metadata_from or ()))}
    for name in request.sensitive or ():
        if name not in named and data.mix is None:
            yield f"--sensitive {name}: no metadata of that name is sent"
    for name, value in pairs:
        variable = None if request.expand_headers else first_variable(value)
        if variable:
            yield f"metadata {name} is sent with {variable} as it stands; --expand-headers replaces it"


def streaming_of(flags: StreamFlags, timeout_s: float) -> Streaming:
    """What was said of streams; a stream that must outlive its deadline is refused."""
    if flags.stream_messages == 0 and flags.stream_duration is None:
        raise UsageError("--stream-messages 0 sends messages until --stream-duration, which is missing")
    lasts, flag = flags.stream_duration or 0.0, "--stream-duration"
    if flags.stream_duration is None and flags.stream_messages is not None:
        lasts, flag = (flags.stream_messages - 1) * (flags.stream_interval or 0.0), "--stream-messages"
    if 0 < timeout_s <= lasts:
        raise UsageError(
            f"{flag}: a stream that lasts {lasts:g}s does not end before its deadline, -t {timeout_s:g}s",
            "give -t 0 for no deadline, or a longer one",
        )
    return Streaming(
        flag=flags.any_given or "",
        kind=flags.stream,
        messages=flags.stream_messages,
        interval_s=flags.stream_interval or 0.0,
        limit=flags.stream_limit or 0,
        duration_s=flags.stream_duration or 0.0,
    )


def _connection(flags: ConnectionFlags, connect_timeout_s: float) -> ConnectionOptions:
    return ConnectionOptions(
        connections=flags.connections or 1,
        connect_timeout_s=connect_timeout_s,
        keepalive_s=flags.keepalive or 0.0,
        limits=Limits(
            max_streams=flags.max_streams or OWN_STREAM_LIMIT,
            max_requests=flags.max_requests_per_conn or 0,
            max_message=flags.max_msg_size or MAX_MESSAGE,
            reset_late=not flags.no_rst,
        ),
    )


def given(service: str, backends: Weighted) -> tuple[Instance, ...]:
    """The backends that ``--backends`` names, as instances of a service."""
    return tuple(
        Instance(key=str(endpoint), service=service, layout="backends", endpoint=endpoint, weight=weight)
        for endpoint, weight in backends
    )
