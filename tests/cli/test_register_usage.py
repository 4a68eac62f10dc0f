"""``register``, ``drain``, ``undrain`` and ``deregister`` where they are refused: no etcd is there to be asked."""

from __future__ import annotations

import pytest

from lbctl.cli.layouts import WRITERS
from tests.cli.conftest import Lbctl

A = "127.0.0.1:50061"


@pytest.fixture(autouse=True)
def _nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asked this etcd would end with 3."""
    monkeypatch.setenv("LBCTL_ENDPOINTS", "127.0.0.1:1")
    monkeypatch.setenv("LBCTL_DIAL_TIMEOUT", "100ms")


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (("echo", "127.0.0.1"), "'127.0.0.1' is no address to register: no port", "give host:port"),
        (
            ("echo", "0.0.0.0:5"),
            "'0.0.0.0:5' is no address to register: 0.0.0.0 is a wildcard: it would reach the caller's own machine",
            "give host:port",
        ),
        (("a//b", A), f'"a//b" is no name for a service: the key would be /services/a//b/{A}', "nothing was written"),
        (("echo", A, "--weight", "-1"), "weight -1 is negative", None),
        (("echo", A, "--ttl", "1.5s"), "'1.5s' is not a whole number of seconds from 1s to 24h", None),
        (("echo", A, "--metadata", "zone"), "'zone' is not NAME=VALUE (for example zone=a)", None),
        (("echo", A, "--metadata", "weight=5"), "--metadata: weight has an option of its own", "give --weight"),
        (("echo", A, "--metadata", "a=1", "--metadata", "a=2"), "--metadata: a is given twice", None),
        (("echo", A, "--metadata", "a=1"), "the layout seed has no place for metadata a", "nothing was written"),
        (("echo", A, "--layout", "plain", "--weight", "5"), "the layout plain has no weights", "nothing was written"),
        (("echo", A, "--layout", "kitex", "--weight", "0"), "clients of the layout kitex read weight 0 as 10", None),
        (
            ("echo", A, "--layout", "key-only"),
            "lbctl does not register in the layout key-only",
            f"use one of: {', '.join(WRITERS)}",
        ),
        (
            ("echo", A, "--layout", "go-zero", "--no-lease"),
            "--no-lease: a key of the layout go-zero is named by its lease",
            "leave --no-lease out",
        ),
        (
            ("echo", A, "--once", "--", "true"),
            "--once leaves at once, and a command is to be run meanwhile",
            "leave one of them out",
        ),
        (
            ("echo", A, "--no-lease", "--ttl", "5s"),
            "--ttl is that of a lease, and --no-lease wants none",
            "leave one of them out",
        ),
        (
            ("echo", A, "--wait", "5s"),
            "--wait is for a command, and there is none",
            "give one after --, or leave it out",
        ),
        (("echo", A, "--dry-run", "-y"), "--dry-run and -y contradict each other", None),
        (("echo", A, "--read-only"), "--read-only: nothing is written to etcd", "use --dry-run"),
    ],
)
def test_what_cannot_be_registered_is_refused_before_etcd_is_asked(
    lbctl: Lbctl, arguments: tuple[str, ...], message: str, hint: str | None
) -> None:
    said = lbctl("register", *arguments)
    assert (said.status, said.out) == (2, "")
    assert message in said.err.splitlines()[0]
    assert hint is None or said.err.splitlines()[1] == f"hint: {hint}"


@pytest.mark.parametrize("command", ["weight", "drain"])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--revert-after", "0s"), "'0s': must be more than 0"),
        (("--revert-after", "soon"), "'soon' is not a duration (for example 500ms, 10s, 1m30s)"),
    ],
)
def test_a_time_to_revert_after_is_one(lbctl: Lbctl, command: str, options: tuple[str, ...], message: str) -> None:
    said = lbctl(command, "echo", f"{A}=1" if command == "weight" else A, "-y", *options)
    assert (said.status, said.err.count(message)) == (2, 1), said.err


def test_weights_that_are_measured_are_not_for_a_while(lbctl: Lbctl) -> None:
    said = lbctl("weight", "echo", "--auto", "--apply", "--revert-after", "5s")
    assert (said.status, said.err.splitlines()[0]) == (2, "error: --revert-after is for weights that are given")


def test_a_command_that_is_not_there_is_told(lbctl: Lbctl, at: object, keys: object) -> None:
    said = lbctl("register", "echo", A, "--", "no-such-program")
    assert said.status == 127
    assert said.err.startswith("error: command not found: no-such-program\nhint: usage: lbctl register SERVICE")
    assert "no services in etcd" in lbctl("ls").err


@pytest.mark.parametrize("command", ["drain", "undrain", "deregister"])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "standard input is no terminal, so nobody can be asked"),
        (("-y", "--dry-run"), "--dry-run and -y contradict each other"),
        (("-y", "--read-only"), "--read-only: nothing is written to etcd"),
    ],
)
def test_nothing_is_written_unasked(lbctl: Lbctl, command: str, options: tuple[str, ...], message: str) -> None:
    said = lbctl(command, "echo", A, *options)
    assert (said.status, said.err.splitlines()[0]) == (2, f"error: {message}")


@pytest.mark.parametrize("command", ["register", "drain", "undrain", "deregister"])
def test_an_etcd_that_does_not_answer_ends_with_3(lbctl: Lbctl, command: str) -> None:
    said = lbctl(command, "echo", A, "--dry-run", "--dial-timeout", "200ms")
    assert (said.status, said.out) == (3, "")
    assert said.err.startswith("error: etcd 127.0.0.1:1 did not answer within 0.2s")


@pytest.mark.parametrize("blank", ["", "  "])
@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        *(
            case
            for command in ("drain", "undrain", "deregister")
            for case in (
                (
                    (command, "echo"),
                    ("-y",),
                    "ADDRESS...': it is empty (give an address, for example 10.0.0.11:50051, or",
                ),
                ((command, "echo", A), ("--dry-run",), "ADDRESS...': it is empty (give an address, for example"),
                ((command,), (A, "-y"), "SERVICE': it is empty (give the name of a service)"),
            )
        ),
        (("weight",), (f"{A}=1", "-y"), "SERVICE': it is empty"),
        (("weight",), ("--auto",), "SERVICE': it is empty"),
        (("weight", "echo"), ("-y",), "is not ADDRESS=WEIGHT (for example 10.0.0.11:50051=3)"),
        (("register",), (A, "--dry-run"), "SERVICE': it is empty"),
        (("register", "echo"), ("--dry-run",), "is no address to register"),
        (("health",), (), "SERVICE': it is empty"),
        (("ls",), (), "SERVICE': it is empty"),
        (("watch",), (), "SERVICE': it is empty"),
        (("doctor",), (), "SERVICE': it is empty"),
        (("hammer",), (), "SERVICE': it is empty"),
        (("hammer", "echo"), (), "METHOD': it is empty (give package.Service/Method, or leave it out"),
    ],
)
def test_an_argument_that_is_blank_is_no_name(
    lbctl: Lbctl, before: tuple[str, ...], after: tuple[str, ...], message: str, blank: str
) -> None:
    """As a variable that is not set makes it."""
    said = lbctl(*before, blank, *after)
    assert (said.status, said.out) == (2, "")
    assert message in said.err.splitlines()[0]


def test_a_weight_needs_an_address(lbctl: Lbctl) -> None:
    said = lbctl("weight", "echo", " =3", "-y")
    message = "error: ' =3' is not ADDRESS=WEIGHT (for example 10.0.0.11:50051=3)\n"
    assert (said.status, said.err) == (2, f"{message}hint: see: lbctl weight --help\n")
