"""The texts of first contact: what lbctl is, which commands there are, where to read on."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from lbctl.cli.layouts import LAYOUTS

_GROUPS = {
    "look": "Look at the registry",
    "load": "Put load on backends",
    "change": "Change the registry",
    "try": "Try it on this machine",
}


@dataclass(frozen=True, slots=True)
class Command:
    """What runs, and its own help: what it is ``about``, and ``examples``; ``options`` go to typer."""

    function: Callable[..., int | None]
    about: str
    examples: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def help(self) -> str:
        """The help text in the form typer leaves alone: a paragraph that starts with a backspace is not rewrapped."""
        lines = "\n".join(f"  {example}" for example in self.examples)
        parts = [*self.about.split("\n\n"), f"Examples:\n{lines}"]
        return "\n\n".join(f"\b\n{part}" if "\n  " in part else part for part in parts)


@dataclass(frozen=True, slots=True)
class Listed:
    """A command as the help lists it; ``module`` of this package has it as ``attribute``, and is imported for it."""

    group: str
    name: str
    summary: str
    module: str
    attribute: str = "COMMAND"

    def load(self) -> Command:
        """Import the command: each takes some milliseconds, and most command lines mean one of them."""
        found: Command = getattr(import_module(f"lbctl.cli.{self.module}"), self.attribute)
        return found


def root_help(commands: Iterable[Listed], width: int = 80) -> str:
    """Write the full help of ``lbctl --help``, its lines within ``width``."""
    lines = [
        "Usage: lbctl [OPTIONS] COMMAND [ARGS]...",
        "",
        "See and test what client-side load balancing does to gRPC services in etcd.",
        "",
        "Examples:",
        "  lbctl demo                              start etcd and three backends here",
        "  lbctl ls                                which services does etcd know?",
        "  lbctl ls echo                           which instances, are they healthy?",
        "  lbctl hammer echo --policy p2c -n 10k   who gets how many calls, how fast?",
    ]
    listed = list(commands)
    for group, title in _GROUPS.items():
        rows = [command for command in listed if command.group == group]
        if rows:
            lines += ["", f"{title}:", *(f"  {row.name:<12}{row.summary}" for row in rows)]
    lines += [
        "",
        "More:",
        "  help        this text; lbctl help COMMAND is lbctl COMMAND --help",
        "  version     print the version (same as -V, --version)",
        *(f"  {row.name:<12}{row.summary}" for row in listed if row.group == "more"),
        "",
        "Options of every command, before or after its name:",
        "  --config FILE     settings file (default ./lbctl.yaml and the user's lbctl/config.yaml)",
        "  --profile NAME    use what the settings file has under profile.NAME",
        "  --color WHEN      auto, always or never; --no-color is --color never",
        "  --ascii           draw with ASCII characters only",
        "  -q, --quiet       no notes, warnings or hints on standard error",
        "  -v, --verbose     say where settings come from",
        "  --log-file FILE   append tracebacks and what -v says to this file",
        "",
        "Options of commands that read etcd, likewise:",
        "  --endpoints LIST  host:port, comma-separated (default 127.0.0.1:2379)",
        "  --prefix KEY      look only at keys that start with this",
        f"  --layout NAME     layout of the keys: {', '.join(LAYOUTS)}",
        "  --read-only       refuse to write to etcd",
        "  --user, --password-file, --cacert, --cert, --key, --insecure-skip-tls-verify, "
        "--dial-timeout, --command-timeout",
        "",
        "Options of commands that call backends, after their name:",
        "  --tls, --plaintext, --tls-ca, --tls-cert, --tls-key, --tls-server-name, "
        "--tls-skip-verify, --authority, --connect-timeout",
        "",
        "Settings: option, then LBCTL_NAME, then ETCDCTL_NAME, then the settings file, then the default.",
    ]
    return "\n".join(_fitted(line, width) for line in lines)


def _fitted(line: str, width: int) -> str:
    if len(line) <= width:
        return line
    from textwrap import fill

    indent = len(line) - len(line.lstrip())
    column = line.find("  ", indent)  # two columns: the second one goes on below itself
    hanging = column + len(line[column:]) - len(line[column:].lstrip()) if column > 0 else indent
    return fill(line, width, subsequent_indent=" " * hanging, break_on_hyphens=False)


def printed(text: str) -> str:
    """The help as it is printed: with titles and names of options in bold on a terminal that can."""
    if not sys.stdout.isatty() or os.environ.get("TERM", "") in ("", "dumb"):
        return text
    from lbctl.view.theme import MONOCHROME

    bold, reset = MONOCHROME.bold, MONOCHROME.reset
    return "\n".join(_emphasised(line, bold, reset) for line in text.split("\n"))


def columns() -> int:
    """How wide help may be: as the terminal, and as is good to read."""
    try:
        return min(80, os.get_terminal_size(1).columns or 80)
    except OSError:
        return 80


def _emphasised(line: str, bold: str, reset: str) -> str:
    if line.startswith("  -"):
        name = line[2:].split("  ")[0]
        return f"  {bold}{name}{reset}{line[2 + len(name) :]}"
    is_title = line.endswith(":") and (not line.startswith(" ") or line == "  Examples:")
    return f"{bold}{line}{reset}" if is_title else line


def first_contact() -> str:
    """Twelve lines for ``lbctl`` alone."""
    return """\
lbctl shows which backend gets your gRPC calls, and why.
It reads services from etcd, balances calls over their instances itself,
and reports every instance's share, errors and latency.

Start here:
  lbctl demo                  etcd and three gRPC backends on this machine
  lbctl ls                    services in etcd; lbctl ls NAME: one service
  lbctl hammer NAME           load through a policy, watched live

lbctl reads etcd at 127.0.0.1:2379; --endpoints or LBCTL_ENDPOINTS change it.
All commands: lbctl --help      One command: lbctl COMMAND --help
Version and licence: lbctl version"""
