"""A comparison of policies in every format: as text, as a document, as rows, as a page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from lbctl.stats.comparison import Comparison
from lbctl.stats.intervals import LEVEL
from lbctl.stats.regression import Limit
from lbctl.stats.rounds import Contest, Standing, Trial, compared, notes_on, rounds_of, standing
from lbctl.stats.saved_contest import SKIPPED, contest_from
from lbctl.view.comparison import SCHEMA, comparison_csv, comparison_document
from lbctl.view.figures import Document, ratio, seconds_of, stamp
from lbctl.view.output import as_json, as_json_line, as_yaml
from lbctl.view.theme import Look


def settled(contest: Contest, limits: Sequence[Limit] = ()) -> Contest:
    """The comparison as its file has it, so that what is shown at its end is what ``report`` shows of the file."""
    return contest_from(json.loads(as_json_line(saved_document(contest, limits))))


def written(contest: Contest, limits: Sequence[Limit], output: str, look: Look, *, headers: bool = True) -> str:
    """Return the result in one of the formats, without the last line's end."""
    match output:
        case "json":
            return as_json(contest_document(contest, limits))
        case "yaml":
            return as_yaml(contest_document(contest, limits))
        case "jsonl":
            from lbctl.view.compare_lines import all_lines

            return "\n".join([*all_lines(contest), last_line(contest, limits)])
        case "csv":
            return comparison_csv(_whole(contest), headers=headers)
        case "html":
            return _page(contest, limits)
    from lbctl.view.compare_text import contest_text

    return contest_text(contest, look)


def last_line(contest: Contest, limits: Sequence[Limit] = ()) -> str:
    """The document in one line."""
    return as_json_line(contest_document(contest, limits))


def _page(contest: Contest, limits: Sequence[Limit]) -> str:
    from lbctl.view.html.comparison import contest_page
    from lbctl.view.html.markup import data, el
    from lbctl.view.html.page import page

    found = _whole(contest)
    document = as_json_line(saved_document(contest, limits))
    if found.groups:
        return contest_page(found, limits, contest, document)
    head = el("h1", f"Comparison of {contest.service}")
    return page("Comparison", head, el("p", "No run came to its end."), scripts=[data(document, contest.service)])


def _whole(contest: Contest) -> Comparison:
    """The comparison; without differences the first policy that has a run is all of it."""
    found = compared(contest)
    if found is not None:
        return found
    groups = [rounds_of(contest, place) for place in range(len(contest.contenders))]
    return Comparison(tuple(group for group in groups if group.runs)[:1], (), tuple(notes_on(contest)))


def contest_document(contest: Contest, limits: Sequence[Limit] = ()) -> Document:
    """Return the document: that of ``report`` of several runs, and how and when they were made."""
    found = compared(contest)
    if found is not None:
        document = comparison_document(found, limits)
    else:
        document = {
            "schema": SCHEMA,
            "level": LEVEL,
            "base": contest.contenders[0].label,
            "groups": [],
            "differences": [],
            "limits": [limit.text for limit in limits],
            "regressions": [],
            "notes": notes_on(contest),
        }
    standings = [standing(contest, each) for each in range(len(contest.contenders))]
    return {
        **document,
        "service": contest.service,
        "method": contest.method,
        "command": contest.command or None,
        "load": contest.load,
        "order": contest.order,
        "rounds": contest.rounds,
        "pause_s": contest.pause_s,
        "seed": contest.seed,
        "started_at": None if contest.started_at is None else stamp(contest.started_at, milliseconds=True),
        "duration_s": seconds_of(contest.elapsed_s),
        "stopped_by": contest.stopped_by or None,
        "policies": [_policy(each) for each in standings],
        "runs": [_trial(contest, trial) for trial in contest.trials],
        "events": [
            {"t_s": seconds_of(event.t_s), "level": event.level, "text": event.text} for event in contest.events
        ],
    }


def _policy(found: Standing) -> Document:
    counted = not found.live
    return {
        "label": found.contender.label,
        "policy": found.contender.policy,
        "options": dict(found.contender.options),
        "runs": found.runs,
        "max_ms": round(found.max_us / 1e3, 4) if counted and found.max_us is not None else None,
        "max_delta": ratio(found.max_delta) if counted else None,
        "max_over_expected": ratio(found.max_over_expected) if counted else None,
        "backends": [
            {
                "address": part.address,
                "share": ratio(part.share),
                "expected_share": ratio(part.expected) if found.stated else None,
            }
            for part in found.parts.values()
            if counted
        ],
    }


def _trial(contest: Contest, trial: Trial) -> Document:
    report = trial.report
    return {
        "label": contest.contenders[trial.contender].label,
        "round": trial.round,
        "number": trial.number,
        "started_at": stamp(report.started_at, milliseconds=True),
        "seed": report.seed,
        "began_s": seconds_of(trial.began_s),
        "ended_s": seconds_of(trial.ended_s),
        "duration_s": seconds_of(report.elapsed_s),
        "requests": report.issued,
        "ok": report.ok,
        "errors": report.errors,
        "counts": trial.counts,
        "end_reason": SKIPPED if trial.skipped else report.end_reason,
        "changes": list(trial.changes),
    }


def saved(contest: Contest, limits: Sequence[Limit] = ()) -> str:
    """Return the document of a file: with the whole documents of all runs, which ``report`` reads."""
    from lbctl.view.sample_document import DENSE

    return as_json(saved_document(contest, limits), dense=("documents", *DENSE))


def saved_document(contest: Contest, limits: Sequence[Limit] = ()) -> Document:
    """The document of a file; what was typed is in each of its runs, which may be read by themselves."""
    from lbctl.view.run_document import run_document

    reports = [replace(trial.report, command=contest.command) for trial in contest.trials]
    return {**contest_document(contest, limits), "documents": [run_document(each) for each in reports]}
