"""``lbctl doctor``: its options, and its findings on standard output."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final

from lbctl.cli.arguments import AnyServiceArgument
from lbctl.cli.check_options import backends_option, exit_zero_option, timeout_option
from lbctl.cli.completion_values import Candidate, Typed, free, listed
from lbctl.cli.flags import Flags, one_of, option, switch
from lbctl.cli.help import Command
from lbctl.cli.options import with_settings
from lbctl.cli.policy_options import parse_policy, policies
from lbctl.cli.settings import Settings
from lbctl.cli.values import parse_count
from lbctl.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lbctl.balance.policies.base import Policy
    from lbctl.doctor.case import Order
    from lbctl.doctor.diagnosis import Diagnosis
    from lbctl.doctor.finding import Check, Level
    from lbctl.view.caps import Caps

ABOUT = """\
Examine etcd, the registrations and the backends of a service, or of all services, and say what is wrong.

Every finding has a code, what was seen, why it matters, how to mend it, and a command. Nothing is sent but what clients
and tools ask anyway (health checks, reflection, load reports): calls through a policy need --probe, and a key of its
own, for the time that events take, needs --canary. The exit status is 1 where a finding is an error (--fail-on)."""
EXAMPLES = (
    "lbctl doctor",
    "lbctl doctor echo --probe 1000",
    "lbctl doctor echo --select LB2,LB3 --fail-on warn",
    "lbctl doctor echo --canary -o json",
    "lbctl doctor echo --probe 1k --prometheus http://127.0.0.1:9090",
    "lbctl doctor --backends 127.0.0.1:50051=3,127.0.0.1:50052 --probe 1000",
)
FORMATS = ("table", "json", "short")
_PANEL: Final = "Examination"
_LEVELS: Final = ("warn", "error")


def parse_codes(text: str) -> tuple[str, ...]:
    """``LB201,LB3`` as codes and beginnings of codes."""
    codes = tuple(word.strip().upper() for word in text.split(",") if word.strip())
    if not codes:
        raise ValueError("no code is named (for example LB201, or LB2 for all LB2xx)")
    return codes


def _codes(typed: Typed) -> Iterator[Candidate]:
    from lbctl.cli.completion_cache import remembered

    yield from (Candidate(code, about) for code, about in remembered("doctor/checks", _told))


def _told() -> list[tuple[str, str]]:
    from lbctl.doctor.table import CHECKS

    return [(each.code, f"{each.title} ({each.level.word})") for each in CHECKS]


@dataclass(frozen=True, slots=True)
class DoctorFlags(Flags):
    """What is looked at, what may be done for it, and what counts as failure."""

    select: Annotated[
        Any,
        option(
            "--select",
            text="only these: LB201, or LB2 for all LB2xx",
            metavar="CODES",
            panel=_PANEL,
            parse=parse_codes,
            completes=listed(_codes),
        ),
    ] = None
    ignore: Annotated[
        Any,
        option(
            "--ignore",
            text="all but these",
            metavar="CODES",
            panel=_PANEL,
            parse=parse_codes,
            completes=listed(_codes),
        ),
    ] = None
    fail_on: Annotated[
        str | None,
        option(
            "--fail-on",
            text="exit status 1 from this level on: warn or error (default error)",
            metavar="LEVEL",
            panel=_PANEL,
            parse=one_of(*_LEVELS),
        ),
    ] = None
    exit_zero: Annotated[bool, exit_zero_option(_PANEL)] = False
    probe: Annotated[
        int | None,
        option(
            "--probe",
            text="send so many health checks through the policy, and judge where they went and how long they took",
            metavar="N",
            panel=_PANEL,
            parse=parse_count,
        ),
    ] = None
    policy: Annotated[
        Any,
        option(
            "--policy",
            text="the policy of --probe (default smooth_wrr, or that of the settings)",
            metavar="NAME",
            panel=_PANEL,
            parse=parse_policy,
            completes=policies,
        ),
    ] = None
    canary: Annotated[
        bool,
        switch("--canary", text="write a key of its own, with a lease of 10s, and time its event", panel=_PANEL),
    ] = False
    timeout: Annotated[float | None, timeout_option(_PANEL)] = None
    backends: Annotated[Any, backends_option(_PANEL, "examine these instead of etcd and those in it")] = None
    prometheus: Annotated[
        str | None,
        option(
            "--prometheus",
            text="a Prometheus that knows the servers: their CPU and requests beside what the client sees",
            metavar="URL",
            panel=_PANEL,
        ),
    ] = None
    prometheus_cpu: Annotated[
        str | None,
        option("--prometheus-cpu", text="query for CPU by instance", metavar="QUERY", panel=_PANEL, completes=free),
    ] = None
    prometheus_rps: Annotated[
        str | None,
        option(
            "--prometheus-rps",
            text="query for requests a second by instance",
            metavar="QUERY",
            panel=_PANEL,
            completes=free,
        ),
    ] = None


@with_settings(outputs=FORMATS, layouts=True, backends=True)
def doctor(
    service: AnyServiceArgument = None,
    *,
    flags: DoctorFlags,
    settings: Settings,
) -> int:
    """Examine a service, or all of them."""
    _refuse_contradictions(service, flags, settings)
    from lbctl.cli.screens import caps_of
    from lbctl.doctor.finding import Level
    from lbctl.doctor.table import selected

    checks = selected(flags.select or (), flags.ignore or (), direct=flags.backends is not None)
    found = _examined(_order(service, flags, checks, settings), checks, settings)
    _print(found, settings, caps_of(settings))
    least: Level = Level[(flags.fail_on or "error").upper()]
    return ExitCode.CHECK_FAILED if found.fails(least) and not flags.exit_zero else ExitCode.OK


def _refuse_contradictions(service: str | None, flags: DoctorFlags, settings: Settings) -> None:
    if flags.backends is not None:
        if service is not None:
            raise UsageError("--backends goes with no SERVICE", "leave one of them out")
        if flags.canary:
            raise UsageError("--canary is for etcd, and --backends does without", "leave one of them out")
    if flags.canary and settings.read_only:
        raise UsageError(
            f"{settings.origins.get('read_only', '--read-only')}: nothing is written to etcd", "leave --canary out"
        )
    if flags.policy is not None and flags.probe is None:
        raise UsageError("--policy is for --probe", "leave it out, or give --probe 1000 too")
    if flags.prometheus is None and (flags.prometheus_cpu or flags.prometheus_rps):
        query = "--prometheus-cpu" if flags.prometheus_cpu else "--prometheus-rps"
        raise UsageError(f"{query}: a query needs a Prometheus to be put to", "give --prometheus URL too")
    if flags.prometheus is not None and not flags.prometheus.startswith(("http://", "https://")):
        raise UsageError(f"--prometheus: {flags.prometheus!r} is no URL", "for example: http://127.0.0.1:9090")


def _order(service: str | None, flags: DoctorFlags, checks: Sequence[Check], settings: Settings) -> Order:
    from lbctl.cli.etcd_tools import tools
    from lbctl.cli.hammer_request import given
    from lbctl.cli.suggestions import again
    from lbctl.commands.reach import Reaching, ready_for
    from lbctl.doctor.case import Order

    reaching = Reaching(settings.reach, ready_for(settings.reach), discovered=flags.backends is None)
    return Order(
        policy=_policy(flags, settings),
        access_for=reaching.access,
        service=service,
        prefix=settings.prefix,
        layout=settings.layout,
        named_by=settings.service_from,
        timeout_s=flags.timeout or settings.check_timeout_s,
        probe=flags.probe or 0,
        canary=flags.canary,
        prometheus=flags.prometheus or "",
        queries=(flags.prometheus_cpu or "", flags.prometheus_rps or ""),
        codes=frozenset(check.code for check in checks),
        given=given("backends", flags.backends or ()),
        again=again(settings),
        tools=tools(settings, os.environ),
    )


def _policy(flags: DoctorFlags, settings: Settings) -> Policy:
    """The policy of the probe: --policy, or that of the settings; raises UsageError for one that goes by keys."""
    from lbctl.balance.policies.table import POLICIES
    from lbctl.cli.policy_options import DEFAULT_POLICY, chosen

    if flags.probe is None:
        return POLICIES[DEFAULT_POLICY]
    policy = chosen(flags.policy, None, settings)
    if policy.keyed:
        raise UsageError(
            f"policy {policy.name} picks by the hash key of a call, and health checks have none",
            f"for example: lbctl hammer SERVICE --policy {policy.name} --hash-key 'zipf(1.1,1000)'",
        )
    return policy


def _examined(order: Order, checks: Sequence[Check], settings: Settings) -> Diagnosis:
    from random import SystemRandom

    from lbctl.cli.measuring import measured
    from lbctl.clock import SystemClock
    from lbctl.commands.doctor import run

    return measured(
        settings, lambda etcd: run(etcd, order, checks, SystemClock(), SystemRandom()), direct=bool(order.given)
    )


def _print(found: Diagnosis, settings: Settings, caps: Caps) -> None:
    from lbctl.view.doctor import doctor_notes

    text = _text(found, settings, caps)
    if text:
        print(text, flush=True)  # noqa: T201
    if not settings.quiet:
        for note in doctor_notes(found):
            print(note, file=sys.stderr)  # noqa: T201


def _text(found: Diagnosis, settings: Settings, caps: Caps) -> str:
    from lbctl.view import output
    from lbctl.view.doctor import doctor_document, doctor_short, doctor_text
    from lbctl.view.services import Look

    match settings.output:
        case "json":
            return output.as_json(doctor_document(found))
        case "short":
            return doctor_short(found)
    return doctor_text(found, Look(caps.out_style, caps.out_glyphs, caps.out_width))


COMMAND = Command(doctor, ABOUT, EXAMPLES)
