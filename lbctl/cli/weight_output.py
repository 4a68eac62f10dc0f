"""What ``weight``, ``drain`` and ``undrain`` print: weights as they are, and as they become."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lbctl.cli.writing import Printer, instances, remarks
from lbctl.discovery.weight_report import DRAIN, DRY_RUN, LOST, UNCHANGED, UNDRAIN, WRITTEN, WeightReport

if TYPE_CHECKING:
    from lbctl.view.plain_table import Rendered
    from lbctl.view.services import Look


class WeightPrinter(Printer[WeightReport]):
    """Prints weights in the format asked for."""

    def look(self, report: WeightReport, *, many: bool) -> None:
        """Print what one look found and what became of it; of ``many`` looks each is a block."""
        if not many:
            self.found(report)
        elif self.is_table:
            print(  # noqa: T201
                f"{report.at.astimezone():%H:%M:%S}  {self.became(report)}\n{self.text(report)}\n", flush=True
            )
            self.tell_hidden()
        else:
            self.result(report)

    def table(self, report: WeightReport, look: Look) -> Rendered:
        """One row per instance."""
        from lbctl.view.weights import weights_table

        return weights_table(report, look)

    def document(self, report: WeightReport) -> dict[str, Any]:
        """The document of ``-o json``."""
        from lbctl.view.weights import weights_document

        return weights_document(report)

    def became(self, report: WeightReport) -> str:
        """Say what became of it, what else there is to say, and what takes it back."""
        told = _turned(report) if report.action in (DRAIN, UNDRAIN) else _weighed(report)
        remark = "" if report.state == LOST else report.note
        undo = f"undo: {report.undo}" if report.state == WRITTEN and report.undo else ""
        return remarks(told, remark, undo)


def _weighed(report: WeightReport) -> str:
    changing = sum(row.changes for row in report.rows)
    weights = "1 weight" if changing == 1 else f"{changing} weights"
    return {
        UNCHANGED: "no weight changes",
        DRY_RUN: f"{weights} would change; nothing was written{_owner(report)}",
        LOST: "keys changed meanwhile; nothing was written",
        WRITTEN: f"{weights} written at revision {report.revision}; {_lasts(report, 'writes a weight of its own')}",
    }[report.state]


def _turned(report: WeightReport) -> str:
    out = report.action == DRAIN
    turned = instances(sum(row.changes for row in report.rows))
    match report.state:
        case "unchanged":
            return "nothing to do: out of the rotation already" if out else "nothing to do: not drained"
        case "dry_run":
            return f"{turned} would be {report.action}ed; nothing was written{_owner(report)}"
    told = f"{turned} {report.action}ed at revision {report.revision}"
    return f"{told}; {_lasts(report, 'is back in the rotation')}" if out else told


def _lasts(report: WeightReport, how: str) -> str:
    return _rewrites(report) or f"who registers again {how}"


def _owner(report: WeightReport) -> str:
    """What would follow a write, where its owner does not leave it at that."""
    rewrites = _rewrites(report)
    return f"; {rewrites}" if rewrites else ""


def _rewrites(report: WeightReport) -> str:
    from lbctl.discovery.registering import keeper_of

    return keeper_of(report.layout).rewrites
