"""What ``register`` and ``deregister`` print: keys, what they hold, and what they are to hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lbctl.cli.writing import Printer
from lbctl.discovery.change_report import DEREGISTER, ChangeReport
from lbctl.discovery.weight_report import WRITTEN

if TYPE_CHECKING:
    from lbctl.view.plain_table import Rendered
    from lbctl.view.services import Look


class ChangePrinter(Printer[ChangeReport]):
    """Prints keys in the format asked for."""

    def table(self, report: ChangeReport, look: Look) -> Rendered:
        """One row per key and address."""
        from lbctl.view.changes import changes_table

        return changes_table(report, look)

    def document(self, report: ChangeReport) -> dict[str, Any]:
        """The document of ``-o json``."""
        from lbctl.view.changes import changes_document

        return changes_document(report)

    def became(self, report: ChangeReport) -> str:
        """Say what became of it, and what may undo it."""
        count = len({row.key for row in report.rows})
        keys = "1 key" if count == 1 else f"{count} keys"
        done = "deleted" if report.action == DEREGISTER else "written"
        if report.state != WRITTEN:
            return f"{keys} would be {done}; nothing was written"
        told = f"{keys} {done} at revision {report.revision}"
        return f"{told}; {_restored(report.layout)}" if report.action == DEREGISTER else told


def _restored(layout: str) -> str:
    from lbctl.discovery.registering import keeper_of

    keeper = keeper_of(layout)
    return keeper.restores or keeper.rewrites or "who registered it and still runs may register it again"
