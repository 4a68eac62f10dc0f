"""What the page of a comparison by rounds has besides that of saved runs: how they were made, and who got how much."""

from __future__ import annotations

from collections.abc import Iterator

from lbctl.stats.rounds import Contest, Standing, standing
from lbctl.view.figures import stamp
from lbctl.view.html.markup import Child, Html, el
from lbctl.view.html.page import section, whole
from lbctl.view.html.tables import table
from lbctl.view.text import NONE, clock, plural


def facts(contest: Contest) -> Iterator[tuple[str, str]]:
    """How the runs were made, as name and words."""
    yield "rounds", f"{contest.rounds}, {contest.order}"
    if contest.load:
        yield "load", contest.load
    if contest.started_at is not None:
        yield "started", stamp(contest.started_at).replace("T", " ")
    yield "took", clock(contest.elapsed_s)
    yield "seed", f"{contest.seed}"
    if contest.stopped_by:
        counted = sum(trial.counts for trial in contest.trials)
        yield "stopped by", f"{contest.stopped_by}, {counted} of {plural(contest.total, 'run')}"


def shares(contest: Contest) -> Html | None:
    """Who got how much of each policy's calls, and what was due where that can be stated; None without a call."""
    standings = [standing(contest, each) for each in range(len(contest.contenders))]
    addresses = list(dict.fromkeys(address for each in standings for address in each.parts))
    if not addresses:
        return None
    widest = max((part.share or 0.0 for each in standings for part in each.parts.values()), default=0.0) or 1.0
    heads = [("Backend", ""), *((each.contender.label, "share") for each in standings)]
    rows: list[list[Child]] = [
        [el("span", address, cls="mono"), *(_share(each, address, widest) for each in standings)]
        for address in addresses
    ]
    due = "A mark is what was due." if any(each.stated for each in standings) else ""
    by_load = ", ".join(each.contender.label for each in standings if not each.stated)
    note = f"{due} None can be stated of what goes by load: {by_load}." if by_load else due
    return section("Share by backend", table(heads, rows), note=note.strip())


def _share(found: Standing, address: str, widest: float) -> Child:
    part = found.parts.get(address)
    if part is None or part.share is None:
        return NONE
    due = part.expected if found.stated else None
    mark = None if due is None else el("b", style=f"left:{min(due / widest, 1.0):.2%}")
    bar = el("span", el("i", style=f"width:{part.share / widest:.2%}"), mark, cls="bar")
    words = f"{part.share:.1%}" if due is None else f"{part.share:.1%}, due {due:.1%}"
    return el("div", el("small", words), bar)


def command(contest: Contest) -> Html | None:
    """What was typed."""
    return section("Command", el("pre", whole(contest.command))) if contest.command else None
