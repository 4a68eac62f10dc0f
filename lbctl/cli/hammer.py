"""``lbctl hammer``: a screen on standard error, the result on standard output."""

from __future__ import annotations

import os
from dataclasses import replace

from lbctl.cli.arguments import CalledServiceArgument, MethodArgument
from lbctl.cli.connection_options import ConnectionFlags
from lbctl.cli.guard_options import GuardFlags
from lbctl.cli.hammer_options import LoadFlags, ResultFlags
from lbctl.cli.hash_key_options import HashKeyFlags
from lbctl.cli.help import Command
from lbctl.cli.options import detail, with_settings
from lbctl.cli.output_options import OutputFlags
from lbctl.cli.pacing_options import PacingFlags
from lbctl.cli.request_data_options import DataFlags
from lbctl.cli.request_options import RequestFlags, StreamFlags
from lbctl.cli.retry_options import RetryFlags
from lbctl.cli.run_options import RunFlags
from lbctl.cli.schema_options import SchemaFlags
from lbctl.cli.search_options import SearchFlags, searching_of
from lbctl.cli.settings import Settings
from lbctl.cli.verdict_options import VerdictFlags, conditions_of, thresholds_of
from lbctl.view.outputs import OUTPUTS

ABOUT = """\
Put load on a service through an embedded client-side balancer, and show what each backend got.

Without METHOD the health check is called, if the service offers it. The run is a closed loop, -c calls in flight
until -n were sent or -z has passed; with -r, --ramp, --steps, --stages or --replay an open one, where calls are sent
when they are due, whatever became of those before. Ctrl-C ends it gracefully; twice ends it
at once, with two lines instead of the summary."""
EXAMPLES = (
    "lbctl hammer echo -n 10000 --policy smooth_wrr",
    """lbctl hammer echo Echo/Say -d '{"message": "hi"}' -z 30s -c 100""",
    "lbctl hammer echo -r 2k -z 30s --policy random --seed 7 -o json > run.json",
    "lbctl hammer echo --find-max 'p99<20ms' -r 500",
    "lbctl hammer echo --stages 10s@500,20s@500:2k,30s@2k --arrival poisson",
    'lbctl hammer echo Echo/Chat -d \'[{"message": "a"}, {"message": "b"}]\' -z 5s',
    "lbctl hammer shop Cart/Add -D carts.csv --metadata-from tenant=x-tenant",
    "lbctl hammer shop --mix traffic.yaml -r 500 -z 1m",
    "lbctl hammer shop Cart/Get --tls-ca ca.pem -H 'token: ${T}' --expand-headers",
    "lbctl hammer echo -z 60s --health-check --outlier-detection interval=5s",
    "lbctl hammer echo -z 9s --breaker consecutive,failures=3 --when-all-out fail",
    "lbctl hammer --backends 10.0.0.11:50051=5,10.0.0.12:50051 pkg.Service/Method",
)


@with_settings(layouts=True, outputs=tuple(OUTPUTS), headers=True, backends=True)
def hammer(
    service: CalledServiceArgument = None,
    method: MethodArgument = None,
    *,
    load: LoadFlags,
    pacing: PacingFlags,
    hash_keys: HashKeyFlags,
    request: RequestFlags,
    data: DataFlags,
    stream: StreamFlags,
    schema: SchemaFlags,
    again: RetryFlags,
    guards: GuardFlags,
    connection: ConnectionFlags,
    verdict: VerdictFlags,
    named: RunFlags,
    search: SearchFlags,
    result: ResultFlags,
    outputs: OutputFlags,
    settings: Settings,
) -> int:
    """Put load on a service through a balancing policy."""
    from lbctl.cli import suggestions
    from lbctl.cli.ci import Ci
    from lbctl.cli.hammer_output import Sink
    from lbctl.cli.hammer_request import Asked, build, slips, split_target
    from lbctl.cli.hammer_screens import caps_for, screens
    from lbctl.cli.hammer_verdict import forgiven
    from lbctl.cli.measuring import measured
    from lbctl.clock import SystemClock
    from lbctl.commands.hammer import Tell, run
    from lbctl.view.sample_lines import LOOK_S

    direct = connection.backends is not None
    look = suggestions.again(settings).command("ls")
    service, method = split_target(service, method, direct=direct, look=look)
    searching, load = searching_of(search, load, pacing, verdict, data.data_order)
    if searching is not None and settings.output == "jsonl":
        searching = replace(searching, rest_s=2 * LOOK_S)
    asked = Asked(load, request, stream, connection, hash_keys, again, guards, pacing, data, schema)
    wanted = replace(
        named.applied(build(service, method, asked, settings, os.environ), quiet=settings.quiet or settings.no_input),
        thresholds=thresholds_of(verdict, settings),
        abort_on=conditions_of(verdict, settings) if searching is None else (),
        searching=searching,
    )
    caps = caps_for(settings, result)
    about = f"lbctl hammer {wanted.service}"
    with (
        Sink(settings, caps, result, wanted.service, strict=result.strict) as sink,
        Ci(verdict.ci or (), about, sink.say, result.strict) as ci,
    ):
        for slip in slips(request, data):
            sink.note(f"note: {slip}")
        tell = Tell(sink.note, detail(settings))
        with screens(settings, caps, result, outputs, sink) as screen:
            finished = measured(settings, lambda etcd: run(etcd, SystemClock(), wanted, screen, tell), direct=direct)
        ci.ended(finished)
        if verdict.exit_zero:
            return forgiven(lambda: sink.finish(finished), sink.note)
        return sink.finish(finished)


COMMAND = Command(hammer, ABOUT, EXAMPLES)
