"""A saved comparison of policies back as the Contest that it was: every run with its round, and how they were made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final

from lbctl.model import Event
from lbctl.stats.rounds import Contender, Contest, Trial
from lbctl.stats.saved import report_from
from lbctl.stats.saved_values import NotARun, Part

COMPARISON: Final = "lbctl.comparison/v1"
SKIPPED: Final = "skipped"  # the end of a run that somebody left out


def contest_from(document: object) -> Contest:
    """Return the comparison of a document of ``compare --save``; raises NotARun, which says why it is none."""
    found = Part(document)
    contenders = tuple(
        Contender(each.text("label"), each.text("policy"), each.words("options")) for each in found.parts("policies")
    )
    return Contest(
        service=found.text("service"),
        method=found.text("method"),
        contenders=contenders,
        rounds=found.whole("rounds"),
        order=found.text("order"),
        pause_s=found.number("pause_s"),
        seed=found.whole("seed"),
        load=found.text("load", ""),
        trials=tuple(_trials(found, {each.label: place for place, each in enumerate(contenders)})),
        events=tuple(_event(each) for each in found.parts("events")),
        started_at=_moment(found.word("started_at")),
        elapsed_s=found.number("duration_s"),
        over=True,
        stopped_by=found.word("stopped_by") or "",
        command=found.word("command") or "",
        limits=found.texts("limits"),
    )


def is_contest(document: Mapping[str, object]) -> bool:
    """Whether it tells which policy and round its runs are of, as those of ``compare --save`` do."""
    return document.get("schema") == COMPARISON and bool(document.get("policies")) and bool(document.get("documents"))


def _trials(found: Part, places: Mapping[str, int]) -> Iterator[Trial]:
    """The runs, each with its document; an older lbctl kept those of runs that count alone."""
    runs, documents = list(found.parts("runs")), found.items("documents")
    if len(documents) != len(runs):
        runs = [each for each in runs if each.truth("counts")]
    if len(documents) != len(runs):
        raise found.refuse("documents", f"{len(documents)} of them, and there are {len(runs)} runs")
    for run, document in zip(runs, documents, strict=True):
        label = run.text("label")
        if label not in places:
            raise run.refuse("label", f"{label[:40]!r} is none of the policies")
        try:
            report = report_from(document)
        except NotARun as error:
            raise NotARun(f"documents, run {run.whole('number')}: {error}") from None
        yield Trial(
            places[label],
            run.whole("round"),
            run.whole("number"),
            report,
            run.text("end_reason") == SKIPPED,
            run.number("began_s", 0.0),
            run.number("ended_s", 0.0),
        )


def _event(found: Part) -> Event:
    return Event(found.number("t_s"), "compare", None, found.text("text"), found.text("level"))


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise NotARun(f"started_at: {text[:40]!r} is no time") from None
