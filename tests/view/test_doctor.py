"""Findings as text: prose fits a terminal, and what is pasted or piped stays whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from lbctl.doctor.case import Case
from lbctl.doctor.diagnosis import Diagnosis, Skipped
from lbctl.doctor.finding import Check, Finding, Level, Symptom
from lbctl.model import Service
from lbctl.view.doctor import doctor_notes, doctor_short, doctor_text
from lbctl.view.services import Look
from lbctl.view.theme import PLAIN, UNICODE


async def _nothing(case: Case) -> Sequence[Symptom]:
    return []


_CHECK = Check("LB999", "anything", Level.ERROR, "Someone has to wait for it. " * 4, "do something " * 9, _nothing)
_COMMAND = "lbctl deregister echo /services/echo/10.0.0.1:50051 --endpoints 10.0.0.1:2379,10.0.0.2:2379,10.0.0.3:2379"
_FOUND = Diagnosis(
    at=datetime(2026, 1, 1, tzinfo=UTC),
    took_s=0.25,
    endpoints=("10.0.0.1:2379",),
    cluster=None,
    revision=1,
    services=(),
    checks=("LB999",),
    findings=(Finding(_CHECK, Symptom("is as wrong as anything can be " * 4, "10.0.0.1:50051", "echo", _COMMAND)),),
    skipped=(),
    probes={},
)


def test_prose_is_wrapped_at_words_where_the_width_is_known_and_commands_never() -> None:
    lines = doctor_text(_FOUND, Look(PLAIN, UNICODE, 60)).split("\n")
    assert [line for line in lines if len(line) > 60] == [f"         {_COMMAND}"]
    whole = doctor_text(_FOUND, Look(PLAIN, UNICODE, None))
    assert " ".join(" ".join(lines).split()) == " ".join(whole.split())
    assert f"x LB999  10.0.0.1:50051  {_FOUND.findings[0].symptom.what}\n" in whole
    wrapped = [line for line in lines if line.startswith("x ")]
    assert wrapped == ["x LB999  10.0.0.1:50051  is as wrong as anything can be is"]


def test_what_was_not_looked_at_for_one_reason_is_one_note() -> None:
    skipped = [Skipped("LB501", "needs --canary"), Skipped("LB102", "no right"), Skipped("LB104", "no right")]
    assert list(doctor_notes(replace(_FOUND, skipped=tuple(skipped)))) == [
        "note: LB102, LB104 were not looked at: no right"
    ]
    many = tuple(Skipped(f"LB20{number}", "no leader") for number in range(1, 6))
    assert list(doctor_notes(replace(_FOUND, skipped=many))) == ["note: 5 checks were not looked at: no leader"]


def test_the_head_says_where_the_backends_are_from() -> None:
    assert doctor_text(_FOUND, Look(PLAIN, UNICODE, None)).split("\n")[:2] == [
        "etcd        10.0.0.1:2379",
        "registry    no services",
    ]
    unread = doctor_text(replace(_FOUND, is_read=False), Look(PLAIN, UNICODE, None))
    assert unread.split("\n")[1] == "registry    cannot be read"


def test_a_finding_names_its_service_where_there_are_several() -> None:
    one = Service("echo", "seed", "/services/echo/", ())
    mixed = Finding(_CHECK, Symptom("keys in several layouts", "/services/echo/", "echo"))
    noted = Finding(_CHECK, Symptom("no health", "", "echo"))
    found = replace(_FOUND, services=(one,), findings=(*_FOUND.findings, mixed, noted))
    look = Look(PLAIN, UNICODE, None)
    heads = ["10.0.0.1:50051  is", "/services/echo/  keys", "echo  no"]
    for diagnosis, first in ((found, heads[0]), (replace(found, services=(one, one)), f"echo  {heads[0]}")):
        lines = [line for line in doctor_text(diagnosis, look).split("\n") if line.startswith("x ")]
        expected = [first, *heads[1:]]
        assert [
            line.removeprefix("x LB999  ").startswith(text) for line, text in zip(lines, expected, strict=True)
        ] == [
            True,
            True,
            True,
        ]
    assert [line.partition(": ")[0] for line in doctor_short(found).split("\n")] == [
        "echo/10.0.0.1:50051",
        "/services/echo/",
        "echo",
    ]
