"""What a service offers as its backends told it: the result of ``lbctl methods``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Final

from lbctl.errors import NotFound
from lbctl.rpc.schemas.catalogue import MethodFacts
from lbctl.rpc.schemas.differences import Difference

_OF_GRPC: Final = "grpc."  # the package of health checks, reflection and the like
_WILD: Final = ("*", "?", "[")


@dataclass(frozen=True, slots=True)
class Row:
    """One method, and the addresses of the backends that offer it."""

    method: MethodFacts
    backends: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Teller:
    """One backend that was asked: by which version it told, or why it did not; and what it does not describe."""

    address: str
    protocol: str | None
    error: str | None = None
    undescribed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Offered:
    """The methods, who was asked, and where they differ; ``hidden`` are gRPC's own services that were left out.

    ``origin`` is what files are called, "" where backends told.
    """

    service: str
    rows: tuple[Row, ...]
    tellers: tuple[Teller, ...]
    differences: tuple[Difference, ...] = ()
    hidden: tuple[str, ...] = ()
    undescribed: tuple[str, ...] = ()
    origin: str = ""

    @property
    def told(self) -> int:
        """How many backends told."""
        return sum(teller.error is None for teller in self.tellers)


def like(
    methods: Iterable[MethodFacts], pattern: str, origin: str = ""
) -> tuple[Sequence[MethodFacts], tuple[str, ...]]:
    """The methods to show, and gRPC's own services that are not; raises NotFound where there are none to show.

    ``origin`` is what errors call whoever offers them.
    """
    known = list(methods)
    if pattern:
        found = [method for method in known if matches(pattern, method.full_name)]
        if not found:
            raise _nothing_like(pattern, [method.full_name for method in known])
        return found, ()
    own = [method for method in known if not method.service.startswith(_OF_GRPC)]
    if not known:
        raise NotFound(f"{origin or 'this backend'} offers no methods")
    shown = own or known
    hidden = dict.fromkeys(method.service for method in known if method not in shown)
    return shown, tuple(hidden)


def matches(pattern: str, full_name: str) -> bool:
    """Whether a method is meant: by wildcards, of its whole name or of its end, or by a part of it; in any case."""
    wanted, name = pattern.strip().removeprefix("/").lower(), full_name.lower()
    if not any(each in wanted for each in _WILD):
        return wanted in name or wanted in name.replace("/", ".")
    service, _, method = name.partition("/")
    short = f"{service.rpartition('.')[2]}/{method}"
    return any(fnmatchcase(each, wanted) for each in (name, short, service, method))


def _nothing_like(pattern: str, names: Sequence[str]) -> NotFound:
    ends = {name.rpartition("/")[2].lower(): name for name in reversed(names)}
    wanted = pattern.strip("*/").rpartition("/")[2].lower()
    near = [ends[each] for each in get_close_matches(wanted, ends)]
    hint = f"did you mean {' or '.join(near)}?" if near else "leave the pattern out to see all"
    return NotFound(f'no method is like "{pattern}"', hint)
