"""The command line: one module per command, assembled here; nothing heavy is imported before a command runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, NoReturn

import typer

from lbctl import __version__
from lbctl.cli.completion_sources import command_names
from lbctl.cli.failures import guarded
from lbctl.cli.flags import GroupedCommand, argument
from lbctl.cli.help import Listed, first_contact, root_help
from lbctl.cli.options import root_options

LISTED: tuple[Listed, ...] = (
    Listed("look", "ls", "services in etcd, or the instances of one service", "ls"),
    Listed("look", "watch", "live view of one service in the registry", "watch"),
    Listed("look", "health", "grpc.health.v1 of every backend", "health"),
    Listed("look", "doctor", "find what is wrong: etcd, keys, weights, health, balance, lag", "doctor"),
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
    Listed("more", "completion", "print the completion script of a shell: bash, zsh, fish, powershell", "completion"),
)


def _nothing() -> None:
    pass


def main(arguments: Sequence[str] | None = None, loaded: Callable[[], None] = _nothing) -> NoReturn:
    """Run lbctl and leave with its exit status; ``loaded`` is called when the command is about to begin."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(run(sys.argv[1:] if arguments is None else arguments, loaded))


def run(arguments: Sequence[str], loaded: Callable[[], None] = _nothing) -> int:
    """Run one command line and return its exit status; nothing is raised."""
    if list(arguments[:1]) == [_ASKED]:
        from lbctl.cli.completion import complete

        return complete(arguments[1:])

    def perform() -> object:
        app = build(arguments)
        loaded()
        return app(args=list(arguments), prog_name="lbctl", standalone_mode=False)

    return guarded(perform, arguments)


def build(arguments: Sequence[str]) -> typer.Typer:
    """Assemble the application for one command line. Help is coloured and boxed on a terminal only.

    typer takes a while for every option: commands that cannot be meant are known by their names alone.
    """
    first = arguments[0] if arguments else ""
    known = {listed.name for listed in LISTED}
    alone = first in known or first in ("", "-h", "--help", "-V", "--version", *OTHERS)
    app = typer.Typer(
        name="lbctl",
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich" if sys.stdout.isatty() else None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True, add_help_option=False)(root)
    for listed in LISTED:
        if alone and listed.name != first:
            app.command(listed.name)(_unmeant)
        else:
            command = listed.load()
            app.command(listed.name, cls=GroupedCommand, help=command.help, **command.options)(command.function)
    for name, function in OTHERS.items():
        app.command(name)(function)
    return app


def _unmeant() -> None:
    """A command that this command line does not run."""


def _print(text: str) -> None:
    print(text)  # noqa: T201


def _ending(text: Callable[[], str]) -> Callable[[bool], None]:
    def show(wanted: bool) -> None:
        if wanted:
            _print(text())
            raise typer.Exit

    return show


def _flag(*names: str, text: Callable[[], str]) -> object:
    return typer.Option(*names, is_eager=True, callback=_ending(text), show_default=False)


@root_options
def root(
    context: typer.Context,
    help_: Annotated[bool, _flag("-h", "--help", text=lambda: root_help(LISTED))] = False,
    version: Annotated[bool, _flag("-V", "--version", text=lambda: f"lbctl {__version__}")] = False,
) -> None:
    """See and test what client-side load balancing does to gRPC services registered in etcd."""
    if context.invoked_subcommand is None:
        _print(first_contact())


def _version() -> None:
    """Print the version."""
    _print(f"lbctl {__version__}")


def _help(
    command: Annotated[str | None, argument(metavar="COMMAND", text="which one", completes=command_names)] = None,
) -> int:
    """Help for lbctl or for one command."""
    return run(["--help"] if command is None else [command, "--help"])


# Commands that are not worth a module.
OTHERS: Mapping[str, Callable[..., Any]] = {"version": _version, "help": _help}
_ASKED = "__complete"  # by the script of a shell
