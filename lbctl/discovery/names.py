"""Finding the service a user means: by full prefix, or by an unambiguous last part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches

from lbctl.errors import NotFound
from lbctl.model import Registry, Service
from lbctl.suggestion import PLAIN, Again

_NEAREST = 3

# Tried in order; the first rule that matches anything decides, so "demo" never means "demo-b".
_RULES: tuple[Callable[[Service, str], bool], ...] = (
    lambda service, name: name in {service.name, service.prefix, service.prefix.rstrip("/")},
    lambda service, name: name.strip("/") == service.prefix.strip("/"),
    lambda service, name: name == _last_part(service.name),
    lambda service, name: name.lower() == _last_part(service.name).rpartition(".")[2].lower(),
)


def find(registry: Registry, name: str, layout: str | None = None, again: Again = PLAIN) -> Service:
    """Return the service called ``name``, or raise NotFound with the nearest names or the candidates.

    ``again`` spells commands that look in the same registry.
    """
    services = [service for service in registry.services if layout in {None, service.layout}]
    for rule in _RULES:
        matches = [service for service in services if rule(service, name)]
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise _ambiguous(name, matches)
    raise _unknown(name, services, others=len(services) < len(registry.services), again=again)


def name_of(services: Sequence[Service], service: Service) -> tuple[str, str]:
    """Return what ``find`` takes for this service and no other: a name, and a layout where the name has several."""
    for name in (service.name, service.prefix):
        matches = [each for each in services if _RULES[0](each, name)]
        if all(each.prefix == service.prefix for each in matches):
            break
    return name, service.layout if len(matches) > 1 else ""


def _ambiguous(name: str, matches: list[Service]) -> NotFound:
    prefixes = [service.prefix for service in matches]
    if len(set(prefixes)) == 1:
        layouts = ", ".join(service.layout for service in matches)
        return NotFound(f'"{name}" is registered in {len(matches)} layouts: {layouts}', "choose one with --layout")
    return NotFound(f'"{name}" means {len(matches)} services', "give one in full: " + ", ".join(prefixes))


def _unknown(name: str, services: list[Service], *, others: bool, again: Again) -> NotFound:
    """``others`` says that there are services of other layouts than the one asked for."""
    spellings = {alias: service.name for service in services for alias in (service.name, _last_part(service.name))}
    near = get_close_matches(name, list(spellings), n=_NEAREST)
    if near:
        hint = "did you mean: " + ", ".join(dict.fromkeys(spellings[alias] for alias in near))
    elif services or others:
        hint = f"see what is registered: {(again if services else again.without('--layout')).command('ls')}"
    else:
        hint = "no service was found there at all; look under another --prefix, or start one with: lbctl demo"
    return NotFound(f'no service "{name}" in etcd', hint)


def _last_part(name: str) -> str:
    return name.rpartition("/")[2]
