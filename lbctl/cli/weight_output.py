"""Where ``lbctl weight`` speaks: results to standard output, questions and notes to standard error."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from lbctl.cli.screens import caps_of
from lbctl.cli.settings import Settings

if TYPE_CHECKING:
    from lbctl.discovery.weight_report import WeightReport
    from lbctl.view.theme import Glyphs, Style


class Printer:
    """Prints what weights are and become, in the format asked for."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._caps = caps_of(settings)
        self._hidden: list[str] = []

    def result(self, report: WeightReport) -> None:
        """Print the result, or one of many."""
        print(self._text(report), flush=True)  # noqa: T201

    def written(self, report: WeightReport, revision: int) -> None:
        """Print what was written, and what may undo it."""
        from lbctl.discovery.weight_report import WRITTEN

        done = replace(report, state=WRITTEN, revision=revision)
        self.result(done)
        self.note(_became(done))

    def found(self, report: WeightReport, *, many: bool) -> None:
        """Print what one look found and what became of it; of ``many`` looks each is a block."""
        if not many:
            self.result(report)
            self.note(_became(report))
        elif self._settings.output in ("table", "wide"):
            print(f"{report.at.astimezone():%H:%M:%S}  {_became(report)}\n{self._text(report)}\n", flush=True)  # noqa: T201
        else:
            self.result(report)

    def plan(self, report: WeightReport) -> None:
        """Show what is about to be written, to be asked about."""
        caps = self._caps
        self._say(self._table(report, caps.err_style, caps.err_glyphs, caps.out_width))

    def note(self, line: str) -> None:
        """One line to standard error, unless -q."""
        if not self._settings.quiet:
            self._say(line)

    def agreed(self, question: str) -> bool:
        """Ask on the terminal; anything but yes is no."""
        print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)  # noqa: T201
        return sys.stdin.readline().strip().lower() in ("y", "yes")

    def _text(self, report: WeightReport) -> str:
        from lbctl.view import output
        from lbctl.view.weights import weights_document

        match self._settings.output:
            case "json":
                return output.as_json(weights_document(report))
            case "jsonl":
                return output.as_json_line(weights_document(report))
            case "yaml":
                return output.as_yaml(weights_document(report))
        caps = self._caps
        width = None if self._settings.output == "wide" else caps.out_width
        return self._table(report, caps.out_style, caps.out_glyphs, width)

    def _table(self, report: WeightReport, style: Style, glyphs: Glyphs, width: int | None) -> str:
        from lbctl.view.services import Look
        from lbctl.view.weights import weights_table

        look = Look(style, glyphs, width, headers=not self._settings.no_headers)
        table = weights_table(report, look)
        if table.hidden and table.hidden != self._hidden:
            self._hidden = table.hidden  # once is enough
            self.note(f"hidden: {', '.join(table.hidden)} (use -o wide)")
        return "\n".join(table.lines)

    @staticmethod
    def _say(text: str) -> None:
        with suppress(OSError):  # nobody reads it any more
            print(text, file=sys.stderr, flush=True)  # noqa: T201


def _became(report: WeightReport) -> str:
    """Say in a line what became of a report."""
    from lbctl.discovery.weight_report import DRY_RUN, LOST, UNCHANGED, WRITTEN

    changing = sum(row.changes for row in report.rows)
    weights = "1 weight" if changing == 1 else f"{changing} weights"
    return {
        UNCHANGED: "no weight changes",
        DRY_RUN: f"{weights} would change; nothing was written",
        LOST: "keys changed meanwhile; nothing was written",
        WRITTEN: f"{weights} written at revision {report.revision}; who registers again writes a weight of its own",
    }[report.state]
