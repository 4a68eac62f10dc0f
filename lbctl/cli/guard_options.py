"""The options of ``lbctl hammer`` around the policy: health, outliers, breakers, slow start, who is used at all.

All are written alike, ``--flag name=value,name=value``; some have one value that may come first and bare, and those
without one may stand alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Final

from lbctl.cli.completion_values import Candidate, Source, Typed, free, pairs
from lbctl.cli.flags import Flags, one_of, option
from lbctl.errors import UsageError

if TYPE_CHECKING:  # they take a while, and most commands do without
    from collections.abc import Iterator

    from lbctl.balance.guards.plan import GuardPlan
    from lbctl.balance.policies.base import Policy
    from lbctl.balance.selection import Selection

PANEL: Final = "Around the policy"
_OPTIONAL: Final = "[K=V,...]"  # see ``flags.GroupedCommand``


def parse_threshold(text: str) -> float:
    """A percentage from 0 to 100, with or without its sign."""
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        number = -1.0
    if not 0 <= number <= 100:
        raise ValueError(f"{text!r} is not a percentage from 0 to 100")
    return number


def _options(module: str, name: str, *, head: Source | None = None, named: str = "") -> Source:
    """Completion by a class of options of ``balance``, imported when it is asked for."""
    return pairs(lambda typed: getattr(import_module(f"lbctl.balance.{module}"), name)(), head=head, named=named)


def _kinds(typed: Typed) -> Iterator[Candidate]:
    from lbctl.balance.guards.plan import BREAKERS

    for name in BREAKERS:
        yield Candidate(name, "of each backend" if name == "consecutive" else "before the pick")


def _of_kind(typed: Typed) -> object:
    from lbctl.balance.guards.plan import BREAKERS

    return BREAKERS.get(typed.text.partition(",")[0])


@dataclass(frozen=True, slots=True)
class GuardFlags(Flags):
    """What keeps backends out of the rotation, and calls away from all of them."""

    health_check: Annotated[
        str | None,
        option(
            "--health-check",
            text="ask every backend for its health by grpc.health.v1: service=NAME,mode=watch|check,interval=10s,"
            "timeout=3s,failures=1,successes=1; pick_first ignores it, as in gRPC",
            metavar=_OPTIONAL,
            panel=PANEL,
            completes=_options("guards.health", "HealthOptions"),
        ),
    ] = None
    outlier_detection: Annotated[
        str | None,
        option(
            "--outlier-detection",
            text="eject who fails more than the others (gRFC A50): interval=10s,base-ejection-time=30s,"
            "max-ejection-percent=10,detect=both|success-rate|failure-percentage,stdev-factor=1900,"
            "success-volume=100,failure-threshold=85,dialect=grpc|core|envoy ...",
            metavar=_OPTIONAL,
            panel=PANEL,
            completes=_options("guards.outlier", "OutlierOptions"),
        ),
    ] = None
    breaker: Annotated[
        list[str] | None,
        option(
            "--breaker",
            text="consecutive (each backend: failures=5,open-time=10s,backoff=1,probes=1,codes=A+B), or before the "
            "pick: sre, kratos, gozero, max-requests (limit=1024); may be repeated",
            metavar="KIND[,K=V...]",
            panel=PANEL,
            completes=pairs(_of_kind, head=_kinds),
        ),
    ] = None
    when_all_out: Annotated[
        str | None,
        option(
            "--when-all-out",
            text="what becomes of calls when every backend is out of the rotation: panic (all are used, default), "
            "wait, fail",
            metavar="WHAT",
            panel=PANEL,
            parse=one_of("panic", "wait", "fail"),
        ),
    ] = None
    panic_threshold: Annotated[
        float | None,
        option(
            "--panic-threshold",
            text="use all backends where fewer than this percentage are healthy (Envoy: 50; default 0, never)",
            metavar="PERCENT",
            panel=PANEL,
            parse=parse_threshold,
        ),
    ] = None
    slow_start: Annotated[
        str | None,
        option(
            "--slow-start",
            text="give backends that come during the run their weight little by little: window=30s,"
            "dialect=envoy|haproxy|dubbo,min-weight=10,aggression=1; for policies that go by weights",
            metavar=_OPTIONAL,
            panel=PANEL,
            completes=_options("guards.slow_start", "SlowStartOptions"),
        ),
    ] = None
    subset: Annotated[
        str | None,
        option(
            "--subset",
            text="use only SIZE backends: kind=random|deterministic|shuffled|ring|aperture,client=0,clients=1,seed=N,"
            "dialect=a68|grpc-go",
            metavar="SIZE[,K=V...]",
            panel=PANEL,
            completes=_options("subset", "SubsetOptions", head=free, named="size"),
        ),
    ] = None
    zone: Annotated[
        str | None,
        option(
            "--zone",
            text="prefer backends whose metadata names this zone: key=zone,overprovisioning=140",
            metavar="NAME[,K=V...]",
            panel=PANEL,
            completes=_options("selection", "ZoneOptions", head=free, named="name"),
        ),
    ] = None


def guards_of(flags: GuardFlags, policy: Policy, health_check: str | None = None) -> GuardPlan:
    """What is to be around the policy; ``health_check`` is what the settings say of it.

    Raises UsageError for what cannot be, or not around this policy.
    """
    from lbctl.balance.guards.plan import GuardPlan
    from lbctl.balance.policies.table import GRPC_POLICIES

    if policy.name in GRPC_POLICIES:
        if flags == GuardFlags():
            return GuardPlan()
        raise UsageError(
            f"{_first(flags)}: {policy.name} picks by itself, so nothing can be put around it",
            "name one of lbctl's policies: lbctl policies",
        )
    if flags == GuardFlags() and health_check is None:
        return GuardPlan()
    from lbctl.balance.guards.health import HealthOptions
    from lbctl.balance.guards.outlier import OutlierOptions
    from lbctl.balance.guards.slow_start import SlowStartOptions

    circuit, before = _breakers(flags.breaker or [])
    return GuardPlan(
        outlier=_parsed("--outlier-detection", flags.outlier_detection, OutlierOptions()),
        circuit=circuit,
        breakers=before,
        slow_start=_parsed("--slow-start", flags.slow_start, SlowStartOptions()),
        health=_parsed("--health-check", flags.health_check or health_check, HealthOptions()),
        selection=_selection(flags),
    )


def _first(flags: GuardFlags) -> str:
    given = (name for name in GuardFlags.__slots__ if getattr(flags, name) is not None)
    return "--" + next(given).replace("_", "-")


def _selection(flags: GuardFlags) -> Selection:
    from lbctl.balance.selection import Mode, Selection, ZoneOptions
    from lbctl.balance.subset import SubsetOptions

    zone = _parsed("--zone", flags.zone, ZoneOptions(), head="name")
    if zone is not None and not zone.name:
        raise UsageError("--zone needs the name of a zone", "for example --zone eu-1,key=az")
    return Selection(
        subset=_parsed("--subset", flags.subset, SubsetOptions(), head="size"),
        zone=zone,
        panic=flags.panic_threshold or 0.0,
        when_all_out=Mode(flags.when_all_out or "panic"),
    )


def _parsed(flag: str, text: str | None, options: Any, head: str | None = None) -> Any:  # noqa: ANN401  # its own type
    """The options of one flag, or None where it is not given."""
    from lbctl.balance.guards.base import split
    from lbctl.balance.policies.options import parse

    return None if text is None else parse(flag, options, split(flag, text, head))


def _breakers(texts: list[str]) -> tuple[Any, dict[str, Any]]:
    """The breaker of each backend, if one is asked for, and those before the pick by name."""
    from lbctl.balance.guards.plan import BREAKERS

    found: dict[str, Any] = {}
    for text in texts:
        kind, _, rest = text.partition(",")
        kind = kind.strip()
        if kind not in BREAKERS:
            near = get_close_matches(kind, BREAKERS, 1)
            hint = f"did you mean {near[0]}?" if near else "for example --breaker consecutive,failures=3"
            raise UsageError(f"--breaker: {kind!r} is not one of {', '.join(BREAKERS)}", hint)
        if kind in found:
            raise UsageError(f"--breaker {kind} is given twice", "one of each kind, with all its options")
        found[kind] = _parsed(f"--breaker {kind}", rest, BREAKERS[kind])
    return found.pop("consecutive", None), found
