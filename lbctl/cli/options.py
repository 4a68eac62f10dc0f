"""The global options: declared once, accepted before and after every subcommand."""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable, Container, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias, get_type_hints

import typer

from lbctl.cli.completion_sources import formats, prefixes, profiles
from lbctl.cli.completion_values import free, words
from lbctl.cli.config import read_config
from lbctl.cli.connection_options import BackendOptions
from lbctl.cli.failures import append, internal_errors
from lbctl.cli.flags import expanded, gathered, option, switch
from lbctl.cli.layouts import LAYOUTS
from lbctl.cli.settings import COLORS, NAMED_BY, Settings, resolve
from lbctl.errors import UsageError

_ETCD = "etcd"
_SHOW = "Output"


class _Etcd:
    """Options of commands that read the registry."""

    endpoints: Annotated[
        str | None,
        option(
            "--endpoints",
            text="etcd endpoints, comma-separated (default 127.0.0.1:2379; env LBCTL_ENDPOINTS, ETCDCTL_ENDPOINTS)",
            metavar="LIST",
            panel=_ETCD,
            completes=free,
        ),
    ]
    user: Annotated[
        str | None,
        option(
            "--user",
            text="etcd user, or user:password; asks for the password if alone",
            metavar="NAME",
            panel=_ETCD,
            completes=free,
        ),
    ]
    password_file: Annotated[
        str | None,
        option(
            "--password-file",
            text="read the etcd password from this file (- is standard input)",
            metavar="FILE",
            panel=_ETCD,
        ),
    ]
    password: Annotated[
        str | None, option("--password", text="etcd password", metavar="TEXT", panel=_ETCD, hidden=True)
    ]
    cacert: Annotated[
        str | None,
        option("--cacert", text="CA certificates for etcd; switches TLS on", metavar="FILE", panel=_ETCD),
    ]
    cert: Annotated[str | None, option("--cert", text="client certificate for etcd", metavar="FILE", panel=_ETCD)]
    key: Annotated[str | None, option("--key", text="private key of --cert", metavar="FILE", panel=_ETCD)]
    insecure_skip_tls_verify: Annotated[
        bool | None,
        switch("--insecure-skip-tls-verify", text="take whatever certificate etcd shows (for tests)", panel=_ETCD),
    ]
    dial_timeout: Annotated[
        str | None,
        option("--dial-timeout", text="how long to wait for etcd to answer (default 2s)", metavar="TIME", panel=_ETCD),
    ]
    command_timeout: Annotated[
        str | None,
        option("--command-timeout", text="limit of one etcd request (default 5s)", metavar="TIME", panel=_ETCD),
    ]
    prefix: Annotated[
        str | None,
        option(
            "--prefix",
            text="look only at keys that start with this (default: all)",
            metavar="KEY",
            panel=_ETCD,
            completes=prefixes,
        ),
    ]
    read_only: Annotated[
        bool | None, switch("--read-only", text="refuse to write to etcd (env LBCTL_READ_ONLY)", panel=_ETCD)
    ]


def _formats(outputs: Sequence[str]) -> object:
    text = f"output format: {', '.join(outputs)} (default {outputs[0]})" if outputs else "output format"
    known = words(*outputs) if outputs else formats
    return Annotated[str | None, option("-o", "--output", text=text, metavar="FORMAT", panel=_SHOW, completes=known)]


class _Layouts:
    """Options of commands that look for a service."""

    layout: Annotated[
        str | None,
        option(
            "--layout",
            text=f"layout of the keys: {', '.join(LAYOUTS)} (default auto; env LBCTL_LAYOUT)",
            metavar="NAME",
            panel=_ETCD,
            completes=words(*LAYOUTS),
        ),
    ]
    format: Annotated[
        str | None,
        option(
            "--format",
            text="former name of --layout",
            metavar="NAME",
            panel=_ETCD,
            hidden=True,
            completes=words(*LAYOUTS),
        ),
    ]


class _Names:
    """Options of commands that find a service by its name."""

    service_from: Annotated[
        str | None,
        option(
            "--service-from",
            text="name services by their key or their value (default: as the layout has it; env LBCTL_SERVICE_FROM)",
            metavar="WHAT",
            panel=_ETCD,
            completes=words(*NAMED_BY),
        ),
    ]


class _Headers:
    """Options of commands that print tables or csv."""

    no_headers: Annotated[
        bool | None, switch("--no-headers", text="leave the header row of tables and csv out", panel=_SHOW)
    ]


class _Common:
    """Options of every command."""

    config: Annotated[
        str | None,
        option(
            "--config",
            text="settings file (default ./lbctl.yaml and the user's lbctl/config.yaml; env LBCTL_CONFIG)",
            metavar="FILE",
            panel=_SHOW,
        ),
    ]
    profile: Annotated[
        str | None,
        option(
            "--profile",
            text="use what the settings file has under profile.NAME (env LBCTL_PROFILE)",
            metavar="NAME",
            panel=_SHOW,
            completes=profiles,
        ),
    ]
    color: Annotated[
        str | None,
        option(
            "--color",
            text="auto, always or never (env NO_COLOR)",
            metavar="WHEN",
            panel=_SHOW,
            completes=words(*COLORS),
        ),
    ]
    no_color: Annotated[bool | None, switch("--no-color", text="same as --color never", panel=_SHOW)]
    ascii: Annotated[
        bool | None, switch("--ascii", text="draw with ASCII characters only (env LBCTL_ASCII)", panel=_SHOW)
    ]
    quiet: Annotated[
        bool | None, switch("-q", "--quiet", text="no notes, warnings or hints on standard error", panel=_SHOW)
    ]
    no_input: Annotated[
        bool | None, switch("--no-input", text="ask nothing: what would be asked about is refused", panel=_SHOW)
    ]
    verbose: Annotated[
        int,
        typer.Option(
            "-v",
            "--verbose",
            count=True,
            help="say where settings come from",
            rich_help_panel=_SHOW,
            show_default=False,
        ),
    ]
    log_file: Annotated[
        str | None,
        option("--log-file", text="append tracebacks and what -v says to this file", metavar="FILE", panel=_SHOW),
    ]


_CONTEXT = inspect.Parameter("_context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)


@functools.cache
def _hints(group: type) -> Mapping[str, Any]:
    return get_type_hints(group, include_extras=True)


def _parameters(
    *,
    registry: bool,
    layouts: bool,
    names: bool,
    outputs: Sequence[str] | None,
    headers: bool,
    backends: bool = False,
) -> list[inspect.Parameter]:
    hints: dict[str, Any] = {}
    if backends:
        hints |= _hints(BackendOptions)
    if registry:
        hints |= _hints(_Etcd)
    if layouts:
        hints |= _hints(_Layouts)
    if names:
        hints |= _hints(_Names)
    if outputs is not None:
        hints["output"] = _formats(outputs)
    if headers:
        hints |= _hints(_Headers)
    hints |= _hints(_Common)
    return [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=0 if name == "verbose" else None, annotation=hint
        )
        for name, hint in hints.items()
    ]


@functools.cache
def shared_names() -> frozenset[str]:
    """The names of the options that mean the same for every command that has them, but for the format of its output."""
    groups = (BackendOptions, _Etcd, _Layouts, _Names, _Common)
    return frozenset(name for group in groups for name in _hints(group))


def _names(parameters: Sequence[inspect.Parameter]) -> list[str]:
    return [parameter.name for parameter in parameters]


Command: TypeAlias = Callable[..., int | None]


def root_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give the root callback every global option; it stores what was given where the subcommands find it."""
    shared = _parameters(registry=True, layouts=True, names=True, outputs=(), headers=True)

    @functools.wraps(function)
    def callback(**given: Any) -> None:  # noqa: ANN401 - whatever the wrapped function takes
        context: typer.Context = given.pop("_context")
        context.obj = {name: given.pop(name) for name in _names(shared)}
        function(context, **given)

    own = [p for p in _own_parameters(function) if p.annotation is not typer.Context]
    return _dressed(callback, [*own, *shared, _CONTEXT])


def with_settings(
    *,
    registry: bool = True,
    layouts: bool = False,
    names: bool | None = None,
    outputs: Sequence[str] = (),
    headers: bool = False,
    backends: bool = False,
) -> Callable[[Command], Command]:
    """Merge the global options into a command's signature; the command gets them resolved, as ``settings``.

    A command takes only the groups that mean something to it (``outputs``: the formats it prints, the default first;
    ``backends``: how they are connected; ``names``: what services are named by, as ``layouts`` unless said); a global
    option it does not take is refused, not ignored, when it stands before the command. A parameter of its own may be a
    group of options (see ``flags``).
    """
    shared = _parameters(
        registry=registry,
        layouts=layouts,
        names=layouts if names is None else names,
        outputs=outputs or None,
        headers=headers,
        backends=backends,
    )

    def decorate(function: Command) -> Command:
        own = [p for p in _own_parameters(function) if p.name != "settings"]

        @functools.wraps(function)
        def command(**given: Any) -> int | None:  # noqa: ANN401 - whatever the wrapped function takes
            context: typer.Context = given.pop("_context")
            here = {name: given.pop(name) for name in _names(shared)}
            name = context.info_name or ""
            settings = _resolved(_merged(context.find_root().obj or {}, here, name, given))
            settings = settings.with_output(name, outputs)
            with internal_errors(settings.log_file):
                return function(**gathered(own, given), settings=settings)

        return _dressed(command, [*expanded(own), *shared, _CONTEXT])

    return decorate


def _own_parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    return list(inspect.signature(function, eval_str=True).parameters.values())


def _merged(
    before: Mapping[str, Any], here: Mapping[str, Any], command: str, own: Container[str] = ()
) -> dict[str, Any]:
    """Merge both places: flags after the subcommand win over flags before it; ``own`` are the command's alone."""
    for name, value in before.items():
        if _is_given(value) and name not in here:
            flag = "--" + name.replace("_", "-")
            if name in own:
                raise UsageError(f"{flag} of lbctl {command} stands after {command}", f"see: lbctl {command} --help")
            raise UsageError(f"lbctl {command} has no option {flag}", f"see: lbctl {command} --help")
    merged = {name: here[name] if _is_given(here[name]) else before.get(name) for name in here}
    if merged.pop("no_color"):
        merged["color"] = "never"
    return merged


def _is_given(value: object) -> bool:
    """A switch may be given as False; a count that was not given is 0."""
    return isinstance(value, bool) or value not in (None, 0)


def _resolved(flags: dict[str, Any]) -> Settings:
    file = read_config(flags, os.environ, Path.cwd())
    settings = resolve(flags, os.environ, file.values)
    if not settings.quiet:
        for note in file.notes:
            print(f"note: {note}", file=sys.stderr)  # noqa: T201
    if settings.log_file is not None:
        append(settings.log_file, "")  # what cannot be written is told before anything is done
    if settings.verbose:
        _tell(
            settings, [f"setting: {name.replace('_', '-')} from {settings.origins[name]}" for name in settings.origins]
        )
    return settings


def _tell(settings: Settings, lines: Sequence[str]) -> None:
    """Diagnostics go to the log file where there is one, else to standard error."""
    if settings.log_file is None:
        print(*lines, sep="\n", file=sys.stderr)  # noqa: T201
    else:
        append(settings.log_file, "".join(f"{line}\n" for line in lines))


def detail(settings: Settings) -> Callable[[str], None]:
    """What -v adds goes here, one line at a time; without -v nowhere."""
    if not settings.verbose:
        return lambda line: None
    return lambda line: _tell(settings, [line])


def _dressed(function: Callable[..., Any], parameters: list[inspect.Parameter]) -> Callable[..., Any]:
    """Put the function under the signature that typer reads."""
    keyword_only = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    function.__signature__ = inspect.Signature(keyword_only)  # type: ignore[attr-defined]
    function.__annotations__ = {parameter.name: parameter.annotation for parameter in keyword_only}
    if hasattr(function, "__wrapped__"):
        del function.__wrapped__
    return function
