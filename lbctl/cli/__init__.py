"""The command line: one module per command, assembled here; nothing heavy is imported before a command runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Annotated, NoReturn

import typer

from lbctl import __version__
from lbctl.cli import bench as _bench
from lbctl.cli import compare as _compare
from lbctl.cli import demo as _demo
from lbctl.cli import deregister as _deregister
from lbctl.cli import doctor as _doctor
from lbctl.cli import drain as _drain
from lbctl.cli import hammer as _hammer
from lbctl.cli import health as _health
from lbctl.cli import ls as _ls
from lbctl.cli import policies as _policies
from lbctl.cli import register as _register
from lbctl.cli import report as _report
from lbctl.cli import watch as _watch
from lbctl.cli import weight as _weight
from lbctl.cli.failures import guarded
from lbctl.cli.flags import GroupedCommand
from lbctl.cli.help import Listed, first_contact, root_help
from lbctl.cli.options import root_options

LISTED: tuple[Listed, ...] = (
    Listed("look", "ls", _ls.SUMMARY, _ls.ls, _ls.ABOUT, _ls.EXAMPLES),
    Listed("look", "watch", _watch.SUMMARY, _watch.watch, _watch.ABOUT, _watch.EXAMPLES),
    Listed("look", "health", _health.SUMMARY, _health.health, _health.ABOUT, _health.EXAMPLES),
    Listed("look", "doctor", _doctor.SUMMARY, _doctor.doctor, _doctor.ABOUT, _doctor.EXAMPLES),
    Listed("load", "hammer", _hammer.SUMMARY, _hammer.hammer, _hammer.ABOUT, _hammer.EXAMPLES),
    Listed("load", "compare", _compare.SUMMARY, _compare.compare, _compare.ABOUT, _compare.EXAMPLES),
    Listed("load", "report", _report.SUMMARY, _report.report, _report.ABOUT, _report.EXAMPLES),
    Listed("load", "policies", _policies.SUMMARY, _policies.policies, _policies.ABOUT, _policies.EXAMPLES),
    Listed("load", "bench", _bench.SUMMARY, _bench.bench, _bench.ABOUT, _bench.EXAMPLES),
    Listed("change", "register", _register.SUMMARY, _register.register, _register.ABOUT, _register.EXAMPLES),
    Listed(
        "change", "deregister", _deregister.SUMMARY, _deregister.deregister, _deregister.ABOUT, _deregister.EXAMPLES
    ),
    Listed("change", "weight", _weight.SUMMARY, _weight.weight, _weight.ABOUT, _weight.EXAMPLES),
    Listed("change", "drain", _drain.DRAIN_SUMMARY, _drain.drain, _drain.DRAIN_ABOUT, _drain.DRAIN_EXAMPLES),
    Listed("change", "undrain", _drain.UNDRAIN_SUMMARY, _drain.undrain, _drain.UNDRAIN_ABOUT, _drain.UNDRAIN_EXAMPLES),
    Listed("try", "demo", _demo.SUMMARY, _demo.demo, _demo.ABOUT, _demo.EXAMPLES, _demo.OPTIONS),
)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run lbctl and leave with its exit status."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit status; nothing is raised."""
    app = build(arguments)
    return guarded(lambda: app(args=list(arguments), prog_name="lbctl", standalone_mode=False))


def build(arguments: Sequence[str]) -> typer.Typer:
    """Assemble the application for one command line. Help is coloured and boxed on a terminal only.

    typer takes a while for every option: commands that cannot be meant are known by their names alone.
    """
    first = arguments[0] if arguments else ""
    known = {listed.name for listed in LISTED}
    alone = first in known or first in ("", "-h", "--help", "-V", "--version", "help", "version")
    app = typer.Typer(
        name="lbctl",
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich" if sys.stdout.isatty() else None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True, add_help_option=False)(_root)
    for listed in LISTED:
        if alone and listed.name != first:
            app.command(listed.name)(_unmeant)
        else:
            app.command(listed.name, cls=GroupedCommand, help=listed.help, **listed.options)(listed.function)
    app.command("version")(_version)
    app.command("help")(_help)
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
def _root(
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


def _help(command: Annotated[str | None, typer.Argument(metavar="COMMAND", show_default=False)] = None) -> int:
    """Help for lbctl or for one command."""
    return run(["--help"] if command is None else [command, "--help"])
