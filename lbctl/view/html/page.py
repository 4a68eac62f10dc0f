"""The page of one run: everything in one file, which loads nothing and runs nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator

from lbctl import __version__
from lbctl.stats.report import Report
from lbctl.stats.saved import report_from
from lbctl.stats.searched import FAILED, INTERRUPTED
from lbctl.view.distribution import test_lines, verdict_words
from lbctl.view.figures import stamp
from lbctl.view.html import tables
from lbctl.view.html.markup import Child, Html, data, el, text
from lbctl.view.html.methods import methods
from lbctl.view.html.search import rate_search
from lbctl.view.html.style import STYLE
from lbctl.view.html.times import by_percentile_chart, histogram_chart, over_time
from lbctl.view.load_words import pace_of
from lbctl.view.output import as_json_line
from lbctl.view.run_document import run_document
from lbctl.view.summary import summary
from lbctl.view.text import NONE, clock, duration, error_rate, plural, rate
from lbctl.view.theme import PLAIN, UNICODE, Look

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_LOOK = Look(PLAIN, UNICODE)
_ENDED = {FAILED: "err", INTERRUPTED: "none"}
_ENDS = {
    "aborted": "stopped by --abort-on",
    "max_errors": "stopped by --max-errors",
    "error": "given up",
}


def run_page(report: Report) -> str:
    """Return the page, without the last line's end; what is drawn is what the document in it says."""
    document = as_json_line(run_document(report))
    report = report_from(json.loads(document))
    return page(
        f"{report.name + ': ' if report.name else ''}{report.service} {report.method}, {report.policy}",
        _title(report, document),
        _verdict(report),
        None if report.search is None else rate_search(report.search),
        _tiles(report),
        section("Distribution", tables.distribution(report), note=_tests(report)),
        _methods(report),
        el("div", histogram_chart(report), by_percentile_chart(report), cls="pair"),
        over_time(report),
        _thresholds(report),
        el(
            "div",
            section("Errors", tables.errors(report), small=_error_count(report)),
            section("Events", tables.events(report)),
            cls="pair",
        ),
        _warnings(report),
        _command(report),
        _as_text(report),
        scripts=[data(document, report.service)],
    )


def page(title: str, *parts: Child, scripts: list[Html]) -> str:
    """A whole page around its parts."""
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=Html(POLICY.replace("'", "&#x27;"))),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("link", rel="icon", href="data:,"),
        el("title", f"{title} - lbctl"),
        el("style", Html(STYLE)),
    )
    foot = el("footer", f"lbctl {__version__}. This page holds its runs: lbctl report reads it again.")
    return Html("<!doctype html>\n") + el("html", head, el("body", el("main", *parts, foot), *scripts), lang="en")


def section(title: str, *parts: Child, small: str = "", note: str = "") -> Html:
    """A box with a title."""
    head = el("h2", title, el("small", small) if small else None)
    return el("section", head, *parts, el("p", note, cls="muted") if note else None)


def whole(words: str) -> Html:
    """Text of several lines, each of them escaped and none of them cut."""
    return Html("\n".join(text(line, 100_000) for line in words.rstrip("\n").split("\n")))


def run_id(document: str) -> str:
    """Eight characters that tell a run from others."""
    return hashlib.sha256(document.encode()).hexdigest()[:8]


def _title(report: Report, document: str) -> Html:
    options = " ".join(f"{name}={value}" for name, value in report.policy_options.items())
    facts = [
        *([("name", report.name)] if report.name else []),
        *report.tags.items(),
        ("policy", f"{report.policy} {options}".strip()),
        ("load", _mode(report)),
        ("started", stamp(report.started_at).replace("T", " ")),
        ("took", _took(report)),
        ("seed", f"{report.seed}"),
        ("run", run_id(document)),
    ]
    if report.hash_key is not None:
        facts.append(("keys", report.hash_key))
    items = [el("li", el("span", name), words) for name, words in facts]
    return el(
        "header", el("h1", report.service), el("p", report.method, cls="method mono"), el("ul", *items, cls="facts")
    )


def _mode(report: Report) -> str:
    if report.load.mode == "closed":
        return f"closed loop, {report.concurrency:,} in flight"
    return f"open loop {pace_of(report)}"


def _took(report: Report) -> str:
    seconds = report.elapsed_s
    return f"{seconds:.2f}s" if seconds < 10 else f"{seconds:.1f}s" if seconds < 1000 else clock(seconds)


def _verdict(report: Report) -> Html:
    """One line for each thing that decides whether the run was good."""
    word, reason = verdict_words(report, _LOOK)
    kind = {"balanced": "ok", "SKEWED": "err"}.get(word, "none")
    lines = [el("p", el("strong", word[:1].upper() + word[1:]), reason or None, cls=kind)]
    if report.search is not None:
        lines.insert(
            0,
            el("p", el("strong", "Highest rate"), report.search.conclusion, cls=_ENDED.get(report.search.ended, "ok")),
        )
    lines += [el("p", line) for line in _judgements(report)]
    failed = any(not each.ok for each in (*report.thresholds, *report.abort_on))
    failed |= report.search is not None and report.search.ended == FAILED
    if failed or report.end_reason == "error":
        kind = "err"
    elif kind == "ok" and (report.errors or report.dropped or report.generator.warnings):
        kind = "warn"
    return el("section", *lines, cls=f"verdict {kind}")


def _judgements(report: Report) -> Iterator[str]:
    how = _ENDS.get(report.end_reason or "")
    if report.end_reason == "interrupted":
        how = f"stopped by {report.stopped_by or 'Ctrl-C'}"
    if how:
        of = f" of {report.load.requests:,}" if report.load.requests else ""
        yield f"The run was {how} after {report.elapsed_s:.1f}s, with {report.completed:,}{of} calls."
    asked = (*report.thresholds, *report.abort_on)
    failed = [each.expr for each in asked if not each.ok]
    if failed:
        yield f"{plural(len(failed), 'threshold')} of {len(asked)} failed: {', '.join(failed)}."
    elif asked:
        yield "Every threshold held." if len(asked) > 1 else "The threshold held."
    if report.errors:
        rate_of = error_rate(report.errors, report.ended)
        yield f"{plural(report.errors, 'call')} of {report.ended:,} failed ({rate_of})."
    if report.dropped:
        yield f"{plural(report.dropped, 'call')} could not be started when they were due, and were dropped."
    if report.generator.warnings:
        yield "The load generator was in its own way: see below."


def _tiles(report: Report) -> Html:
    times = report.latency
    values: list[float | None] = [None] * 3
    if times.total:
        values = [*times.quantiles((0.5, 0.9, 0.99))]
    tiles = [
        ("Requests", f"{report.completed:,}", f"in {_took(report)}"),
        ("Throughput", f"{rate(report.throughput, 3)}/s", f"{report.attempts:,} attempts" if report.retries else ""),
        ("Errors", f"{report.errors:,}", error_rate(report.errors, report.ended)),
        *((name, duration(value), "") for name, value in zip(("p50", "p90", "p99"), values, strict=True)),
        ("Max", duration(times.max_us) if times.total else NONE, ""),
    ]
    return el("dl", *(_tile(*each) for each in tiles), cls="tiles")


def _tile(name: str, value: str, small: str) -> Html:
    role = "is-err" if name == "Errors" and value != "0" else ""
    return el("div", el("dt", name), el("dd", el("span", value, cls=role), el("small", small) if small else None))


def _tests(report: Report) -> str:
    words = " ".join(line.strip() for line in test_lines(report))
    return f"{words[:1].upper()}{words[1:]}." if words else ""


def _error_count(report: Report) -> str:
    return f"{report.errors:,} of {report.completed:,} calls" if report.errors else ""


def _methods(report: Report) -> Html | None:
    found = methods(report)
    return None if found is None else section("Methods", found)


def _thresholds(report: Report) -> Html | None:
    found = tables.thresholds(report)
    return None if found is None else section("Thresholds", found)


def _warnings(report: Report) -> Html | None:
    warnings = report.generator.warnings
    if not warnings:
        return None
    return section("Load generator", *(el("p", warning, cls="is-warn") for warning in warnings))


def _as_text(report: Report) -> Html:
    """All that is known of the run, as hammer -v prints it."""
    words = el("pre", whole(summary(report, verbose=True)), cls="wide")
    return el("details", el("summary", "The same as text, and all that is known of connections"), words)


def _command(report: Report) -> Html | None:
    if not report.command:
        return None
    seeded = "--seed" in report.command
    again = (
        None if seeded else el("p", f"With --seed {report.seed} its random choices are the same again.", cls="muted")
    )
    return section("Command", el("pre", whole(report.command)), again)
