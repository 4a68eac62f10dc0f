"""What happened on the connections of each backend, a line for each."""

from __future__ import annotations

from lbctl.stats.report import BackendRow
from lbctl.view.lines import rule
from lbctl.view.text import NONE, cell_len, count
from lbctl.view.theme import Look

_HEADS = ("OPEN", "OPENED", "LIMIT", "WAITING")
_WIDTHS = (6, 7, 6, 8)
_LEAST = 3  # a rule, heads and a row
_ADDRESS = (15, 40)


def connection_table(rows: list[BackendRow], lines: int, width: int, look: Look) -> list[str]:
    """At most ``lines`` lines, the last telling how many backends are left out; none where there is no room."""
    if not rows or lines < _LEAST:
        return []
    room = lines - 2
    shown = rows if len(rows) <= room else rows[: room - 1]
    addresses = [look.show(row.address) for row in shown]
    column = min(max([_ADDRESS[0], *map(cell_len, addresses)]), _ADDRESS[1])
    heads = "".join(f"{head:>{cells}}" for head, cells in zip(_HEADS, _WIDTHS, strict=True))
    found = [f"  {'ADDRESS':<{column}}{heads}  CLOSED"]
    for row, address in zip(shown, addresses, strict=True):
        found.append(f"  {look.left(address, column)}{_figures(row)}  {_closed(row, look)}")
    if len(shown) < len(rows):
        found.append(f"  {len(rows) - len(shown):,} more")
    return [rule("BACKENDS", width, look), *(look.elide(line.rstrip(), width) for line in found)]


def _figures(row: BackendRow) -> str:
    wire = row.wire
    limit = NONE if wire.stream_limit is None else count(wire.stream_limit, 5)
    cells = (count(wire.sockets, 5), count(wire.opened, 6), limit, count(wire.waiting, 7))
    return "".join(f"{text:>{width}}" for text, width in zip(cells, _WIDTHS, strict=True))


def _closed(row: BackendRow, look: Look) -> str:
    """Return how its connections ended, the most frequent first."""
    return "  ".join(look.show(f"{reason} {number:,}") for reason, number in row.wire.closed.items()) or NONE
