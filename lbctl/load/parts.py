"""Parts of a run, made as its task says."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from lbctl.balance.balancer import Balancer
from lbctl.clock import Clock
from lbctl.load.accounts import Accounts
from lbctl.load.attempts import REPLAY_BUFFER, Attempts
from lbctl.load.engine import Engine
from lbctl.load.engines import Dialling
from lbctl.load.guarding import Guarding
from lbctl.load.load_reports import wants_trailers
from lbctl.load.plan import Task
from lbctl.rpc.dial import Network
from lbctl.rpc.link import Flusher


def engine_of(
    task: Task,
    balancer: Balancer,
    accounts: Accounts,
    flusher: Flusher,
    clock: Clock,
    attempts: Attempts | None,
    guarding: Guarding,
) -> Engine:
    """The engine of a run."""
    return Engine(
        balancer,
        accounts,
        flusher,
        clock,
        timeout_ns=task.plan.timeout_ns,
        retry=task.retry,
        judge=task.judge,
        keys=task.keys,
        attempts=attempts,
        gate=guarding.gate,
        varying=task.varying,
    )


def dialling_of(task: Task, flusher: Flusher, clock: Clock, network: Network) -> Dialling:
    """How the run's backends are connected."""
    options = task.connection
    if wants_trailers(task.policy):
        options = replace(options, limits=replace(options.limits, load_reports=True))
    if task.repeating.hedging is not None:
        options = replace(options, limits=replace(options.limits, replay=REPLAY_BUFFER))
    return Dialling(
        task.request_for,
        flusher,
        clock,
        # Jitter of reconnects has its own source: picks must not depend on how often a connection failed.
        Random(task.seed),
        task.secure_for,
        options,
        network,
        keep_messages=task.judge is not None,
        bases_for=task.bases_for,
    )
