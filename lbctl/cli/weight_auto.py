"""``lbctl weight --auto``: from its options to the looks that are made, and to what is printed of each."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from lbctl.cli.options import detail
from lbctl.cli.request_options import RequestFlags
from lbctl.cli.schema_options import SchemaFlags
from lbctl.cli.settings import Settings
from lbctl.cli.weight_options import AutoFlags, RuleFlags
from lbctl.errors import ExitCode, NotFound, UsageError

if TYPE_CHECKING:
    from lbctl.balance.adjuster import Sample
    from lbctl.balance.dynamic import Thresholds
    from lbctl.cli.weight_output import WeightPrinter
    from lbctl.commands.hammer import Hammer
    from lbctl.commands.weight_auto import Auto
    from lbctl.discovery.weight_report import WeightReport

DEFAULT_RPS: Final = 20.0
DEFAULT_WINDOW_S: Final = 10.0
DEFAULT_TIMEOUT_S: Final = 5.0
DEFAULT_CONFIRM: Final = 2
_RUN: Final = "lbctl.run/v1"

T = TypeVar("T")


class Calls(NamedTuple):
    """What is called to measure, and who describes it."""

    request: RequestFlags
    schema: SchemaFlags

    @property
    def given(self) -> bool:
        """Whether any of it was said."""
        return self != (RequestFlags(), SchemaFlags())


def adjust(
    service: str,
    targets: Sequence[str],
    auto: AutoFlags,
    rule: RuleFlags,
    calls: Calls,
    settings: Settings,
    printer: WeightPrinter,
) -> int:
    """Find weights, once or until Ctrl-C, and print what is found."""
    from lbctl.commands.stopping import status_after

    method = _method(targets)
    auto, rule = _settled(auto, rule, settings)
    _refuse_contradictions(method, auto, calls, settings)
    wanted = _auto(service, auto, rule, settings)
    if method is None and auto.run is None:
        printer.note("note: the health check is measured, not the service's own methods; give a METHOD to measure that")
    load = None if auto.run is not None else _load(service, method, wanted.slice_s, auto, calls, settings)
    number = _run(wanted, load, auto.run, settings, printer)
    if not number:
        return ExitCode.OK
    return 128 + number if wanted.every_s is None else status_after(number)


def _method(targets: Sequence[str]) -> str | None:
    if len(targets) > 1 or (targets and "=" in targets[0]):
        raise UsageError("--auto finds the weights: give no ADDRESS=WEIGHT", "say what they start from with --base")
    return targets[0] if targets else None


def _settled(auto: AutoFlags, rule: RuleFlags, settings: Settings) -> tuple[AutoFlags, RuleFlags]:
    """The options with what the settings say where they say nothing."""
    if auto.once and auto.every is not None:
        raise UsageError("--once and --every contradict each other", "leave one of them out")
    kept, limits = settings.auto, settings.limits
    if auto.run is None:
        every = None if auto.once else _or(auto.every, kept.every)
        auto = replace(auto, every=every, window=_or(auto.window, kept.window))
    return auto, replace(
        rule,
        error_high=_or(rule.error_high, kept.error_high),
        error_low=_or(rule.error_low, kept.error_low),
        latency_high=_or(rule.latency_high, kept.latency_high),
        latency_low=_or(rule.latency_low, kept.latency_low),
        min=_or(rule.min, limits.least),
        max=_or(rule.max, limits.most),
    )


def _or(given: T | None, kept: T | None) -> T | None:
    return kept if given is None else given


def _refuse_contradictions(method: str | None, auto: AutoFlags, calls: Calls, settings: Settings) -> None:
    if auto.apply and settings.read_only:
        from lbctl.cli.writing import read_only

        raise read_only(settings)
    if auto.confirm is not None and auto.every is None:
        raise UsageError("--confirm counts looks, and without --every there is one", "give --every 60s")
    if auto.every is not None and settings.output in ("json", "yaml"):
        raise UsageError(f"-o {settings.output} is one document, and --every makes many", "use -o jsonl, or --once")
    if auto.run is None:
        return
    measuring = {"METHOD": method, "--every": auto.every, "--window": auto.window, "--rps": auto.rps}
    given = next((flag for flag, value in measuring.items() if value is not None), None)
    if given is not None or calls.given:
        raise UsageError(f"--from has measured already: {given or 'options of calls'} cannot be used with it")


def _auto(service: str, auto: AutoFlags, rule: RuleFlags, settings: Settings) -> Auto:
    from lbctl.cli.rotation import where_of
    from lbctl.commands.weight_auto import Auto

    return Auto(
        where=where_of(service, settings),
        rule=_rule(rule),
        bases=tuple(auto.base or ()),
        window_s=auto.window or DEFAULT_WINDOW_S,
        every_s=auto.every,
        confirm=1 if auto.every is None else auto.confirm or DEFAULT_CONFIRM,
        min_change=auto.min_change or 1,
        apply=auto.apply,
    )


def _rule(flags: RuleFlags) -> Thresholds:
    from lbctl.balance.dynamic import Thresholds

    given = {
        "min_requests": flags.min_requests,
        "error_high": flags.error_high,
        "error_low": flags.error_low,
        "latency_high_s": flags.latency_high,
        "latency_low_s": flags.latency_low,
        "min_weight": flags.min,
        "max_weight": flags.max,
    }
    chosen: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    try:
        return Thresholds(**chosen)
    except ValueError as error:
        raise UsageError(f"the rule: {error}") from None


def _load(
    service: str, method: str | None, slice_s: float, auto: AutoFlags, calls: Calls, settings: Settings
) -> Hammer:
    """The load that measures: every instance in turn, at a small rate, and what is slow is waited for."""
    from lbctl.balance.policies.round_robin import POLICY
    from lbctl.cli.hammer_options import LoadFlags
    from lbctl.cli.hammer_request import Asked, build

    timeout_s = DEFAULT_TIMEOUT_S if calls.request.timeout is None else calls.request.timeout
    load = LoadFlags(
        rps=auto.rps or DEFAULT_RPS, duration=slice_s, policy=POLICY, grace=max(timeout_s, DEFAULT_TIMEOUT_S)
    )
    request = replace(calls.request, timeout=timeout_s)
    bare = replace(settings, health_check=None)  # who is out of the rotation of others is measured too
    return build(service, method, Asked(load, request, schema=calls.schema), bare, os.environ)


def _run(wanted: Auto, load: Hammer | None, saved: Path | None, settings: Settings, printer: WeightPrinter) -> int:
    from lbctl.cli.listeners import while_read
    from lbctl.cli.loop import run_fast
    from lbctl.cli.registry import etcd_config
    from lbctl.clock import SystemClock
    from lbctl.commands.hammer import Tell
    from lbctl.commands.weight_auto import Load, Meter, Saved, run
    from lbctl.etcd.client import Etcd
    from lbctl.view.progress import NoScreen

    config = etcd_config(settings)
    clock = SystemClock()
    kept = None if saved is None else Saved(*_saved(saved, wanted.where.service))
    status = 0

    def show(report: WeightReport) -> None:
        printer.look(report, many=wanted.every_s is not None)

    async def work() -> None:
        nonlocal status
        async with Etcd(config) as etcd:
            meter: Meter | None = kept
            if meter is None:
                assert load is not None
                meter = Load(etcd, clock, load, NoScreen(), Tell(printer.note, detail(settings)))
            status = await run(etcd, clock, wanted, meter, show, printer.note)

    run_fast(while_read(work()))
    return status


def _saved(path: Path, service: str) -> tuple[dict[str, Sample], str | None]:
    """What a saved run of this service found out about each key, and its method."""
    document = _document(path)
    try:
        of = str(document["service"])
        method = str(document["method"])
        samples = {str(row["key"]): _sample(row) for row in document["backends"]}
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"--from: {path} is not a whole run document: {error!r}") from None
    if of.rpartition("/")[2] != service.strip("/").rpartition("/")[2]:
        raise UsageError(f'--from: {path} is a run of "{of}", and not of "{service}"')
    return samples, method


def _sample(row: dict[str, Any]) -> Sample:
    from lbctl.balance.adjuster import Sample

    ok, errors = int(row["ok"]), int(row["errors"])
    mean_ms = float(row["latency_ms"]["mean"]) if row["latency_ms"] else 0.0
    return Sample(ok + errors, errors, ok * mean_ms / 1e3, "" if row["state"] == "ready" else str(row["reason"]))


def _document(path: Path) -> dict[str, Any]:
    import json

    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NotFound(f"--from: there is no file {path}", "save a run: lbctl hammer SERVICE --save FILE") from None
    except OSError as error:
        raise UsageError(f"--from: cannot read {path}: {error.strerror or error}") from None
    except (ValueError, RecursionError):
        raise UsageError(f"--from: {path} is not JSON", "give what hammer --save wrote, or hammer -o json") from None
    if not isinstance(found, dict) or found.get("schema") != _RUN:
        raise UsageError(f"--from: {path} is not a run document", "give what hammer --save wrote, or hammer -o json")
    return found
