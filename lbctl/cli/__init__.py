"""The command line: one module per command; what says what there is needs no more than this module."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Final, NoReturn

from lbctl import __version__
from lbctl.cli.failures import guarded
from lbctl.cli.help import Listed, columns, first_contact, printed, root_help
from lbctl.errors import ExitCode

LISTED: tuple[Listed, ...] = (
    Listed("look", "ls", "services in etcd, or the instances of one service", "ls"),
    Listed("look", "watch", "live view of one service in the registry", "watch"),
    Listed("look", "methods", "methods that a service offers, and where backends differ", "methods"),
    Listed("look", "describe", "a method or message as protobuf source, or to be filled in", "describe"),
    Listed("look", "health", "grpc.health.v1 of every backend", "health"),
    Listed("look", "doctor", "find what is wrong: etcd, keys, weights, health, balance, lag", "doctor"),
    Listed("load", "call", "call one method: which backend was picked, why, and its reply", "call"),
    Listed("load", "hammer", "load through a balancing policy, live per-backend view", "hammer"),
    Listed("load", "compare", "several policies under the same load, round after round", "compare"),
    Listed("load", "report", "saved runs again, in any format, or compared", "report"),
    Listed("load", "policies", "the balancing policies, or how one of them works", "policies"),
    Listed("load", "bench", "what a pick of each policy costs here: time, memory", "bench"),
    Listed("change", "register", "register an instance and keep it registered", "register"),
    Listed("change", "deregister", "delete registrations, such as what a crash left behind", "deregister"),
    Listed("change", "weight", "change weights in the registry, also by measurement", "weight"),
    Listed("change", "drain", "take instances out of the rotation of every client", "drain", "DRAIN"),
    Listed("change", "undrain", "put drained instances back as they were", "drain", "UNDRAIN"),
    Listed("try", "demo", "start etcd and gRPC backends on this machine", "demo"),
    Listed("more", "completion", "the completion script of bash, zsh, fish or powershell", "completion"),
)


_ASKED: Final = "__complete"  # by the script of a shell


def _nothing() -> None:
    pass


def main(arguments: Sequence[str] | None = None, loaded: Callable[[], None] = _nothing) -> NoReturn:
    """Run lbctl and leave with its exit status; ``loaded`` is called when the command is about to begin."""
    _open_missing()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(run(sys.argv[1:] if arguments is None else arguments, loaded))


def _open_missing() -> None:
    """Have what is closed of standard input, output and error go nowhere: a socket would be opened in its place."""
    import os

    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "r" if name == "stdin" else "w", closefd=False))


def run(arguments: Sequence[str], loaded: Callable[[], None] = _nothing) -> int:
    """Run one command line and return its exit status; nothing is raised."""
    if list(arguments[:1]) == [_ASKED]:
        from lbctl.cli.completion import complete

        return complete(arguments[1:])

    def perform() -> object:
        text = _told(tuple(arguments))
        if text is not None:
            print(text)  # noqa: T201
            return ExitCode.OK
        from lbctl.cli.app import build

        named = _asked_about(arguments)
        app = build([named, "--help"] if named else arguments, helping=bool(named))
        loaded()
        return app(args=[named, "--help"] if named else list(arguments), prog_name="lbctl", standalone_mode=False)

    return guarded(perform, arguments)


def _told(arguments: tuple[str, ...]) -> str | None:
    """What is said without a command's being loaded, nor typer; None if the command line is about anything else."""
    match arguments:
        case ():
            return first_contact()
        case ("-h" | "--help" | "help",):
            return printed(root_help(LISTED, columns()))
        case ("-V" | "--version" | "version",):
            return f"lbctl {__version__}"
    return None


def _asked_about(arguments: Sequence[str]) -> str:
    """The command whose help is all that is asked for, or ""."""
    match list(arguments):
        case [name, "-h" | "--help"] | ["help", name] if any(listed.name == name for listed in LISTED):
            return str(name)
    return ""
