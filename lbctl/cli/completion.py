"""``lbctl completion SHELL``: the script that makes a shell complete; and what that script asks lbctl."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Final

from lbctl.cli.completion_scripts import SCRIPTS
from lbctl.cli.completion_values import words
from lbctl.cli.flags import argument
from lbctl.cli.help import Command
from lbctl.cli.options import with_settings
from lbctl.cli.settings import Settings
from lbctl.errors import UsageError

ABOUT = """\
Print the script that makes a shell complete lbctl: commands, options and their values, files, services, instances,
methods.

To have it in every new shell:
  bash        echo 'source <(lbctl completion bash)' >> ~/.bashrc
  zsh         lbctl completion zsh > ~/.zfunc/_lbctl
              with fpath+=(~/.zfunc) before compinit in ~/.zshrc
  fish        lbctl completion fish > ~/.config/fish/completions/lbctl.fish
  powershell  lbctl completion powershell >> $PROFILE

What etcd and backends know they are asked for with the settings of the line that is being typed, for 300 ms at most
(env LBCTL_COMPLETION_TIMEOUT), and it is kept for 30 s in $XDG_CACHE_HOME/lbctl. Where nobody answers nothing is
completed, and nothing is said."""
EXAMPLES = (
    "lbctl completion bash",
    "lbctl completion zsh > ~/.zfunc/_lbctl",
    "lbctl completion fish | source",
)
SPARE_S: Final = 3.0  # for this process itself


@with_settings(registry=False)
def completion(
    shell: Annotated[str | None, argument(metavar="SHELL", text=", ".join(SCRIPTS), completes=words(*SCRIPTS))] = None,
    *,
    settings: Settings,
) -> int:
    """Print the completion script of a shell."""
    if shell is None:
        raise UsageError("completion needs a SHELL", _hint())
    found = SCRIPTS.get(shell)
    if found is None:
        raise UsageError(f"there is no completion for {shell!r}", _hint())
    print(found.text, end="", flush=True)  # noqa: T201
    return 0


def _hint() -> str:
    """Which shells there are, and where that is known the command for the one that runs here."""
    own = os.path.basename(os.environ.get("SHELL", ""))
    every = f"one of: {', '.join(SCRIPTS)}"
    return f"{every}; yours seems to be {own}: lbctl completion {own}" if own in SCRIPTS else every


def told(arguments: Sequence[str]) -> list[str]:
    """The lines that a shell's script gets for its question; nothing where anything is wrong."""
    from lbctl.cli.completion_answer import answer
    from lbctl.cli.completion_shells import SHELLS

    with suppress(Exception):  # nobody wants to read of it in the middle of a line
        shell, *rest = arguments
        line, tell = SHELLS[shell](rest)
        return tell(answer(line))
    return []


def complete(arguments: Sequence[str]) -> int:
    """Answer a script on standard output; says nothing else, never reads what is typed, and ends soon."""
    from threading import Timer

    from lbctl.cli.completion_values import limit_s

    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 2):
        os.dup2(nowhere, stream)
    guard = Timer(
        limit_s(os.environ) + SPARE_S, os._exit, (0,)
    )  # a file that does not answer, such as a pipe named by --config
    guard.daemon = True
    guard.start()
    lines = told(arguments)
    with suppress(OSError):  # the shell has gone on
        sys.stdout.write("".join(f"{line}\n" for line in lines))
        sys.stdout.flush()
    guard.cancel()
    return 0


COMMAND = Command(completion, ABOUT, EXAMPLES)
