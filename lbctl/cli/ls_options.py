"""The options of ``lbctl ls``."""

from __future__ import annotations

from typing import Annotated, Any, Final

from lbctl.cli.completion_sources import keys, labels
from lbctl.cli.completion_values import words
from lbctl.cli.flags import option, switch
from lbctl.cli.values import parse_label

SORTS: Final = ("address", "weight", "share", "health", "rtt", "ttl", "created")


def _sort(text: str) -> str:
    if text not in SORTS:
        raise ValueError(f"{text!r} is not a column to sort by (use one of {', '.join(SORTS)})")
    return text


Label = Annotated[
    list[Any] | None,
    option(
        "-l",
        "--label",
        text="only instances whose metadata has this; may be repeated",
        metavar="KEY=VALUE",
        parse=parse_label,
        completes=labels,
    ),
]
Sort = Annotated[
    str | None,
    option(
        "--sort",
        text=f"{', '.join(SORTS)} (default: key order)",
        metavar="COLUMN",
        parse=_sort,
        completes=words(*SORTS),
    ),
]
Check = Annotated[bool | None, switch("--check/--no-check", text="ask every instance for its health")]
Follow = Annotated[bool, switch("-w", "--watch", text="then print a row for every change, for ever")]
Expect = Annotated[
    str | None,
    option(
        "--expect",
        text="addresses that ought to be registered, one a line, or a JSON list; exit status 1 if others are"
        " (- is standard input)",
        metavar="FILE",
    ),
]
ExitZero = Annotated[bool, switch("--exit-zero", text="exit status 0 whatever --expect finds")]
Everything = Annotated[bool, switch("--all", text="also what may be a service, and every key that is none")]
Explain = Annotated[
    str | None,
    option(
        "--explain",
        text="tell which layouts were tried on this key, and why they do not have it",
        metavar="KEY",
        completes=keys,
    ),
]
