"""``lbctl methods``: its options, and what backends offer on standard output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

from lbctl.cli.completion_sources import methods as method_names
from lbctl.cli.flags import Flags, argument, switch
from lbctl.cli.help import Command
from lbctl.cli.options import with_settings
from lbctl.cli.printing import hidden_note, print_result
from lbctl.cli.schema_asking import AskFlags, answered, asked_of, service_argument, words_of
from lbctl.cli.schema_options import PANEL, SchemaFlags
from lbctl.cli.settings import Settings
from lbctl.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from lbctl.rpc.schemas.offering import Offered
    from lbctl.view.caps import Caps

ABOUT = """\
List the methods that a service offers, by server reflection of the first backend that answers, or as files describe
them.

PATTERN leaves those that have it in their name, or are like it by wildcards. With --all every backend is asked: ON is
how many offer a method, and below is where they describe the same thing differently, as in a fleet that is half
deployed. KIND says which sides stream: unary none, client, server, or bidi both."""
EXAMPLES = (
    "lbctl methods echo",
    "lbctl methods echo Say -o json",
    "lbctl methods echo --all",
    "lbctl methods echo --backend 127.0.0.1:50051",
    "lbctl methods --backends 127.0.0.1:50051 'grpc.*'",
    "lbctl methods --protoset shop.binpb -o name",
)
FORMATS: Final = ("table", "wide", "json", "yaml", "csv", "name")


@dataclass(frozen=True, slots=True)
class EveryFlags(Flags):
    """How many are asked."""

    every: Annotated[bool, switch("--all", text="ask every backend, and show where they differ", panel=PANEL)] = False


ServiceArgument = Annotated[str | None, service_argument(method_names)]
PatternArgument = Annotated[
    str | None,
    argument(metavar="PATTERN", text="part of a method's name, or wildcards: 'Cart/*'", completes=method_names),
]


@with_settings(outputs=FORMATS, layouts=True, headers=True, backends=True)
def methods(
    service: ServiceArgument = None,
    pattern: PatternArgument = None,
    *,
    every: EveryFlags,
    asking: AskFlags,
    schema: SchemaFlags,
    settings: Settings,
) -> int:
    """List the methods that a service offers."""
    from lbctl.cli.screens import caps_of
    from lbctl.cli.suggestions import again
    from lbctl.commands.methods import Methods, run

    service, pattern = words_of(service, pattern, asking, schema, look=again(settings).command("ls"))
    if every.every and (asking.backend is not None or schema.protoset or schema.proto):
        one = "--backend" if asking.backend is not None else "--protoset" if schema.protoset else "--proto"
        raise UsageError(f"--all asks every backend, and {one} is another source", "leave one of them out")
    asked = asked_of(service, asking, schema, settings)
    request = Methods(asked, pattern or "", every=every.every)
    offered = answered(settings, asked, lambda etcd: run(etcd, request))
    _print(offered, settings, caps_of(settings), every=every.every)
    return ExitCode.OK


def _print(offered: Offered, settings: Settings, caps: Caps, *, every: bool) -> None:
    from lbctl.view.offered import method_notes

    text, hidden = _text(offered, settings, caps, every=every)
    print_result(text, [*method_notes(offered, every=every), *hidden_note(hidden)], settings)


def _text(offered: Offered, settings: Settings, caps: Caps, *, every: bool) -> tuple[str, list[str]]:
    """The result in the format asked for, and the columns that had no room."""
    from lbctl.view import offered as view
    from lbctl.view import output
    from lbctl.view.services import Look

    match settings.output:
        case "json":
            return output.as_json(view.methods_document(offered)), []
        case "yaml":
            return output.as_yaml(view.methods_document(offered)), []
        case "csv":
            return view.methods_csv(offered, headers=not settings.no_headers), []
        case "name":
            return view.method_names(offered), []
    wide = settings.output == "wide"
    look = Look(caps.out_style, caps.out_glyphs, None if wide else caps.out_width, headers=not settings.no_headers)
    table = view.methods_table(offered, look, every=every, wide=wide)
    below = view.differences_table(offered, look, wide=wide) if offered.differences else None
    lines = [*table.lines, *(["", *below.lines] if below is not None else [])]
    return "\n".join(lines), [*table.hidden, *(below.hidden if below is not None else [])]


COMMAND = Command(methods, ABOUT, EXAMPLES)
