"""The live view of a run as lines of text: a pure function of the report, the view's state and the window.

A frame comes in pieces, so that whoever draws it can let calls be sent and answered in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from lbctl.stats.report import BackendRow, Report
from lbctl.view.header import header, warning
from lbctl.view.layout import LINE_HEIGHT, LINE_WIDTH, Plan, plan
from lbctl.view.lines import filled
from lbctl.view.pages import connections_page, events_page, footer, one_line, registry_line, with_help
from lbctl.view.panels import lower
from lbctl.view.table import table
from lbctl.view.theme import Glyphs, Look, Style
from lbctl.view.ui import Ui


def build(report: Report, ui: Ui, width: int, height: int, style: Style, glyphs: Glyphs) -> list[str]:
    """Exactly ``height`` lines of at most ``width`` cells each, SGR sequences included."""
    hold(report, ui)
    return list(chain.from_iterable(pieces(report, ui, width, height, Look(style, glyphs))))


def hold(report: Report, ui: Ui) -> None:
    """Take what must add up with the report's totals at the moment of the report: its histograms go on counting."""
    sight = ui.sight
    sight.hold(report, recent=ui.recent)
    chosen = None if ui.recent else _chosen(ui.ordered(report), ui)  # figures to order a window by are yet to be made
    sight.digests.hold(report.latency, *([chosen.latency] if chosen else []))


def _chosen(rows: list[BackendRow], ui: Ui) -> BackendRow | None:
    return rows[ui.position(rows)] if rows and ui.can_type else None


def pieces(report: Report, ui: Ui, width: int, height: int, look: Look) -> Iterator[list[str]]:
    """Yield a frame a few lines at a time, of a report that is held."""
    for _ in ui.sight.look(report):
        yield []
    yield []
    figures = ui.sight.figures or report
    if tiny(width, height):
        asked = ui.asked is not None
        line = registry_line(ui.asked, "", width, look) if asked else one_line(report, figures, ui, width, look)
        yield filled([line], height)
        return
    shape = planned(report, ui, width, height)
    yield header(report, figures, ui, width, look)
    if shape.warning:
        yield [warning(report, width, look)]
    yield from _body(figures, ui, shape, width, look)
    yield [footer(report, ui, width, look)]


def tiny(width: int, height: int) -> bool:
    """Whether the window only has room for one line."""
    return width < LINE_WIDTH or height < LINE_HEIGHT


def planned(report: Report, ui: Ui, width: int, height: int) -> Plan:
    """How a window that is not tiny is divided."""
    warned = bool(report.generator.warnings)
    return plan(width, height, len(ui.listed(report)), histogram=ui.histogram, warning=warned)


def _body(report: Report, ui: Ui, shape: Plan, width: int, look: Look) -> Iterator[list[str]]:
    """Everything between header and keys."""
    if ui.page == "events":
        yield events_page(report, ui, shape.body, width, look)
    elif ui.page == "connections":
        yield connections_page(report, ui, shape.body, width, look)
    else:
        ordered = ui.ordered(report)
        main = chain(
            table(report, ordered, ui, shape.rows, width, look),
            lower(report, ui, shape, _chosen(ordered, ui), width, look),
        )
        if ui.page == "help":
            yield with_help(list(chain.from_iterable(main)), width, look, scroll=ui.scroll)
        else:
            yield from main
