"""What every compared client has to do, and what has to be known of each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from benchmarks.measured import Cost
from benchmarks.scenario import BACKENDS, IN_FLIGHT, Scenario
from benchmarks.server import Server


class Latency(NamedTuple):
    """Milliseconds, as the client itself reports them."""

    p50: float
    p99: float


@dataclass(frozen=True, slots=True)
class Task:
    """The same bytes to the same method, with the same number of calls in flight on as many connections."""

    scenario: Scenario
    server: Server
    body: Path  # the request message, serialized
    framed: Path  # the same behind gRPC's five-byte prefix
    delimited: Path  # the same behind its length as a varint
    log: Path  # may be written by a client
    in_flight: int = IN_FLIGHT

    @property
    def ports(self) -> list[int]:
        return self.server.ports[self.scenario.replies]

    @property
    def ca(self) -> str:
        return self.server.ca

    @property
    def sockets(self) -> int:
        """Connections in all."""
        return BACKENDS * self.scenario.connections

    @property
    def per_socket(self) -> int:
        """Calls in flight on one connection."""
        return self.in_flight // self.sockets


class Client(ABC):
    """One column of the tables. ``share``: of the calls that the fastest client makes, so that none takes longer."""

    name: str
    note: str
    terminal: bool = False
    share: float = 1.0
    more_octets: int = 0  # that its message may have
    logged: float = 0.0  # of its calls, in a run of its own for the latencies; 0: every run reports them

    @abstractmethod
    def missing(self) -> str:
        """Why it cannot run here; "" when it can. Builds it where it has to be built."""

    @abstractmethod
    def version(self) -> str: ...

    @abstractmethod
    def command(self, task: Task, calls: int) -> Sequence[str]: ...

    def latency_command(self, task: Task, calls: int) -> Sequence[str]:
        return self.command(task, calls)

    def check(self, cost: Cost, calls: int) -> None:  # noqa: B027  # a choice: some say so by their status
        """Raise ClientFailed unless the run made exactly so many successful calls."""

    @abstractmethod
    def latency(self, cost: Cost, task: Task) -> Latency: ...
