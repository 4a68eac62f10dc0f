"""The options of ``lbctl hammer`` that give a run its name, and that say when it is not to begin or to go on."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Final

from lbctl.cli.completion_values import free
from lbctl.cli.flags import Flags, option, switch
from lbctl.errors import UsageError

if TYPE_CHECKING:
    from lbctl.commands.hammer import Hammer

_LOAD: Final = "Load"
_RESULT: Final = "Screen and result"
_KEY: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,62}")
_LONGEST: Final = 200


def parse_limit(text: str) -> object:
    """``100`` or ``5%``."""
    from lbctl.commands.error_limit import parse_error_limit

    return parse_error_limit(text)


def parse_name(text: str) -> str:
    """What a run is called."""
    found = text.strip()
    if not found or len(found) > _LONGEST or not found.isprintable():
        raise ValueError(f"{text[:40]!r} is not a name: 1 to {_LONGEST} characters that can be printed")
    return found


def parse_tag(text: str) -> tuple[str, str]:
    """``key=value``."""
    key, equals, value = text.partition("=")
    if not equals or not _KEY.fullmatch(key.strip()):
        raise ValueError(f"{text[:40]!r} is not KEY=VALUE (for example build=1234)")
    value = value.strip()
    if len(value) > _LONGEST or not (value.isprintable() or not value):
        raise ValueError(f"{text[:40]!r}: a value has at most {_LONGEST} characters that can be printed")
    return key.strip(), value


@dataclass(frozen=True, slots=True)
class RunFlags(Flags):
    """The name of a run, and what it takes for it to begin and to go on."""

    max_errors: Annotated[
        Any,
        option(
            "--max-errors",
            text="end the run at the N-th error, or once more than P% of at least 100 calls failed, and exit with 5",
            metavar="N|P%",
            panel=_LOAD,
            parse=parse_limit,
        ),
    ] = None
    count_errors: Annotated[
        bool,
        switch(
            "--count-errors",
            text="latency of all calls that were answered, also with an error; samples stay those of OK calls",
            panel=_LOAD,
        ),
    ] = False
    no_latency_correction: Annotated[
        bool,
        switch(
            "--no-latency-correction",
            text="open loop: latency counts from when a call was started, whatever it had to wait for before",
            panel=_LOAD,
        ),
    ] = False
    yes: Annotated[bool, switch("-y", "--yes", text="begin a large load without waiting 3s", panel=_LOAD)] = False
    name: Annotated[
        str | None,
        option("--name", text="what the run is called in its result", metavar="TEXT", panel=_RESULT, parse=parse_name),
    ] = None
    tag: Annotated[
        list[Any] | None,
        option(
            "--tag",
            text="kept with the result; may be repeated",
            metavar="KEY=VALUE",
            panel=_RESULT,
            parse=parse_tag,
            completes=free,
        ),
    ] = None

    def applied(self, request: Hammer, *, quiet: bool = False) -> Hammer:
        """The request with all of it; raises UsageError for what is about another kind of load.

        ``quiet``: nobody is told of a large load, so that there is nothing to wait for before it.
        """
        if self.no_latency_correction and request.plan.schedule is None:
            raise UsageError("--no-latency-correction is for an open loop", "give a rate too: -r 500")
        plan = replace(request.plan, corrected=not self.no_latency_correction, counts_errors=self.count_errors)
        return replace(
            request,
            plan=plan,
            max_errors=self.max_errors,
            waits=not self.yes and not quiet and _somebody_is_there(),
            name=self.name or "",
            tags=dict(self.tag or ()),
        )


def _somebody_is_there() -> bool:
    """Whether anybody can stop a load before it begins."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))
