"""Policies for people and programs: the list of all, and the document of all or one."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

from lbctl.balance.guide import EXPECTED, Example, Explained
from lbctl.balance.policies.base import Policy
from lbctl.balance.policies.options import Described, described
from lbctl.view.figures import Document
from lbctl.view.output import as_csv
from lbctl.view.plain_table import Cell, Column, Rendered, render
from lbctl.view.services import Look as TableLook
from lbctl.view.text import NONE, cell_len
from lbctl.view.theme import Look

POLICIES = "lbctl.policies/v1"
_COLUMNS = ("name", "kind", "cost", "keyed", "summary", "aliases", "options")
_GAP, _LEAST = 2, 20  # between columns; cells of a summary


def policies_table(policies: Sequence[Policy], look: TableLook, *, wide: bool = False) -> Rendered:
    """Lay out one row per policy, as wide as that is."""
    columns: list[Column[Policy]] = [
        Column("NAME", lambda p: Cell(p.name, "bold")),
        Column("KIND", lambda p: Cell(p.expectation.value)),
        Column("COST", lambda p: Cell(p.cost)),
        Column("KEY", lambda p: Cell("key" if p.keyed else NONE)),
        Column("SUMMARY", lambda p: Cell(p.summary)),
        *(_wide_columns() if wide else []),
    ]
    return render(columns, policies, look.style, headers=look.headers)


def _wide_columns() -> list[Column[Policy]]:
    return [
        Column("ALIASES", lambda p: Cell(", ".join(p.aliases) or NONE)),
        Column("OPTIONS", lambda p: Cell(", ".join(each.name for each in described(p.options)) or NONE)),
    ]


def policies_list(policies: Sequence[Policy], look: Look, width: int) -> list[str]:
    """Return the policies under what can be expected of them, with their costs where there is room for all."""
    names = max(cell_len(policy.name) for policy in policies) + _GAP
    room = width - _GAP - names
    costs = max(cell_len(policy.summary) for policy in policies) + _GAP
    costs = costs if room >= costs + max(cell_len(policy.cost) for policy in policies) else 0
    lines: list[str] = []
    for kind, meaning in EXPECTED.items():
        members = [policy for policy in policies if policy.expectation is kind]
        if members:
            first, *rest = wrap(f"{kind.value}: {meaning}", width, subsequent_indent="    ")
            lines += ["", look.paint(look.style.bold, kind.value) + first[len(kind.value) :], *rest]
        for policy in members:
            lines += _listed(policy, names, room, costs, look)
    return lines[1:]


def _listed(policy: Policy, names: int, room: int, costs: int, look: Look) -> list[str]:
    """A name and its summary on as many lines as that takes; with ``costs`` cells for the summary, the cost behind."""
    first, *rest = wrap(policy.summary, costs or max(room, _LEAST), break_on_hyphens=False)
    cost = look.paint(look.style.muted, policy.cost)
    name = " " * _GAP + look.paint(look.style.accent, policy.name) + " " * (names - cell_len(policy.name))
    head = name + (f"{first:<{costs}}{cost}" if costs else first)
    return [head, *(" " * (_GAP + names) + line for line in rest)]


def policies_csv(policies: Sequence[Policy], *, headers: bool = True) -> str:
    """One record per policy; aliases and options are separated by blanks."""
    rows = [
        (
            *(each.name, each.expectation.value, each.cost, each.keyed, each.summary),
            *(" ".join(each.aliases), " ".join(option.name for option in described(each.options))),
        )
        for each in policies
    ]
    return as_csv(_COLUMNS, rows, headers=headers)


def policies_document(policies: Sequence[Policy], explained: Explained | None = None) -> Document:
    """The list as a plain dict; ``about`` and ``example`` are those of the only policy, null in a list."""
    return {"schema": POLICIES, "policies": [_policy(each, explained) for each in policies]}


def _policy(policy: Policy, explained: Explained | None) -> Document:
    return {
        "name": policy.name,
        "aliases": list(policy.aliases),
        "kind": policy.expectation.value,
        "cost": policy.cost,
        "keyed": policy.keyed,
        "summary": policy.summary,
        "options": [_option(each) for each in described(policy.options)],
        "about": None if explained is None else explained.about,
        "example": None if explained is None or explained.example is None else _example(explained.example),
    }


def _option(option: Described) -> Document:
    return {"name": option.name, "default": option.default, "values": option.values, "help": option.help}


def _example(example: Example) -> Document:
    return {
        "setting": example.setting,
        "keys": list(example.keys),
        "picks": list(example.picks),
        "shares": dict(example.shares),
        "why": example.why.text,
    }
