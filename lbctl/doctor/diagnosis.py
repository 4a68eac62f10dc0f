"""What an examination came to: every finding, what could not be looked at, and the figures beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from lbctl.doctor.evidence.cluster import Cluster
from lbctl.doctor.evidence.prometheus import Server
from lbctl.doctor.finding import Finding, Level
from lbctl.model import Service
from lbctl.stats.report import Report


class Skipped(NamedTuple):
    """A check that was not made, by its code, and why; or what else could not be had."""

    code: str
    why: str


class Beside(NamedTuple):
    """One backend by its own figures and by ours; None where there are none."""

    service: str
    address: str
    server: Server
    rtt_s: float | None
    client_rps: float | None
    client_p50_ms: float | None


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One examination, the gravest findings first."""

    at: datetime
    took_s: float
    endpoints: tuple[str, ...]  # of etcd; none where backends were given
    cluster: Cluster | None
    revision: int
    services: tuple[Service, ...]
    checks: tuple[str, ...]
    findings: tuple[Finding, ...]
    skipped: tuple[Skipped, ...]
    probes: Mapping[str, Report]  # by the prefix of the service
    beside: tuple[Beside, ...] = ()
    is_read: bool = True  # the registry: False where etcd answers, and not with that

    def count(self, level: Level) -> int:
        """How many findings are of a level."""
        return sum(finding.level is level for finding in self.findings)

    def fails(self, least: Level) -> bool:
        """Whether there is a finding as bad as that."""
        return any(finding.level >= least for finding in self.findings)


def sorted_findings(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The gravest first, then by code; of one code as they were found."""
    return tuple(sorted(findings, key=lambda each: (-each.level, each.code)))
