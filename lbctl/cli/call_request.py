"""From what was typed after ``lbctl call`` to the calls that are made; nothing is sent before that is whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from random import SystemRandom
from typing import Final

from lbctl.balance.policies.table import GRPC_POLICIES, POLICIES
from lbctl.cli import suggestions
from lbctl.cli.call_input import STANDARD_INPUT, StandardInput, standard_input
from lbctl.cli.call_options import EachFlags, ReplyFlags, WhoFlags
from lbctl.cli.connection_options import ReachFlags
from lbctl.cli.hammer_request import DEFAULT_TIMEOUT_S, given, slips, split_target, streaming_of
from lbctl.cli.hash_key_options import source_for
from lbctl.cli.policy_options import DEFAULT_POLICY, chosen
from lbctl.cli.request_data_options import DataFlags, FileFlags
from lbctl.cli.request_options import RequestFlags, StreamFlags
from lbctl.cli.request_payload import payload_of
from lbctl.cli.schema_options import SchemaFlags, source_of
from lbctl.cli.settings import Settings
from lbctl.commands.call_target import CallRequest
from lbctl.commands.calling import Payload
from lbctl.errors import UsageError
from lbctl.load.requests.given import Order
from lbctl.rpc.options import ConnectionOptions
from lbctl.wire.limits import MAX_MESSAGE, Limits

_SEEDS: Final = 1 << 31
_ONE_OUT: Final = "leave one of them out"
# Formats of single calls, the default first, of --each, and of both.
SINGLE: Final = ("reply", "pretty", "text", "raw", "jsonl")
EVERY: Final = ("table", "wide", "csv")
BOTH: Final = ("json", "yaml")
_WHOLE: Final = ("json", "yaml", "jsonl")  # formats that tell everything about a call


@dataclass(frozen=True, slots=True)
class Asked:
    """What was typed about a call, by the groups that the options come in."""

    who: WhoFlags
    request: RequestFlags
    files: FileFlags
    stream: StreamFlags
    reach: ReachFlags
    schema: SchemaFlags
    reply: ReplyFlags
    each: EachFlags = field(default_factory=EachFlags)


def build(
    service: str | None, method: str | None, asked: Asked, settings: Settings, environ: Mapping[str, str]
) -> CallRequest:
    """The whole request, every default in its place. Raises UsageError for options that contradict each other."""
    who, direct = asked.who, asked.reach.backends is not None
    named, method = target_of(service, method, settings, direct=direct)
    _refuse_contradictions(who, asked.each, settings)
    picks = who.backend is None and not asked.each.each
    policy = POLICIES[DEFAULT_POLICY] if not picks else chosen(who.policy, who.policy_opt, settings)
    if policy.name in GRPC_POLICIES:
        raise UsageError(f"policy {policy.name}: it picks inside of grpcio", "name one of lbctl's: lbctl policies")
    return CallRequest(
        service=named,
        method=method,
        policy=policy,
        seed=SystemRandom().randrange(_SEEDS),
        payload=_payload(asked, environ),
        backend=who.backend,
        hash_key=source_for(policy, who.hash_key) if picks else None,
        timeout_s=asked.request.timeout,
        repeat=who.repeat,
        each=asked.each.each,
        keep=settings.output in _WHOLE,
        defaults=asked.reply.defaults,
        reads=settings.output != "raw",
        reach=settings.reach,
        connection=connection_of(asked.reach, settings),
        backends=given(named, asked.reach.backends or ()),
        limits=settings.limits,
        prefix=settings.prefix,
        layout=settings.layout,
        named_by=settings.service_from,
        again=suggestions.again(settings),
        schema=source_of(asked.schema),
    )


def target_of(service: str | None, method: str | None, settings: Settings, *, direct: bool) -> tuple[str, str]:
    """SERVICE and METHOD; raises UsageError where one is missing."""
    if direct and method is None and service is not None and "/" not in service:
        return "backends", service  # no call without a METHOD, and its backends need no name
    same = suggestions.again(settings)
    named, method = split_target(service, method, direct=direct, look=same.command("ls"), command="call")
    if method is None:
        see = "lbctl methods --backends LIST" if direct else same.command("methods", named)
        raise UsageError("call needs a METHOD", f"see what there is: {see}")
    return named, method


def _refuse_contradictions(who: WhoFlags, every: EachFlags, settings: Settings) -> None:
    picking = {"--policy": who.policy, "--policy-opt": who.policy_opt, "--hash-key": who.hash_key}
    other = next((flag for flag, value in picking.items() if value), None)
    if who.backend is not None and other is not None:
        raise UsageError(f"--backend names who is called, and {other} is for a policy that picks", _ONE_OUT)
    if every.each:
        other = other or ("--backend" if who.backend is not None else "--repeat" if who.repeat is not None else None)
        if other is not None:
            raise UsageError(f"--each calls every backend once, and {other} is for calls of some", _ONE_OUT)
    elif every.ignore or every.exit_zero:
        flag = "--ignore" if every.ignore else "--exit-zero"
        raise UsageError(f"{flag} is for --each", "leave it out, or give --each too")
    wrong = settings.output in (SINGLE if every.each else EVERY) and settings.output != SINGLE[0]
    if wrong:
        others = EVERY if every.each else SINGLE
        raise UsageError(
            f"-o {settings.output} is for calls {'without' if every.each else 'with'} --each",
            f"use one of: {', '.join((*others, *BOTH))}",
        )


def input_of(asked: Asked, settings: Settings) -> StandardInput | None:
    """Standard input, where the request or messages may come from there."""
    others = asked.files.data_file is not None or asked.request.binary_file is not None
    return standard_input(asked.request.data, settings, otherwise=others)


def notes_of(asked: Asked) -> Iterator[str]:
    """What was said of metadata and will hardly be what was meant, a line each."""
    yield from (f"note: {slip}" for slip in slips(asked.request, _data(asked)))


def _data(asked: Asked) -> DataFlags:
    return DataFlags(**{each.name: getattr(asked.files, each.name) for each in fields(FileFlags)})


def _payload(asked: Asked, environ: Mapping[str, str]) -> Payload:
    timeout_s = DEFAULT_TIMEOUT_S if asked.request.timeout is None else asked.request.timeout
    files = _data(asked)
    request = asked.request
    if request.data in STANDARD_INPUT and files.data_file is None and request.binary_file is None:
        request = replace(request, data=None)  # it is read while the call lasts
    payload = payload_of(request, files, streaming_of(asked.stream, timeout_s), environ)
    order = Order.ONCE if asked.who.repeat is None else Order.SEQUENTIAL
    return replace(payload, given=replace(payload.given, order=order))


def connection_of(flags: ReachFlags, settings: Settings) -> ConnectionOptions:
    """How backends are connected to: with everything of their replies kept."""
    return ConnectionOptions(
        connect_timeout_s=settings.reach.connect_timeout_s,
        limits=Limits(max_message=flags.max_msg_size or MAX_MESSAGE, headers=True),
    )
