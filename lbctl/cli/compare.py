"""``lbctl compare``: policies under the same load, a screen on standard error, the result on standard output."""

from __future__ import annotations

import os
from typing import Final

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
from lbctl.cli.schema_options import SchemaFlags
from lbctl.cli.settings import Settings
from lbctl.cli.unserved_options import UnservedFlags
from lbctl.cli.verdict_options import EndFlags, conditions_of

ABOUT = """\
Put the same load on a service through several policies, and tell what each does better or worse than the first.

Every policy runs once in every round, by default interleaved (ABC BCA CAB), so that what changes slowly is no
difference of theirs; -n and -z are of each run. Each run makes its connections anew, and warms up anew with --warmup.
Differences are made within rounds and have 95 % intervals over rounds. Ctrl-C ends it, twice without waiting for
calls in flight; runs that are complete are reported."""
EXAMPLES = (
    "lbctl compare echo --policy smooth_wrr --policy p2c -n 10k",
    "lbctl compare echo --policy p2c --policy least_request,choice-count=3 -z 10s",
    "lbctl compare echo --policy p2c --policy random -r 500 -o html > c.html",
    "lbctl compare echo --policy p2c --policy edf --fail-on-regression 'p99<10%'",
    "lbctl compare shop Cart/Get --policy maglev --policy jump --hash-key uuid",
)
FORMATS: Final = ("text", "json", "yaml", "jsonl", "csv", "html")


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
    schema: SchemaFlags,
    again: RetryFlags,
    guards: GuardFlags,
    connection: ConnectionFlags,
    result: ScreenFlags,
    ends: EndFlags,
    named: RunFlags,
    unserved: UnservedFlags,
    settings: Settings,
) -> int:
    """Compare policies under the same load."""
    from lbctl.cli import suggestions
    from lbctl.cli.compare_output import ComparisonSink, screen_of
    from lbctl.cli.compare_request import comparison_of
    from lbctl.cli.hammer_request import Asked, slips, split_target
    from lbctl.cli.hammer_screens import caps_for, say_what_clashes
    from lbctl.cli.measuring import measured
    from lbctl.clock import SystemClock
    from lbctl.commands.compare import run
    from lbctl.commands.hammer import Tell

    unserved.refuse()
    direct = connection.backends is not None
    look = suggestions.again(settings).command("ls")
    service, method = split_target(service, method, direct=direct, command="compare", look=look)
    asked = Asked(load.of_a_policy(), request, stream, connection, hash_keys, again, guards, pacing, data, schema)
    wanted = comparison_of(
        service, method, contest, asked, settings, os.environ, named, abort_on=conditions_of(ends, settings)
    )
    caps = caps_for(settings, result)
    with ComparisonSink(settings, caps, result, f"compare-{service}") as sink:
        for note in wanted.notes:
            sink.note(f"note: {note}")
        for slip in slips(request, data):
            sink.note(f"note: {slip}")
        say_what_clashes(settings, caps, result, sink)
        if wanted.order == "parallel":
            sink.note(f"note: --order parallel: {len(wanted.contenders)} policies share the load and the backends")
        screen = screen_of(settings, caps, result, sink)
        tell = Tell(sink.note, detail(settings))
        compared = measured(settings, lambda etcd: run(etcd, SystemClock(), wanted, screen, tell), direct=direct)
        return sink.end(compared, contest.fail_on_regression or (), forgive=ends.exit_zero)


COMMAND = Command(compare, ABOUT, EXAMPLES)
