"""The formats a run can be written in: one function each, from a Report to text.

Their names are needed for every ``--help``, so each function imports what it needs when it is called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from lbctl.stats.report import Report
    from lbctl.view.theme import Look


@dataclass(frozen=True, slots=True)
class Manner:
    """How a result is written, where its format leaves a choice: ``headers`` is for rows, the rest for people."""

    look: Look | None = None  # plain text in Unicode
    verbose: bool = False
    headers: bool = True
    brief: bool = False  # two lines instead of a page


Output: TypeAlias = "Callable[[Report, Manner], str]"


def _text(report: Report, manner: Manner) -> str:
    from lbctl.view.summary import brief, summary
    from lbctl.view.theme import PLAIN, UNICODE, Look

    look = manner.look or Look(PLAIN, UNICODE)
    if manner.brief:
        return brief(report, look)
    return summary(report, verbose=manner.verbose, style=look.style, glyphs=look.glyphs)


def _json(report: Report, manner: Manner) -> str:
    from lbctl.view.output import as_json
    from lbctl.view.run_document import run_document
    from lbctl.view.sample_document import DENSE

    return as_json(run_document(report), dense=DENSE)


def _yaml(report: Report, manner: Manner) -> str:
    from lbctl.view.output import as_yaml
    from lbctl.view.run_document import run_document
    from lbctl.view.sample_document import DENSE

    return as_yaml(run_document(report), dense=DENSE)


def _jsonl(report: Report, manner: Manner) -> str:
    from lbctl.view.sample_lines import all_lines

    return "\n".join(all_lines(report))


def _csv(report: Report, manner: Manner) -> str:
    from lbctl.view.run_csv import backends_csv

    return backends_csv(report, headers=manner.headers)


def _csv_samples(report: Report, manner: Manner) -> str:
    from lbctl.view.run_csv import samples_csv

    return samples_csv(report, headers=manner.headers)


def _hdr(report: Report, manner: Manner) -> str:
    from lbctl.view.hdr import distribution

    return distribution(report.latency)


def _hdr_log(report: Report, manner: Manner) -> str:
    from lbctl.view.hdr import interval_log

    return interval_log(report)


def _prometheus(report: Report, manner: Manner) -> str:
    from lbctl.view.prometheus import exposition

    return exposition(report)


def _ghz_json(report: Report, manner: Manner) -> str:
    from lbctl.view.ghz import ghz_document
    from lbctl.view.output import as_json

    return as_json(ghz_document(report))


def _junit(report: Report, manner: Manner) -> str:
    from lbctl.view.checks import checks
    from lbctl.view.junit import junit

    return junit(report, checks(report))


def _html(report: Report, manner: Manner) -> str:
    from lbctl.view.html.page import run_page

    return run_page(report)


OUTPUTS: Final[Mapping[str, Output]] = {
    "text": _text,
    "json": _json,
    "yaml": _yaml,
    "jsonl": _jsonl,
    "csv": _csv,
    "csv-samples": _csv_samples,
    "html": _html,
    "hdr": _hdr,
    "hdr-log": _hdr_log,
    "prometheus": _prometheus,
    "ghz-json": _ghz_json,
    "junit": _junit,
}


def written(report: Report, output: str, manner: Manner) -> str:
    """Return a run in one of the formats, without the last line's end."""
    return OUTPUTS[output](report, manner).rstrip("\n")
