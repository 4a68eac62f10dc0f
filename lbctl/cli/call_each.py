"""``lbctl call --each``: the same call to every backend, and its result on standard output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lbctl.cli.printing import hidden_note, print_result
from lbctl.errors import ExitCode

if TYPE_CHECKING:
    from lbctl.cli.call_options import EachFlags
    from lbctl.cli.settings import Settings
    from lbctl.commands.call_feeding import Input
    from lbctl.commands.call_target import CallRequest
    from lbctl.commands.hammer import Tell
    from lbctl.load.agreement import Agreement


def call_each(request: CallRequest, flags: EachFlags, settings: Settings, tell: Tell, given: Input | None) -> int:
    """Call everybody and print what came of it; 1 where a call failed or replies differ."""
    from lbctl.cli.measuring import measured
    from lbctl.clock import SystemClock
    from lbctl.commands.call_each import run_each
    from lbctl.commands.stopping import spelled

    ignored = [path for paths in flags.ignore or () for path in paths]
    found, signal = measured(
        settings,
        lambda etcd: run_each(etcd, SystemClock(), request, ignored, tell, given),
        direct=bool(request.backends),
    )
    if found is not None:
        _print(found, settings)
    if signal is not None:
        print_result("", [f"cancelled by {spelled(signal)}"], settings)
        return 128 + signal
    return ExitCode.OK if found is None or found.is_whole or flags.exit_zero else ExitCode.CHECK_FAILED


def _print(found: Agreement, settings: Settings) -> None:
    from lbctl.view.call_each import each_hint, each_note

    text, hidden = _text(found, settings)
    hint = each_hint(found)
    print_result(text, [each_note(found), *hidden_note(hidden), *([f"hint: {hint}"] if hint else [])], settings)


def _text(found: Agreement, settings: Settings) -> tuple[str, list[str]]:
    """The result in the format asked for, and the columns that had no room."""
    from lbctl.cli.screens import caps_of
    from lbctl.view import call_each as view
    from lbctl.view import output
    from lbctl.view.services import Look

    match settings.output:
        case "json":
            return output.as_json(view.each_document(found)), []
        case "yaml":
            return output.as_yaml(view.each_document(found)), []
        case "csv":
            return view.each_csv(found, headers=not settings.no_headers), []
    caps, wide = caps_of(settings), settings.output == "wide"
    look = Look(caps.out_style, caps.out_glyphs, None if wide else caps.out_width, headers=not settings.no_headers)
    table = view.each_table(found, look, wide=wide)
    below = view.groups_table(found, look) if found.groups else None
    lines = [*table.lines, *(["", *below.lines] if below is not None else [])]
    return "\n".join(lines), [*table.hidden, *(below.hidden if below is not None else [])]
