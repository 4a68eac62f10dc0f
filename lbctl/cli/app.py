"""The application of typer, assembled for one command line; nothing heavy is imported before a command runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import typer

from lbctl import __version__
from lbctl.cli import LISTED, run
from lbctl.cli.completion_sources import command_names
from lbctl.cli.flags import GroupedCommand, argument
from lbctl.cli.help import columns, first_contact, printed, root_help
from lbctl.cli.options import root_options


def build(arguments: Sequence[str], *, helping: bool = False) -> typer.Typer:
    """Assemble the application for one command line.

    typer takes a while for every option: commands that cannot be meant are known by their names alone, and where
    ``helping`` is all there is to do, those of the root are left out.
    """
    first = arguments[0] if arguments else ""
    known = {listed.name for listed in LISTED}
    alone = first in known or first in ("", "-h", "--help", "-V", "--version", *OTHERS)
    app = typer.Typer(
        name="lbctl",
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # a page reads the same on a terminal, of any width, and piped
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True, add_help_option=False)(_unmeant if helping else root)
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
    help_: Annotated[bool, _flag("-h", "--help", text=lambda: printed(root_help(LISTED, columns())))] = False,
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
