"""``docs/reference/policies.md``, made of the policies; ``python -m tests.view.policy_reference`` writes it."""

from __future__ import annotations

from pathlib import Path

from lbctl.balance.guide import explained
from lbctl.balance.policies.table import ALL_POLICIES
from lbctl.view.policies import policies_table
from lbctl.view.policy_page import policy_page
from lbctl.view.services import Look as TableLook
from lbctl.view.theme import PLAIN, UNICODE, Look

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "policies.md"
_HEAD = """\
# Policies

What `lbctl policies` and `lbctl policies NAME` say: every policy's rule with a worked table, its options, what can be
expected of it and how that is judged, and what its real picker does with an example. Made by
`python -m tests.view.policy_reference`.
"""


def page() -> str:
    """The whole page."""
    table = policies_table(list(ALL_POLICIES.values()), TableLook(PLAIN, UNICODE, None, headers=True))
    parts = [_HEAD, _block("\n".join(table.lines))]
    for policy in ALL_POLICIES.values():
        parts += [f"\n## {policy.name}\n", _block(policy_page(explained(policy), Look(PLAIN, UNICODE)))]
    return "\n".join(parts)


def _block(text: str) -> str:
    return f"```text\n{text}\n```\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
