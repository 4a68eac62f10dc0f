"""The page of one policy: what can be expected of it, how it works, its options, and what it does in an example."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

from lbctl.balance.guide import EXPECTED, MANY, Example, Explained, judged
from lbctl.balance.policies.base import Policy
from lbctl.stats.report import Candidate, Explanation
from lbctl.view.explanation import explained as reasons
from lbctl.view.theme import Look

_WIDTH = 80
_SHOWN = 10  # keys of an example


def policy_page(explained: Explained, look: Look) -> str:
    """Return everything about one policy as text, with blank lines between its parts."""
    parts = [
        _head(explained.policy, look),
        [look.paint(look.style.bold, "How it works"), *explained.about.replace("``", "").splitlines()],
        list(_options(explained, look)),
        _worked(explained, look),
    ]
    return "\n\n".join("\n".join(line.rstrip() for line in part) for part in parts if part)


def _head(policy: Policy, look: Look) -> list[str]:
    rows = [
        ("aliases", ", ".join(policy.aliases)),
        ("expectation", f"{policy.expectation.value}: {EXPECTED[policy.expectation]}"),
        ("judged", judged(policy)),
        ("pick costs", policy.cost),
        ("key", "needed: --hash-key says what the key of a call is" if policy.keyed else ""),
    ]
    lines = wrap(f"{policy.name}  {policy.summary}", _WIDTH, subsequent_indent=" " * (len(policy.name) + 2))
    lines[0] = look.paint(look.style.bold, policy.name) + lines[0][len(policy.name) :]
    for name, text in rows:
        if text:
            lines += wrap(text, _WIDTH, initial_indent=f"  {name:<13}", subsequent_indent=" " * 15)
    return lines


def _options(explained: Explained, look: Look) -> Iterator[str]:
    if explained.options:
        yield look.paint(look.style.bold, "Options") + "  --policy-opt NAME=VALUE"
    for each in explained.options:
        yield f"  {look.paint(look.style.accent, each.name)}={each.default}"
        yield from wrap(f"{each.help} ({each.values})", _WIDTH, initial_indent="      ", subsequent_indent="      ")


def _worked(explained: Explained, look: Look) -> list[str]:
    example = explained.example
    if example is None:
        return []
    lines = [look.paint(look.style.bold, "Example")]
    lines += wrap(example.setting, _WIDTH, initial_indent="  ", subsequent_indent="    ")
    if example.keys:
        lines.append("  " + " ".join(f"{key:<6}" for key in example.keys[:_SHOWN]))
        lines.append("  " + " ".join(f"{pick:<6}" for pick in example.picks[:_SHOWN]))
    else:
        lines.append(f"  the first {len(example.picks)} picks   {' '.join(example.picks)}")
    shares = "   ".join(f"{name} {share:.1%}" for name, share in example.shares.items())
    lines.append(f"  of {MANY:,} picks      {shares}")
    return [*lines, "  Why the first?", *_reasons(explained.policy, example, look)]


def _reasons(policy: Policy, example: Example, look: Look) -> list[str]:
    candidates = tuple(Candidate(each.instance.key, each.instance.key, figures) for each, figures in example.why.rows)
    key = example.keys[0] if example.keys else None
    why = Explanation(
        1, policy.name, example.first.instance.key, key, example.why.text, example.why.columns, candidates
    )
    return reasons(why, look, _WIDTH)
