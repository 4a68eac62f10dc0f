"""What becomes of a finished run: its result on standard output, and an exit status that tells a script enough."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lbctl.cli.hammer_options import ResultFlags
from lbctl.cli.hammer_output import Sink
from lbctl.cli.screens import caps_of
from lbctl.cli.settings import resolve
from lbctl.commands.hammer import Finished
from lbctl.errors import CannotCall, ExitCode
from lbctl.stats.report import Report
from tests.view.sample import sample


def sink(**flags: str) -> Sink:
    settings = replace(resolve(flags, {}, {}), output="text")
    return Sink(settings, caps_of(settings), ResultFlags(), "echo")


def keyed(report: Report) -> Report:
    """The same of backends that a registry knows."""
    return replace(report, backends=tuple(replace(row, key=f"/services/echo/{row.address}") for row in report.backends))


def test_a_run_that_was_given_up_prints_its_result_and_is_5(capsys: pytest.CaptureFixture[str]) -> None:
    report = keyed(replace(sample(), service="echo", end_reason="error"))
    with pytest.raises(CannotCall) as raised:
        sink(endpoints="10.0.0.1:2379", tls_ca="ca.pem").finish(Finished(report, None))
    assert str(raised.value) == "the run was given up: no backend was ready any more"
    assert (raised.value.exit_code, raised.value.hint) == (
        5,
        "see what is left of it: lbctl ls echo --check --endpoints 10.0.0.1:2379 --tls-ca ca.pem",
    )
    assert "Stopped by an error" in capsys.readouterr().out


def test_backends_of_no_registry_are_asked_for_their_health() -> None:
    report = replace(sample(), end_reason="error")
    named = replace(report, backends=tuple(replace(row, key=row.address) for row in report.backends[:2]))
    with pytest.raises(CannotCall) as raised:
        sink(tls_ca="ca.pem").finish(Finished(named, None))
    addresses = ",".join(row.address for row in report.backends[:2])
    assert raised.value.hint == f"see what is left of it: lbctl health --backends {addresses} --tls-ca ca.pem"


def test_a_run_that_was_given_up_by_guards_does_not_send_one_to_look_for_backends() -> None:
    why = "every backend that can be reached was out of the rotation (2 breaker open)"
    report = replace(sample(), service="echo", end_reason="error", given_up=why)
    with pytest.raises(CannotCall) as raised:
        sink().finish(Finished(report, None))
    assert str(raised.value) == f"the run was given up: {why}"
    assert raised.value.hint == "--when-all-out panic uses them all the same"


def test_a_completed_run_with_errors_in_it_is_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert sink().finish(Finished(replace(sample(), end_reason="completed"), None)) == ExitCode.OK
    assert "Summary" in capsys.readouterr().out


def test_a_skewed_run_of_registered_backends_says_who_may_know_why(capsys: pytest.CaptureFixture[str]) -> None:
    run = replace(sample(), service="echo", end_reason="completed")
    named = tuple(replace(row, key=row.address) for row in run.backends)
    skewed = replace(keyed(run), balance=replace(run.balance, verdict="skewed"))
    sink().finish(Finished(skewed, None))
    assert capsys.readouterr().err == "hint: lbctl doctor echo --probe 1000\n"
    for quiet in (replace(skewed, backends=named), replace(run, balance=replace(run.balance, verdict="balanced"))):
        sink().finish(Finished(quiet, None))
        assert capsys.readouterr().err == ""
