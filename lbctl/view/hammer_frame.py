"""The live view of a run as lines of text: a pure function of the report, the view's state and the window."""

from __future__ import annotations

from lbctl.stats.report import Report
from lbctl.view.header import header, warning
from lbctl.view.layout import LINE_HEIGHT, LINE_WIDTH, Plan, plan
from lbctl.view.lines import filled
from lbctl.view.pages import connections_page, events_page, footer, one_line, with_help
from lbctl.view.panels import lower
from lbctl.view.table import table
from lbctl.view.theme import Glyphs, Look, Style
from lbctl.view.ui import Ui


def build(report: Report, ui: Ui, width: int, height: int, style: Style, glyphs: Glyphs) -> list[str]:
    """Exactly ``height`` lines of at most ``width`` cells each, SGR sequences included."""
    look = Look(style, glyphs)
    if tiny(width, height):
        return filled([one_line(report, ui, width, look)], height)
    return [
        *head(report, ui, width, height, look),
        *body(report, ui, width, height, look),
        foot(report, ui, width, look),
    ]


def tiny(width: int, height: int) -> bool:
    """Whether the window only has room for one line."""
    return width < LINE_WIDTH or height < LINE_HEIGHT


def planned(report: Report, ui: Ui, width: int, height: int) -> Plan:
    """How a window that is not tiny is divided."""
    warned = bool(report.generator.warnings)
    return plan(width, height, len(report.backends), histogram=ui.histogram, warning=warned)


def head(report: Report, ui: Ui, width: int, height: int, look: Look) -> list[str]:
    """Return the part that changes all the time."""
    lines = header(report, ui, width, look)
    if planned(report, ui, width, height).warning:
        lines.append(warning(report, width, look))
    return lines


def body(report: Report, ui: Ui, width: int, height: int, look: Look) -> list[str]:
    """Everything between header and keys: worth renewing a few times a second, no more."""
    shape = planned(report, ui, width, height)
    if ui.page == "events":
        return events_page(report, ui, shape.body, width, look)
    if ui.page == "connections":
        return connections_page(report, ui, shape.body, width, look)
    rows = ui.ordered(report)
    chosen = rows[ui.position(rows)] if rows and ui.can_type else None
    lines = table(report, ui, shape.rows, width, look) + lower(report, ui, shape, chosen, width, look)
    return with_help(lines, width, look) if ui.page == "help" else lines


def foot(report: Report, ui: Ui, width: int, look: Look) -> str:
    """Return the last line: keys, or what is being waited for."""
    return footer(report, ui, width, look)
