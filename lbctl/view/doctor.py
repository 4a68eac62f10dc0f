"""What ``doctor`` prints: findings for people, a line each, or one document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from textwrap import wrap
from typing import Final

from lbctl.discovery.backends import distinct
from lbctl.doctor.diagnosis import Beside, Diagnosis
from lbctl.doctor.finding import Finding, Level, Symptom
from lbctl.model import Service
from lbctl.redaction import masked_text
from lbctl.stats.report import BackendRow, Report
from lbctl.view.figures import Document, ratio, seconds_of, stamp
from lbctl.view.plain_table import Cell, Column, render
from lbctl.view.services import Look
from lbctl.view.text import NONE, clean, duration, plural, rate

DOCTOR: Final = "lbctl.doctor/v1"
_MARKS: Final = {Level.ERROR: ("x", "err"), Level.WARN: ("!", "warn"), Level.INFO: ("i", "muted")}
_INDENT: Final = " " * 9
_NAMED: Final = 3  # checks that could not be made for one reason; more are counted
_LISTED: Final = 10  # services that the head names, and commands that are told of one check


def doctor_text(found: Diagnosis, look: Look) -> str:
    """The findings with their reasons and ways out, between what was looked at and how many there are."""
    parts = ["\n".join(_head(found, look))]
    for _, alike in groupby(found.findings, key=lambda finding: (finding.level, finding.code)):
        parts.append("\n".join(_group(list(alike), look, several=len(found.services) > 1)))
    if found.probes:
        parts.append("\n".join(_probe_words(report) for report in found.probes.values()))
    if found.beside:
        parts.append(_beside_table(found, look))
    parts.append(_foot(found))
    return "\n\n".join(parts)


def doctor_short(found: Diagnosis) -> str:
    """One line per finding, for editors and grep."""
    return "\n".join(
        ": ".join(part for part in (_where(each), f"{each.level.word} {each.code} {clean(each.symptom.what)}") if part)
        for each in found.findings
    )


def doctor_document(found: Diagnosis) -> Document:
    """The document of ``-o json``."""
    return {
        "schema": DOCTOR,
        "at": stamp(found.at, milliseconds=True),
        "took_s": seconds_of(found.took_s),
        "etcd": _etcd_document(found),
        "revision": found.revision,
        "services": [_service_document(service) for service in found.services],
        "checks": list(found.checks),
        "skipped": [{"code": each.code, "why": each.why} for each in found.skipped],
        "counts": {level.word: found.count(level) for level in reversed(Level)},
        "findings": [_finding_document(each) for each in found.findings],
        "probes": [_probe_document(report) for report in found.probes.values()],
        "servers": [_beside_document(each) for each in found.beside],
    }


def doctor_notes(found: Diagnosis) -> Iterator[str]:
    """What could not be looked at although it was wanted."""
    missing: dict[str, list[str]] = {}
    for each in found.skipped:
        if not each.why.startswith("needs "):
            missing.setdefault(each.why, []).append(each.code)
    for why, codes in missing.items():
        which = ", ".join(codes) if len(codes) <= _NAMED else f"{len(codes)} checks"
        yield f"note: {which} {'was' if len(codes) == 1 else 'were'} not looked at: {clean(why)}"


def _head(found: Diagnosis, look: Look) -> Iterator[str]:
    if not found.endpoints:
        yield f"backends    {_backends(found.services[0])}, given by --backends"
        return
    yield f"etcd        {_etcd_words(found)}"
    for service in found.services[:_LISTED]:
        where = f"layout {clean(service.layout)}, prefix {clean(service.prefix)}"
        yield f"{clean(service.name):<11} {_backends(service)}, {where}"
    if found.services[_LISTED:]:
        yield f"{look.glyphs.ellipsis:<11} and {plural(len(found.services) - _LISTED, 'service')} more"
    if not found.services:
        yield f"registry    {'no services' if found.is_read else 'cannot be read'}"


def _backends(service: Service) -> str:
    return plural(len(distinct(service.instances)), "backend")


def _etcd_words(found: Diagnosis) -> str:
    cluster = found.cluster
    where = ", ".join(found.endpoints)
    if cluster is None:
        return where
    leader = f", leader {clean(cluster.leader)}" if cluster.leader else ""
    took = "" if cluster.fastest_s is None else f", {duration(cluster.fastest_s * 1e6)}"
    return f"{where}: {plural(len(cluster.members), 'member')}{leader}{took}"


def _group(alike: Sequence[Finding], look: Look, *, several: bool) -> Iterator[str]:
    """Findings of one check and level: each in a line, then what holds for all of them, then the commands."""
    check = alike[0].check
    for finding in alike:
        mark, role = _MARKS[finding.level]
        symptom = finding.symptom
        head = f"{mark} {finding.code}"
        where = _parts(symptom) if several else _parts(symptom)[-1:]
        first, *rest = _wrapped(look, "  ".join([head, *where, clean(symptom.what)]))
        yield _painted(look, role, head) + first.removeprefix(head)
        yield from rest
    yield from _wrapped(look, f"{_INDENT}{check.why}")
    yield from _wrapped(look, f"{_INDENT}fix: {check.fix}")
    commands = dict.fromkeys(finding.symptom.command for finding in alike if finding.symptom.command)
    for command in list(commands)[:_LISTED]:
        yield f"{_INDENT}{_painted(look, 'accent', clean(command, 10 * len(command)))}"  # whole: it is to be pasted
    if len(commands) > _LISTED:
        yield f"{_INDENT}and {len(commands) - _LISTED} more: -o json has them"


def _wrapped(look: Look, text: str) -> Sequence[str]:
    """Prose in lines that fit, on a terminal; what is pasted or piped is left whole."""
    if look.width is None:
        return [text]
    return wrap(text, look.width, subsequent_indent=_INDENT, break_long_words=False, break_on_hyphens=False)


def _painted(look: Look, role: str, text: str) -> str:
    sgr: str = getattr(look.style, role)
    return f"{sgr}{text}{look.style.reset}" if sgr else text


def _probe_words(report: Report) -> str:
    """What the calls of a probe came to, in a line."""
    balance = report.balance
    note = f": {clean(balance.note)}" if balance.note else ""
    calls = plural(report.issued, "health check")
    return f"probe       {clean(report.service)}: {calls} by {report.policy}, {balance.verdict.replace('_', ' ')}{note}"


def _foot(found: Diagnosis) -> str:
    words = {Level.ERROR: "error", Level.WARN: "warning", Level.INFO: "note"}
    counts = [plural(number, word) for level, word in words.items() if (number := found.count(level))]
    made = plural(len(found.checks), "check")
    return f"{', '.join(counts) or 'nothing found'}; {made} in {found.took_s:.1f}s"


def _where(finding: Finding) -> str:
    return "/".join(_parts(finding.symptom))


def _parts(symptom: Symptom) -> list[str]:
    """The service and what is wrong in it; a key says itself whose it is."""
    named = [symptom.subject] if "/" in symptom.subject else [symptom.service, symptom.subject]
    return [clean(part) for part in named if part]


def _beside_table(found: Diagnosis, look: Look) -> str:
    columns: list[Column[Beside]] = [
        Column("ADDRESS", lambda r: Cell(clean(r.address)), shrink_to=21, cut="left"),
        Column("CPU", lambda r: Cell(NONE if r.server.cpu is None else f"{r.server.cpu:.2f}"), numeric=True),
        Column("SERVER RPS", lambda r: Cell(_rate(r.server.rps)), numeric=True),
        Column("CLIENT RPS", lambda r: Cell(_rate(r.client_rps)), numeric=True),
        Column("CLIENT P50", lambda r: Cell(_ms(r.client_p50_ms), "latency"), keep=1, numeric=True),
        Column("RTT", lambda r: Cell(_ms(None if r.rtt_s is None else r.rtt_s * 1e3), "latency"), keep=2, numeric=True),
    ]
    table = render(columns, found.beside, look.style, width=look.width, ellipsis=look.glyphs.ellipsis)
    return "\n".join(table.lines)


def _rate(per_second: float | None) -> str:
    return NONE if per_second is None else rate(per_second)


def _ms(milliseconds: float | None) -> str:
    return duration(None if milliseconds is None else milliseconds * 1e3)


def _etcd_document(found: Diagnosis) -> Document | None:
    if not found.endpoints:
        return None
    cluster = found.cluster
    return {
        "endpoints": list(found.endpoints),
        "members": None if cluster is None else len(cluster.members),
        "leader": None if cluster is None else cluster.leader or None,
        "rtt_ms": None if cluster is None or cluster.fastest_s is None else round(cluster.fastest_s * 1e3, 3),
    }


def _service_document(service: Service) -> Document:
    return {
        "name": service.name,
        "layout": service.layout,
        "prefix": service.prefix,
        "backends": len(distinct(service.instances)),
        "keys": len({each.key for each in service.instances}),
    }


def _finding_document(finding: Finding) -> Document:
    symptom = finding.symptom
    return {
        "code": finding.code,
        "title": finding.check.title,
        "level": finding.level.word,
        "service": symptom.service or None,
        "subject": symptom.subject or None,
        "what": masked_text(symptom.what),
        "why": finding.check.why,
        "fix": finding.check.fix,
        "command": symptom.command or None,
    }


def _probe_document(report: Report) -> Document:
    balance = report.balance
    return {
        "service": report.service,
        "policy": report.policy,
        "calls": report.issued,
        "ok": report.ok,
        "verdict": balance.verdict,
        "note": balance.note,
        "backends": [_probed_document(row, report) for row in report.backends],
    }


def _probed_document(row: BackendRow, report: Report) -> Document:
    picks = sum(each.picks for each in report.backends)
    p50_us = row.latency.quantiles([0.5])[0] if row.latency.total else None
    return {
        "key": row.key,
        "address": row.address,
        "weight": row.weight,
        "state": row.state,
        "picks": row.picks,
        "share": ratio(row.picks / picks) if picks else None,
        "expected_share": ratio(row.expected / picks) if picks and report.balance.stated else None,
        "p50_ms": None if p50_us is None else round(p50_us / 1e3, 4),
    }


def _beside_document(each: Beside) -> Document:
    return {
        "service": each.service,
        "address": each.address,
        "cpu": each.server.cpu,
        "server_rps": each.server.rps,
        "client_rps": None if each.client_rps is None else round(each.client_rps, 1),
        "client_p50_ms": None if each.client_p50_ms is None else round(each.client_p50_ms, 4),
        "rtt_ms": None if each.rtt_s is None else round(each.rtt_s * 1e3, 3),
    }
