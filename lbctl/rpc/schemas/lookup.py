"""Which method a user means: ``pkg.Svc/Method``, ``pkg.Svc.Method``, ``Svc/Method``, or ``Method`` alone."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, NamedTuple

from google.protobuf.descriptor_pb2 import MethodDescriptorProto

from lbctl.errors import LbctlError, NotFound, UsageError

HEALTH: Final = "grpc.health.v1.Health"
INFRASTRUCTURE: Final = ("grpc.reflection.", "grpc.health.")
MAX_NAMES: Final = 10
FULL_NAME: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)

# What reflection says a backend offers: service -> method name -> its description.
Catalog = Mapping[str, Mapping[str, MethodDescriptorProto]]


class Name(NamedTuple):
    """One method by its two names."""

    service: str
    method: str

    def __str__(self) -> str:
        return f"{self.service}/{self.method}"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A method as a user spelt it; ``service`` is empty where only the method was named."""

    text: str
    service: str
    method: str


def parse(text: str) -> Wanted:
    """Split a spelling into service and method."""
    bare = text.strip().removeprefix("/")
    service, _, method = bare.rpartition("/" if "/" in bare else ".")
    if not method or ("/" in bare and not service):
        raise UsageError(f'"{text}" is not a method name', "write pkg.Service/Method, Service/Method or Method")
    return Wanted(bare, service, method)


def is_infrastructure(service: str) -> bool:
    """Tell whether a service belongs to gRPC itself, so that a bare method name never means it."""
    return service.startswith(INFRASTRUCTURE)


def places(wanted: Wanted, listing: Collection[str]) -> list[str]:
    """List the services to search: those the name fits, or else all, to suggest from."""
    if (wanted.service and wanted.service in listing) or is_infrastructure(wanted.service):
        return [wanted.service]
    candidates = own(listing)
    fitting = [name for name in candidates if _ends(name, wanted.service)]
    if not fitting and wanted.service:
        # Its last part was given, so gRPC's own may be meant: Health/Check.
        fitting = [name for name in listing if FULL_NAME.fullmatch(name) and _ends(name, wanted.service)]
    return fitting or candidates


def may_be_unlisted(wanted: Wanted, listing: Collection[str]) -> bool:
    """Tell whether a service is named that none of those listed is, so that only asking for it can tell."""
    return FULL_NAME.fullmatch(wanted.service) is not None and not any(_ends(name, wanted.service) for name in listing)


def own(listing: Collection[str]) -> list[str]:
    """List the services that are the backend's own, not gRPC's."""
    return [name for name in listing if FULL_NAME.fullmatch(name) and not is_infrastructure(name)]


def choose(wanted: Wanted, catalog: Catalog, origin: str = "") -> Name:
    """Find the one method a name means; raises NotFound with the nearest names, or with the candidates.

    ``origin`` is what errors call what the catalog is of.
    """
    fits = [n for n in names(catalog) if n.method == wanted.method and _ends(n.service, wanted.service)]
    exact = [n for n in fits if n.service == wanted.service]
    found = exact or fits
    if len(found) == 1:
        return found[0]
    if found:
        raise NotFound(f'"{wanted.text}" is ambiguous: {listed(found)}', f"give the full name, for example {found[0]}")
    raise _not_found(wanted, catalog, origin)


def names(catalog: Catalog) -> Iterator[Name]:
    """List every method, services and methods in their declared order."""
    for service, methods in catalog.items():
        yield from (Name(service, method) for method in methods if FULL_NAME.fullmatch(method))


def listed(found: Sequence[object]) -> str:
    """Write methods in one line, the first ten of them."""
    more = len(found) - MAX_NAMES
    return ", ".join(str(name) for name in found[:MAX_NAMES]) + (f" and {more} more" if more > 0 else "")


def described(catalog: Catalog) -> str:
    """Write the methods of a backend's own services in one line, with what streams."""
    own_names = [name for name in names(catalog) if not is_infrastructure(name.service)]
    kinds = {name: kind(catalog[name.service][name.method]) for name in own_names}
    return listed([f"{name} ({streams} streaming)" if streams else name for name, streams in kinds.items()])


def kind(method: MethodDescriptorProto) -> str:
    """Tell in a word which sides of a method stream, "" for none."""
    sides = (method.client_streaming, method.server_streaming)
    return {(False, False): "", (True, False): "client", (False, True): "server", (True, True): "bidirectional"}[sides]


def _ends(service: str, wanted: str) -> bool:
    return not wanted or service == wanted or service.endswith(f".{wanted}")


def _not_found(wanted: Wanted, catalog: Catalog, origin: str) -> LbctlError:
    known = list(names(catalog))
    whole = [n for n in known if _ends(n.service, wanted.text)]
    if whole:
        return NotFound(f'"{wanted.text}" is a service, not a method', f"its methods: {listed(whole)}")
    if not known:
        return NotFound(f'no method "{wanted.text}": {origin or "the backend"} lists no service of its own')
    here = [name for name in known if wanted.service and _ends(name.service, wanted.service)]
    near = _near_methods(wanted, here or known) or (_near_names(wanted, known) if not here else [])
    hint = f"did you mean {' or '.join(map(str, near))}?" if near else f"methods: {listed(here or known)}"
    return NotFound(f'no method "{wanted.text}"', hint)


def _near_methods(wanted: Wanted, known: Iterable[Name]) -> list[Name]:
    """Only the method's own name counts, where the service is right or none was given."""
    methods = {name.method.lower(): name for name in known if _ends(name.service, wanted.service)}
    return [methods[close] for close in get_close_matches(wanted.method.lower(), methods)]


def _near_names(wanted: Wanted, known: Iterable[Name]) -> list[Name]:
    spelling = {s.lower(): name for name in known for s in _spellings(name)}
    close = get_close_matches(wanted.text.lower(), spelling, n=MAX_NAMES, cutoff=0.7)
    return list(dict.fromkeys(spelling[s] for s in close))[:3]


def _spellings(name: Name) -> tuple[str, ...]:
    short = name.service.rpartition(".")[2]
    return (str(name), f"{name.service}.{name.method}", f"{short}/{name.method}", f"{short}.{name.method}", name.method)
