"""``lbctl call``: its options; the reply goes to standard output, where it came from and why to standard error."""

from __future__ import annotations

import os
from typing import Final

from lbctl.cli.arguments import CalledServiceArgument, MethodArgument
from lbctl.cli.call_options import EachFlags, ReplyFlags, WhoFlags
from lbctl.cli.connection_options import ReachFlags
from lbctl.cli.help import Command
from lbctl.cli.options import detail, with_settings
from lbctl.cli.request_data_options import FileFlags
from lbctl.cli.request_options import RequestFlags, StreamFlags
from lbctl.cli.schema_options import SchemaFlags
from lbctl.cli.settings import Settings

ABOUT = """\
Call one method through the embedded balancer: which backend was picked, why, and what it replied.

The reply is JSON on standard output, a line for each message; standard error tells where the call went, by which
policy, how it ended and how long it took. With -v also the candidates of the pick, the metadata that was sent (secrets
hidden), and headers, trailers and status that came back. A failed call ends with status 64 plus its gRPC code, after
its message and details on standard error.

A client that streams sends the messages of -d; with -d @, or without data, those of standard input as they come, a
JSON value a line, without a deadline unless -t gives one. On a terminal they are typed: Ctrl-D ends our side, Ctrl-C
the call.

With --each every backend is called: a table of status, latency and reply, and of the fields that some reply otherwise
than most, which finds a half-deployed fleet. The exit status is 1 where a call failed or replies differ.

-o json and yaml tell all of that as one document, jsonl as a line for each call; pretty indents replies, text is
protobuf's text format, raw their octets (of a stream each behind its length as a varint)."""
EXAMPLES = (
    """lbctl call echo Echo/Say -d '{"message": "hi"}'""",
    "lbctl call echo Echo/Say --policy p2c --repeat 5 -v",
    "lbctl call echo Echo/Say --backend 127.0.0.1:50051",
    """lbctl call echo Echo/Repeat -d '{"message": "a", "count": 3}'""",
    "lbctl call echo Echo/Say --each --ignore backend,sequence",
    "tail -f events.ndjson | lbctl call shop Audit/Record",
    "lbctl call shop Cart/Get -d @get.json -H 'token: ${T}' --expand-headers",
    "lbctl call --backends unix:/run/shop.sock shop.Cart/Get -o json",
)
FORMATS: Final = ("reply", "pretty", "text", "json", "yaml", "jsonl", "raw", "table", "wide", "csv")


@with_settings(outputs=FORMATS, layouts=True, headers=True, backends=True)
def call(
    service: CalledServiceArgument = None,
    method: MethodArgument = None,
    *,
    who: WhoFlags,
    every: EachFlags,
    request: RequestFlags,
    files: FileFlags,
    stream: StreamFlags,
    schema: SchemaFlags,
    reach: ReachFlags,
    reply: ReplyFlags,
    settings: Settings,
) -> int:
    """Call one method, and tell where the call went and why."""
    from lbctl.cli.call_output import CallPrinter
    from lbctl.cli.call_request import Asked, build, input_of, notes_of
    from lbctl.cli.listeners import while_read
    from lbctl.cli.measuring import measured
    from lbctl.cli.screens import caps_of
    from lbctl.clock import SystemClock
    from lbctl.commands.call import run
    from lbctl.commands.hammer import Tell

    asked = Asked(who, request, files, stream, reach, schema, reply, every)
    wanted = build(service, method, asked, settings, os.environ)
    given = input_of(asked, settings)
    prompt = given.prompt if given is not None else None
    printer = CallPrinter(settings, caps_of(settings), wanted.service, prompt)
    for note in notes_of(asked):
        printer.note(note)
    tell = Tell(printer.note, detail(settings))
    if every.each:
        from lbctl.cli.call_each import call_each

        return call_each(wanted, every, settings, tell, given)
    called = measured(
        settings,
        lambda etcd: while_read(run(etcd, SystemClock(), wanted, printer, tell, given)),
        direct=bool(wanted.backends),
    )
    printer.finish(called)
    if called.error is not None:
        raise called.error
    return called.exit_status


COMMAND = Command(call, ABOUT, EXAMPLES)
