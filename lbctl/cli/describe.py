"""``lbctl describe``: its options, and definitions on standard output."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

from lbctl.cli.completion_sources import symbols
from lbctl.cli.flags import Flags, argument, switch
from lbctl.cli.help import Command
from lbctl.cli.options import with_settings
from lbctl.cli.schema_asking import AskFlags, answered, asked_of, service_argument, words_of
from lbctl.cli.schema_options import PANEL, SchemaFlags
from lbctl.cli.settings import Settings
from lbctl.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from lbctl.commands.describing import Answer, Asked
    from lbctl.rpc.schemas.resolving import Described

ABOUT = """\
Show a service, method, message, enum or extension as protobuf source, by server reflection of the first backend that
answers, or as files describe it.

SYMBOL is a full name, the end of one if that is clear, or a proto file; without it the services are shown. A method
comes with its messages. --template prints a request as JSON to be filled in, for -d: every field once, of a oneof the
first, lists and maps with one entry, of a client stream an array."""
EXAMPLES = (
    "lbctl describe echo",
    "lbctl describe echo Echo/Say",
    "lbctl describe echo Echo/Say --template > say.json",
    "lbctl describe echo SayRequest -o json",
    "lbctl describe --backends 127.0.0.1:50051 grpc.health.v1.Health",
    "lbctl describe --proto shop.proto --import-path protos shop.v1.Cart",
)
FORMATS: Final = ("text", "json", "yaml", "name")


@dataclass(frozen=True, slots=True)
class TemplateFlags(Flags):
    """In which form it is shown."""

    template: Annotated[
        bool,
        switch("--template", text="print JSON to fill in: a method's request, or a message", panel=PANEL),
    ] = False


ServiceArgument = Annotated[str | None, service_argument(symbols)]
SymbolArgument = Annotated[
    str | None,
    argument(metavar="SYMBOL", text="a full name, the end of one, or a proto file", completes=symbols),
]


@with_settings(outputs=FORMATS, layouts=True, backends=True)
def describe(
    service: ServiceArgument = None,
    symbol: SymbolArgument = None,
    *,
    form: TemplateFlags,
    asking: AskFlags,
    schema: SchemaFlags,
    settings: Settings,
) -> int:
    """Show definitions as protobuf source."""
    from lbctl.cli.suggestions import again
    from lbctl.commands.describe import Describe, fillable, run
    from lbctl.view.output import as_json_value

    service, symbol = words_of(service, symbol, asking, schema, look=again(settings).command("ls"))
    if form.template and settings.output != "text":
        raise UsageError(f"--template prints JSON, not {settings.output}", "leave -o out")
    asked = asked_of(service, asking, schema, settings)
    request = Describe(asked, symbol)
    answer = answered(settings, asked, lambda etcd: run(etcd, request))
    if form.template:
        print(as_json_value(fillable(answer.found, symbol)), flush=True)  # noqa: T201
    else:
        print(_text(answer, asked, settings), flush=True)  # noqa: T201
    if answer.backend is not None and not settings.quiet:
        print(f"told by {answer.backend} (reflection {answer.found.protocol})", file=sys.stderr)  # noqa: T201
    return ExitCode.OK


def _text(answer: Answer[Described], asked: Asked, settings: Settings) -> str:
    """The result in the format asked for."""
    from lbctl.cli.screens import caps_of
    from lbctl.view import described as view
    from lbctl.view import output

    if settings.output == "name":
        return view.described_names(answer.found)
    if settings.output == "text":
        return view.described_text(answer.found, caps_of(settings).out_style)
    origin = "" if asked.schema is None else asked.schema.origin
    backend = None if answer.backend is None else str(answer.backend)
    document = view.described_document(answer.found, answer.service, backend, origin)
    return output.as_json(document) if settings.output == "json" else output.as_yaml(document)


COMMAND = Command(describe, ABOUT, EXAMPLES)
