"""``lbctl hammer``: find the backends, find the method, put the load on them, and return what was measured."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from lbctl.balance.guards.plan import GuardPlan
from lbctl.balance.keys import Source
from lbctl.balance.policies.base import Policy
from lbctl.balance.policies.table import GRPC_POLICIES
from lbctl.clock import Clock
from lbctl.commands.called_service import called_service, unusable
from lbctl.commands.calling import Calling, Payload
from lbctl.commands.caution import caution, hesitate
from lbctl.commands.error_limit import MAX_ERRORS, ErrorLimit, watched
from lbctl.commands.finding import meant
from lbctl.commands.following import backends_of, followed
from lbctl.commands.hash_keys import finder_of, follows, keys_of, one_key
from lbctl.commands.judging import Judge
from lbctl.commands.reach import Reach, Reaching, ready_for
from lbctl.commands.repeating import Configured
from lbctl.commands.rewriting import Where
from lbctl.commands.screen import Screen
from lbctl.commands.searching import Probing, Searching
from lbctl.commands.signals import Interrupts
from lbctl.commands.unreachable import unreachable
from lbctl.commands.varying import bases_of, judge_of, repeating_of, varying_of
from lbctl.discovery.weight_limits import WeightLimits
from lbctl.errors import LbctlError, UsageError
from lbctl.etcd.client import Etcd
from lbctl.load.attempts import REPLAY_BUFFER
from lbctl.load.controls import RegistryControls
from lbctl.load.engines import require
from lbctl.load.load_reports import wants_trailers
from lbctl.load.plan import Plan, Repeating, Task
from lbctl.load.run import Run
from lbctl.model import Instance, Service
from lbctl.rpc.obstacle import Obstacle, of_reason
from lbctl.rpc.options import ConnectionOptions
from lbctl.rpc.tls import Credentials
from lbctl.stats.report import Report
from lbctl.stats.thresholds import Abort, Threshold
from lbctl.suggestion import Again
from lbctl.wire.request import Request

if TYPE_CHECKING:
    from lbctl.rpc.schemas.described_files import DescribedFiles

_PROBE_TIMEOUT_S: Final = 1.0
_LOOKS: Final = 20  # backends that are looked at once more for an error

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Hammer:
    """One run as it was asked for; ``backends`` replaces the registry, ``again`` spells commands that look there."""

    service: str
    method: str | None
    policy: Policy
    plan: Plan
    seed: int
    payload: Payload = field(default_factory=Payload)
    reach: Reach = field(default_factory=Reach)
    connection: ConnectionOptions = field(default_factory=ConnectionOptions)
    engine: str = "wire"
    retry: bool = True
    backends: tuple[Instance, ...] = ()
    prefix: str | None = None
    layout: str | None = None
    named_by: str = ""
    grace_s: float = 5.0
    explain: int = 0  # the number of the pick that is to be explained, 0 for none
    repeating: Configured = field(default_factory=Configured)
    notes: tuple[str, ...] = ()  # what is worth telling before anything is sent
    hash_key: Source | None = None
    guards: GuardPlan = field(default_factory=GuardPlan)
    limits: WeightLimits = field(default_factory=WeightLimits)  # of weights in the registry
    thresholds: tuple[Threshold, ...] = ()
    abort_on: tuple[Abort, ...] = ()
    max_errors: ErrorLimit | None = None
    waits: bool = False  # a moment before a large load, for whoever did not mean it
    name: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    searching: Searching | None = None  # then the plan's rate is only where it begins
    read_only: str = ""  # why nothing may be written to the registry; "" where it may
    again: Again = field(default_factory=Again)
    schema: DescribedFiles | None = field(default=None, repr=False)  # describes methods in place of the backends

    @property
    def where(self) -> Where:
        """Which service is meant, and where to look for it."""
        return Where(self.service, self.prefix, self.layout, self.named_by, self.again)


@dataclass(frozen=True, slots=True)
class Tell:
    """Where a run's words go before its screen is up: what everybody should know, and what -v adds."""

    note: Say
    detail: Say


@dataclass(frozen=True, slots=True)
class Finished:
    """A run that is over; ``signal`` is the number of the signal that ended it, if one did.

    There is no report where the signal came before the first call. ``cut_short``: a second signal ended what the first
    one let finish, and whoever sent it wants no more than a word.
    """

    report: Report | None
    signal: int | None
    failure: LbctlError | None = None  # a request that came up later was wrong, or there were too many errors
    cut_short: bool = False


@dataclass(frozen=True, slots=True)
class Target:
    """What a load goes to, found once: the service, how its backends are reached, and the call that was meant.

    ``described_by`` says who described its method, as the report does.
    """

    service: Service
    reaching: Reaching
    calling: Calling
    described_by: str = ""


async def run(etcd: Etcd | None, clock: Clock, request: Hammer, screen: Screen, tell: Tell) -> Finished:
    """Run the load to its end and return the report.

    Raises NotFound for an unknown service or method, UsageError for a request that does not fit the method and for
    certificate files that cannot be used, CannotCall when no backend can be connected to or none describes its methods,
    RegistryError where etcd does not answer at the beginning. Without ``etcd`` the backends of the request are used.
    """
    this = asyncio.current_task()
    assert this is not None
    with Interrupts() as interrupts:
        interrupts.mean(this.cancel)  # nothing was sent yet: there is nothing to wait for
        try:
            report, failure = await _run(etcd, clock, request, screen, tell, interrupts)
            ended = finished(request, report, interrupts.first, failure)
            return replace(ended, cut_short=interrupts.cut_short)
        except asyncio.CancelledError:
            if interrupts.first is None:
                raise
            this.uncancel()
            return Finished(None, interrupts.first)


def finished(request: Hammer, report: Report, signal: int | None, failure: LbctlError | None) -> Finished:
    """What a run that is over comes to; too many errors end a probe of a search, whose verdict is its own."""
    limit = request.max_errors
    report = replace(report, name=request.name, tags=request.tags)
    if limit is not None and report.end_reason == MAX_ERRORS:
        report = replace(report, stopped_by=f"--max-errors {limit.spelled}")
    if limit is not None and request.searching is None:
        failure = failure or limit.failure(report)
    return Finished(report, signal, failure)


async def _run(
    etcd: Etcd | None, clock: Clock, request: Hammer, screen: Screen, tell: Tell, interrupts: Interrupts
) -> tuple[Report, UsageError | None]:
    target = await targeted(etcd, request, tell)
    words = caution(request.plan, target.service.instances, grows=request.searching is not None)
    await hesitate(words, tell.note, waits=request.waits)
    load = await load_of(request, target, clock)
    judge = Judge(request.thresholds, request.abort_on)
    for note in notes_of(request, target):
        tell.note(note)
    try:
        async with connected(etcd, request, target, load, tell):
            interrupts.mean(load.stop, load.abort)
            probing = Probing(load, request.searching) if request.searching is not None else None
            driven = probing or load
            async with _registrar(etcd, request, load) as registrar:
                load.hand = replace(load.hand, registry=registrar)
                async with screen.showing(load.report, driven.hand):
                    with judge.watching(load), watched(request.max_errors, load):
                        await driven.drive()
            interrupts.mean()  # it has ended; what is left to do is quick, and must not be lost
        return judge.judged(load.report() if probing is None else probing.found()), load.failure
    finally:
        await load.aclose()


def _registrar(etcd: Etcd | None, request: Hammer, load: Run) -> AbstractAsyncContextManager[RegistryControls]:
    """What changes the registry for who looks at the run."""
    from lbctl.commands.registrar import registrar_for

    return registrar_for(etcd, request.where, load.note, request.read_only)


async def targeted(etcd: Etcd | None, request: Hammer, tell: Tell) -> Target:
    """Find what a load goes to; raises what ``run`` does before its first call."""
    ready = ready_for(request.reach)
    service = await called_service(etcd, request.where, request.backends)
    reaching = _reaching(request, ready)
    return Target(service, reaching, *await meant(request, service, reaching, tell))


async def load_of(request: Hammer, target: Target, clock: Clock, *, replay: bool = True) -> Run:
    """Put the run of a request together, to be closed by the caller; raises UsageError for what the engine cannot.

    ``replay``: it is simulated afterwards, where only that tells what a policy should have done.
    """
    await require(request.policy.name, request.engine, trailers=wants_trailers(request.policy))
    request = replace(request, plan=request.repeating.plan(request.plan, target.calling.method))
    task = _task(request, target.service, target.reaching, target.calling, clock)
    return Run(replace(task, replay=replay, described_by=target.described_by), clock)


def notes_of(request: Hammer, target: Target) -> Iterator[str]:
    """What is worth telling before anything is sent, a line each."""
    calling = target.calling
    for note in (*request.notes, *request.repeating.notes(calling.method, outgrows=calling.outgrows(REPLAY_BUFFER))):
        yield f"note: {note}"
    if request.hash_key is not None and request.hash_key.is_constant and not follows(request.hash_key, calling):
        yield one_key(request.hash_key)


@asynccontextmanager
async def connected(etcd: Etcd | None, request: Hammer, target: Target, load: Run, tell: Tell) -> AsyncIterator[None]:
    """The run follows the registry while the block lasts, which begins once every backend was connected to, or not.

    Raises CannotCall where nobody can be called.
    """
    service, reaching = target.service, target.reaching
    async with followed(etcd, service, load, request.limits, request.layout, request.named_by):
        tell.note(f"connecting to {backends_of(service)}{_how(reaching, service)} ...")
        for instance in service.instances:
            tell.detail(reaching.told(instance))
        await load.settled()
        await _require_one(load, request, service, reaching)
        yield


def _reaching(request: Hammer, ready: Credentials | None) -> Reaching:
    return Reaching(
        request.reach,
        ready,
        discovered=not request.backends,
        metadata=request.payload.metadata,
        sensitive=request.payload.sensitive,
        options=request.connection,
    )


def _how(reaching: Reaching, service: Service) -> str:
    words = reaching.described(service.instances)
    return f" ({words})" if words else ""


def _task(request: Hammer, service: Service, reaching: Reaching, calling: Calling, clock: Clock) -> Task:
    keys = keys_of(request.hash_key, request.seed, request.payload, calling, clock)
    timeout_ns, request_for = request.plan.timeout_ns, _requests(request, reaching, calling)
    varying = varying_of(
        calling, request.seed, timeout_ns, clock, finder_of(request.hash_key, request.payload, calling)
    )

    def bases_for(instance: Instance) -> Sequence[Request]:
        return bases_of(request_for(instance), request.payload, calling, timeout_ns)

    return Task(
        service=service.name,
        method=calling.method,
        policy=request.policy,
        seed=request.seed,
        plan=request.plan,
        request_for=request_for,
        secure_for=reaching.secure_for,
        connection=request.connection,
        engine=request.engine,
        retry=request.retry,
        judge=judge_of(calling),
        explain=request.explain,
        guards=request.guards,
        repeating=_repeating(request, calling),
        keys=keys,
        grace_s=request.grace_s,
        varying=varying,
        bases_for=bases_for if varying is not None else None,
    )


def _repeating(request: Hammer, calling: Calling) -> Repeating:
    """How calls of the method are repeated; raises UsageError for what cannot be."""
    found = repeating_of(request.repeating, calling)
    if found.hedging is not None and request.policy.name in GRPC_POLICIES:
        raise UsageError(
            f"policy {request.policy.name}: grpcio does not hedge, and says not which attempt went where",
            "name one of lbctl's policies: lbctl policies",
        )
    return found


def _requests(request: Hammer, reaching: Reaching, calling: Calling) -> Callable[[Instance], Request]:
    """The request each backend is sent."""
    payload = request.payload

    def of(instance: Instance) -> Request:
        return Request(
            f"/{calling.path}",
            calling.message,
            reaching.names.authority(instance),
            request.plan.timeout_ns,
            metadata=payload.metadata,
            scheme="https" if request.reach.wants_tls(instance) else "http",
            stream=calling.stream,
            gzip=payload.gzip,
            sensitive=payload.sensitive,
        )

    return of


async def _require_one(load: Run, request: Hammer, service: Service, reaching: Reaching) -> None:
    """Refuse to begin where nothing can be called."""
    if not load.backends.count:
        raise unusable(service, request.again.command("ls", request.service))
    failures = load.backends.failures()
    if len(failures) < load.backends.count:
        return
    obstacles = await _explained(failures, service, reaching)
    raise unreachable(service, request.service, obstacles, request.again)


async def _explained(failures: Mapping[str, str], service: Service, reaching: Reaching) -> Mapping[str, Obstacle]:
    """Why backends cannot be called.

    One that hangs up without a reason is looked at, since its first bytes may tell; of very many only some are.
    """
    from lbctl.rpc.probe import explain

    known = {instance.address: instance for instance in service.instances}
    looked_at = set(list(failures)[:_LOOKS])

    async def one(address: str, reason: str) -> Obstacle:
        if address not in known or address not in looked_at:  # it came while we connected, or is one too many
            return of_reason(reason)
        instance = known[address]
        return await explain(instance.endpoint, reason, reaching.secure_for(instance), _PROBE_TIMEOUT_S)

    found = await asyncio.gather(*(one(address, reason) for address, reason in failures.items()))
    return dict(zip(failures, found, strict=True))
