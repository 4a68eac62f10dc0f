"""``lbctl compare``: policies under the same load, a screen on standard error, the result on standard output."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from lbctl.cli.arguments import CalledServiceArgument, MethodArgument
from lbctl.cli.compare_options import ContestFlags
from lbctl.cli.connection_options import ConnectionFlags
from lbctl.cli.guard_options import GuardFlags
from lbctl.cli.hammer_options import AmountFlags, ScreenFlags
from lbctl.cli.hash_key_options import HashKeyFlags
from lbctl.cli.help import Command
from lbctl.cli.options import detail, with_settings
from lbctl.cli.pacing_options import PacingFlags
from lbctl.cli.request_data_options import DataFlags
from lbctl.cli.request_options import RequestFlags, StreamFlags
from lbctl.cli.retry_options import RetryFlags
from lbctl.cli.run_options import RunFlags
from lbctl.cli.settings import Settings

if TYPE_CHECKING:
    from lbctl.commands.compare import Compare, Compared
    from lbctl.commands.hammer import Tell
    from lbctl.commands.screen import CompareScreen

ABOUT = """\
Put the same load on a service through several policies, and tell what each does better or worse than the first.

Every policy runs once in every round, by default interleaved (ABC BCA CAB), so that what changes slowly is no
difference of theirs; -n and -z are of each run. Each run makes its connections anew, and warms up anew with --warmup.
Differences are made within rounds and have 95 % intervals over rounds. Ctrl-C ends it after the run that goes on,
twice at once; what is complete is reported."""
EXAMPLES = (
    "lbctl compare echo --policy smooth_wrr --policy p2c --policy peak_ewma -n 10000",
    "lbctl compare echo --policy least_request --policy least_request,choice-count=3 -z 10s --warmup 1s --rounds 5",
    "lbctl compare echo -r 500 -z 10s --policy round_robin --policy least_request -o html > compared.html",
    "lbctl compare echo -n 5000 --policy smooth_wrr --policy p2c_ewma --fail-on-regression 'p99<10%,error_rate'",
    "lbctl compare shop Cart/Get --policy random --policy ring_hash --hash-key uuid --save compared.json",
)
FORMATS: Final = ("text", "json", "yaml", "csv", "html")


@with_settings(layouts=True, outputs=FORMATS, headers=True, backends=True)
def compare(
    service: CalledServiceArgument = None,
    method: MethodArgument = None,
    *,
    contest: ContestFlags,
    load: AmountFlags,
    pacing: PacingFlags,
    hash_keys: HashKeyFlags,
    request: RequestFlags,
    data: DataFlags,
    stream: StreamFlags,
    again: RetryFlags,
    guards: GuardFlags,
    connection: ConnectionFlags,
    result: ScreenFlags,
    named: RunFlags,
    settings: Settings,
) -> int:
    """Compare policies under the same load."""
    from lbctl.cli import suggestions
    from lbctl.cli.compare_output import ComparisonSink
    from lbctl.cli.compare_request import comparison_of
    from lbctl.cli.hammer_request import slips, split_target
    from lbctl.cli.screens import caps_of
    from lbctl.commands.hammer import Tell
    from lbctl.view.compare_screens import compare_screen

    direct = connection.backends is not None
    look = suggestions.again(settings).command("ls")
    service, method = split_target(service, method, direct=direct, command="compare", look=look)
    wanted = comparison_of(
        service,
        method,
        contest,
        load,
        request,
        stream,
        connection,
        settings,
        os.environ,
        hash_keys=hash_keys,
        again=again,
        guards=guards,
        pacing=pacing,
        data=data,
        named=named,
    )
    caps = caps_of(settings, result.ui or "auto", result.fps)
    with ComparisonSink(settings, caps, result, f"compare-{service}") as sink:
        for slip in slips(request, data):
            sink.note(f"note: {slip}")
        if caps.refused:
            sink.note(f"note: --ui live: {caps.refused}; progress is shown as lines")
        if wanted.order == "parallel":
            sink.note(f"note: --order parallel: {len(wanted.contenders)} policies share the load and the backends")
        write = sink.note if result.ui is None else sink.say
        screen = compare_screen(caps, write, interval_s=result.interval)
        compared = _run(None if direct else settings, wanted, screen, Tell(sink.note, detail(settings)))
        return sink.end(compared, contest.fail_on_regression or ())


def _run(settings: Settings | None, wanted: Compare, screen: CompareScreen, tell: Tell) -> Compared:
    from lbctl.cli.loop import run_fast
    from lbctl.cli.registry import etcd_config
    from lbctl.clock import SystemClock
    from lbctl.commands.compare import run

    config = etcd_config(settings) if settings is not None else None

    async def work() -> Compared:
        if config is None:
            return await run(None, SystemClock(), wanted, screen, tell)
        from lbctl.etcd.client import Etcd

        async with Etcd(config) as etcd:
            return await run(etcd, SystemClock(), wanted, screen, tell)

    return run_fast(work())


COMMAND = Command(compare, ABOUT, EXAMPLES)
