"""``lbctl policies``: the policies there are, and how each one works."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from lbctl.cli.flags import argument
from lbctl.cli.help import Command
from lbctl.cli.options import with_settings
from lbctl.cli.policy_options import all_policies
from lbctl.cli.settings import Settings

if TYPE_CHECKING:
    from lbctl.balance.guide import Explained
    from lbctl.balance.policies.base import Policy

ABOUT = """\
List the policies that --policy takes, or explain one of them: its rule with a worked table, its options, what can be
expected of it and how that is judged, and the first picks its real picker makes in an example."""
EXAMPLES = (
    "lbctl policies",
    "lbctl policies smooth_wrr",
    "lbctl policies -o wide",
    "lbctl policies -o json",
)
_MORE = "lbctl policies NAME explains one; -o wide has costs, aliases and options"
FORMATS = ("table", "wide", "json", "yaml", "csv", "name")


@with_settings(registry=False, outputs=FORMATS, headers=True)
def policies(
    name: Annotated[
        str | None, argument(metavar="NAME", text="a policy, by its name or an alias", completes=all_policies)
    ] = None,
    *,
    settings: Settings,
) -> int:
    """List policies, or explain one."""
    from lbctl.balance.guide import explained, known
    from lbctl.balance.policies.table import ALL_POLICIES

    if name is None:
        print(_listed(list(ALL_POLICIES.values()), settings), flush=True)  # noqa: T201
        return 0
    policy = known(name)
    page = explained(policy) if settings.output in ("table", "wide", "json", "yaml") else None
    text = _page(page, settings) if settings.output in ("table", "wide") and page is not None else ""
    print(text or _listed([policy], settings, page), flush=True)  # noqa: T201
    return 0


def _page(page: Explained, settings: Settings) -> str:
    from lbctl.cli.screens import caps_of
    from lbctl.view.policy_page import policy_page
    from lbctl.view.theme import Look

    caps = caps_of(settings)
    return policy_page(page, Look(caps.out_style, caps.out_glyphs))


def _listed(policies: list[Policy], settings: Settings, page: Explained | None = None) -> str:
    from lbctl.view import output
    from lbctl.view.policies import policies_csv, policies_document

    match settings.output:
        case "json":
            return output.as_json(policies_document(policies, page))
        case "yaml":
            return output.as_yaml(policies_document(policies, page))
        case "csv":
            return policies_csv(policies, headers=not settings.no_headers)
        case "name":
            return "\n".join(policy.name for policy in policies)
    return _for_people(policies, settings)


def _for_people(policies: list[Policy], settings: Settings) -> str:
    from lbctl.cli.screens import caps_of
    from lbctl.view import theme
    from lbctl.view.policies import policies_list, policies_table
    from lbctl.view.services import Look

    caps, wide = caps_of(settings), settings.output == "wide"
    if wide or caps.out_width is None or settings.no_headers:
        look = Look(caps.out_style, caps.out_glyphs, None, headers=not settings.no_headers)
        return "\n".join(policies_table(policies, look, wide=wide).lines)
    if not settings.quiet:
        print(_MORE, file=sys.stderr, flush=True)  # noqa: T201
    return "\n".join(policies_list(policies, theme.Look(caps.out_style, caps.out_glyphs), caps.out_width))


COMMAND = Command(policies, ABOUT, EXAMPLES)
