"""Policies for people and programs: the list of all, and the page of one."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

from lbctl.balance.guide import EXPECTED, MANY, Example, Explained, judged
from lbctl.balance.policies.base import Policy
from lbctl.balance.policies.options import Described, described
from lbctl.stats.report import Candidate, Explanation
from lbctl.view.explanation import explained as reasons
from lbctl.view.figures import Document
from lbctl.view.output import as_csv
from lbctl.view.plain_table import Cell, Column, Rendered, render
from lbctl.view.services import Look as TableLook
from lbctl.view.text import NONE
from lbctl.view.theme import Look

POLICIES = "lbctl.policies/v1"
_COLUMNS = ("name", "kind", "cost", "keyed", "summary", "aliases", "options")
_WIDTH = 80


def policies_table(policies: Sequence[Policy], look: TableLook, *, wide: bool = False) -> Rendered:
    """Lay out one row per policy."""
    columns: list[Column[Policy]] = [
        Column("NAME", lambda p: Cell(p.name, "bold")),
        Column("KIND", lambda p: Cell(p.expectation.value), keep=2),
        Column("COST", lambda p: Cell(p.cost), keep=4),
        Column("KEY", lambda p: Cell("key" if p.keyed else NONE), keep=3),
        Column("SUMMARY", lambda p: Cell(p.summary), shrink_to=30, cut="right"),
        *(_wide_columns() if wide else []),
    ]
    return render(columns, policies, look.style, width=look.width, headers=look.headers, ellipsis=look.glyphs.ellipsis)


def _wide_columns() -> list[Column[Policy]]:
    return [
        Column("ALIASES", lambda p: Cell(", ".join(p.aliases) or NONE), keep=5),
        Column("OPTIONS", lambda p: Cell(", ".join(each.name for each in described(p.options)) or NONE), keep=6),
    ]


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


def policy_page(explained: Explained, look: Look) -> str:
    """Return everything about one policy as text, with blank lines between its parts."""
    parts = [
        _head(explained.policy, look),
        [look.paint(look.style.bold, "How it works"), *explained.about.splitlines()],
        _options(explained, look),
        _worked(explained, look),
    ]
    return "\n\n".join("\n".join(line.rstrip() for line in part) for part in parts if part)


def _head(policy: Policy, look: Look) -> list[str]:
    rows = [
        ("aliases", ", ".join(policy.aliases)),
        ("expectation", f"{policy.expectation.value}: {EXPECTED[policy.expectation]}"),
        ("judged", judged(policy)),
        ("cost", f"{policy.cost} a pick"),
        ("key", "needed: --hash-key says what the key of a call is" if policy.keyed else ""),
    ]
    lines = [f"{look.paint(look.style.bold, policy.name)}  {policy.summary}"]
    for name, text in rows:
        if text:
            lines += wrap(text, _WIDTH, initial_indent=f"  {name:<13}", subsequent_indent=" " * 15)
    return lines


def _options(explained: Explained, look: Look) -> list[str]:
    lines = [look.paint(look.style.bold, "Options") + "  --policy-opt NAME=VALUE"]
    for each in explained.options:
        lines.append(f"  {each.name}={each.default}")
        lines += wrap(f"{each.help}; {each.values}", _WIDTH, initial_indent="      ", subsequent_indent="      ")
    return lines if explained.options else []


def _worked(explained: Explained, look: Look) -> list[str]:
    example = explained.example
    if example is None:
        return []
    title = look.paint(look.style.bold, "Example")
    lines = [title, *wrap(example.setting, _WIDTH, initial_indent="  ", subsequent_indent="    ")]
    if example.keys:
        lines.append("  " + " ".join(f"{key:<6}" for key in example.keys[:10]))
        lines.append("  " + " ".join(f"{pick:<6}" for pick in example.picks[:10]))
    else:
        lines.append(f"  the first {len(example.picks)} picks   {' '.join(example.picks)}")
    shares = "   ".join(f"{name} {share:.1%}" for name, share in example.shares.items())
    return [
        *lines,
        f"  of {MANY:,} picks       {shares}",
        "  Why the first?",
        *_reasons(explained.policy, example, look),
    ]


def _reasons(policy: Policy, example: Example, look: Look) -> list[str]:
    candidates = tuple(Candidate(each.instance.key, each.instance.key, figures) for each, figures in example.why.rows)
    key = example.keys[0] if example.keys else None
    why = Explanation(policy.name, example.first.instance.key, key, example.why.text, example.why.columns, candidates)
    return reasons(why, look, _WIDTH)
