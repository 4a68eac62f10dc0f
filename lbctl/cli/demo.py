"""``lbctl demo``: its options, and where it speaks."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

from lbctl.cli.completion_values import command_line, free, words
from lbctl.cli.flags import argument, option, switch
from lbctl.cli.help import Command
from lbctl.cli.layouts import WRITERS
from lbctl.cli.options import with_settings
from lbctl.cli.settings import Settings

if TYPE_CHECKING:
    from lbctl.demo.scene import Facts

ABOUT = """\
Start a real etcd and real gRPC backends on 127.0.0.1, and register the backends.

Without COMMAND the demo waits for Ctrl-C. With COMMAND it runs that with LBCTL_ENDPOINTS set, ends with it, and
returns its exit status. Either way nothing is left behind: no process, no directory."""
EXAMPLES = (
    "lbctl demo",
    "lbctl demo --weights 5,3,2 --latency 'lognormal(2ms,0.5)' --errors 0.5%",
    "lbctl demo --latency 1ms,5ms,20ms -- lbctl hammer echo Echo/Say -z 30s",
    "lbctl demo --orca lbctl hammer echo Echo/Say --policy weighted_round_robin",
)
# Everything after the first word that is no option belongs to COMMAND, with or without -- before it.
OPTIONS: dict[str, Any] = {"context_settings": {"allow_interspersed_args": False}}


@with_settings(registry=False)
def demo(
    command: Annotated[
        list[str] | None,
        argument(metavar="-- COMMAND", text="run this in the demo", completes=command_line),
    ] = None,
    backends: Annotated[
        int | None,
        option("-b", "--backends", text="how many (default 3, or as many as a list below has)", metavar="N"),
    ] = None,
    weights: Annotated[
        str | None,
        option("--weights", text="one for all, or one per backend (default 5,1,1,...)", metavar="LIST", completes=free),
    ] = None,
    latency: Annotated[
        str,
        option(
            "--latency",
            text="time to answer, one for all or one per backend: 2ms, or lognormal(MEDIAN,SIGMA) (default 2ms)",
            metavar="LIST",
            completes=free,
        ),
    ] = "2ms",
    errors: Annotated[
        str,
        option(
            "--errors",
            text="share of calls answered UNAVAILABLE, one for all or one per backend (default 0%)",
            metavar="LIST",
            completes=free,
        ),
    ] = "0%",
    layout: Annotated[
        str,
        option(
            "--layout",
            text=f"how to write the keys: {', '.join(WRITERS)} (default seed)",
            metavar="NAME",
            completes=words(*WRITERS),
        ),
    ] = "seed",
    service: Annotated[
        list[str] | None,
        option(
            "--service", text="name to register under, may be repeated (default echo)", metavar="NAME", completes=free
        ),
    ] = None,
    ttl: Annotated[
        str, option("--ttl", text="lifetime of the backends' leases in whole seconds (default 10s)", metavar="TIME")
    ] = "10s",
    seed: Annotated[int, option("--seed", text="repeats latencies and errors (default 0)", metavar="N")] = 0,
    tls: Annotated[
        bool, switch("--tls", text="backends speak TLS; COMMAND is told how, and what to export is printed")
    ] = False,
    mtls: Annotated[bool, switch("--mtls", text="the same, and clients have to show a certificate too")] = False,
    orca: Annotated[
        bool,
        switch("--orca", text="backends report their load (ORCA); they say they can do 100 calls/s per unit of weight"),
    ] = False,
    etcd_bin: Annotated[
        str | None, option("--etcd-bin", text="the etcd to run (env LBCTL_ETCD_BIN)", metavar="FILE")
    ] = None,
    *,
    settings: Settings,
) -> int:
    """Start etcd and backends, and run a command in them or wait."""
    import asyncio

    from lbctl.cli.demo_setup import Texts, parse_setup
    from lbctl.commands.demo import Demo, Talk, run

    names = tuple(service or ("echo",))
    setup = parse_setup(Texts(backends, weights, latency, errors, layout, names, ttl, seed, etcd_bin, tls, mtls, orca))
    notes = _Notes(quiet=settings.quiet)
    talk = Talk(notes.summarise if command else _describe, notes.say)
    try:
        return asyncio.run(run(Demo(setup, tuple(command or ())), talk))
    finally:
        notes.flush()


class _Notes:
    """Standard error, in whole lines. While a command draws on the same terminal, notes wait until it has ended."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._holding = False
        self._held: list[str] = []

    def summarise(self, facts: Facts) -> None:
        """Say in one line what stands; from now on the terminal is the command's."""
        from lbctl.demo.notice import summary

        self.say(summary(facts))
        self._holding = sys.stderr.isatty()

    def say(self, line: str) -> None:
        if self._quiet:
            return
        self._held.append(line)
        if not self._holding:
            self.flush()

    def flush(self) -> None:
        lines, self._held = self._held, []
        with suppress(OSError):  # nobody reads it any more: no reason to end the command
            for line in lines:
                print(line, file=sys.stderr, flush=True)  # noqa: T201


def _describe(facts: Facts) -> None:
    """Print where everything is: the result of a demo that waits."""
    from lbctl.demo.notice import standing

    print(standing(facts), flush=True)  # noqa: T201


COMMAND = Command(demo, ABOUT, EXAMPLES, OPTIONS)
