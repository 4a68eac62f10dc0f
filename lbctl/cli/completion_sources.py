"""What a value may be as etcd and backends have it: services, instances, methods.

Whatever goes wrong (no etcd, no password, no time) there is nothing to complete, and nobody is told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from lbctl.cli.completion_values import Candidate, Source, Typed, listed

if TYPE_CHECKING:
    from lbctl.model import Instance, Service


def command_names(typed: Typed) -> Iterator[Candidate]:
    """The commands there are."""
    from lbctl.cli.completion_table import commands

    yield from (Candidate(name, about) for name, about in commands())


def formats(typed: Typed) -> Iterator[Candidate]:
    """Every format that any command has."""
    from lbctl.cli.completion_table import commands, syntax_of

    for name, _ in commands():
        syntax = syntax_of(name)
        output = syntax.options.get("--output") if syntax is not None else None
        if output is not None and output.completes is not None:
            yield from output.completes(typed)


def services(typed: Typed) -> Iterator[Candidate]:
    """Names that mean one service; key prefixes where one is being typed."""
    if typed.hosts:
        yield from (Candidate(name, "of this demo") for name in typed.hosts)
        return
    from lbctl.discovery.names import name_of

    known = _services(typed)
    for each in known:
        name, _ = name_of(known, each)
        about = _counted(len(each.instances)) + (f", {each.layout}" if each.layout else "")
        yield Candidate(name, about)
        if typed.text:
            yield Candidate(each.prefix, about)
            yield Candidate(each.name.rpartition("/")[2], f"{each.name}: {about}")


def profiles(typed: Typed) -> Iterator[Candidate]:
    """The profiles of the settings files."""
    from lbctl.cli.completion_registry import profiles_of

    yield from (Candidate(name, "profile of the settings file") for name in profiles_of(typed))


def prefixes(typed: Typed) -> Iterator[Candidate]:
    """The folders that services are in."""
    known = _services(typed)
    for folder in sorted({folder for each in known for folder in _folders(each.prefix)}):
        inside = sum(each.prefix.startswith(folder) for each in known)
        yield Candidate(folder, f"{inside} service{'' if inside == 1 else 's'}", more=True)


def _folders(prefix: str) -> Iterator[str]:
    parts = prefix.split("/")
    yield from ("/".join(parts[:end]) + "/" for end in range(1, len(parts)) if any(parts[:end]))


def addresses(typed: Typed) -> Iterator[Candidate]:
    """Addresses of the service that stands before; those that are drained for ``undrain``, for ``drain`` the others."""
    given = set(typed.arguments[1:])
    for each in _instances(typed):
        if typed.command in ("drain", "undrain") and _rests(each) is not (typed.command == "undrain"):
            continue
        names = (each.address, each.key) if typed.text else (each.address,)
        if not given.intersection((each.address, each.key)):
            yield from (Candidate(name, _about(each)) for name in names)


def weighted(typed: Typed) -> Iterator[Candidate]:
    """``ADDRESS=``, and behind it the weight that is registered."""
    given = {text.rpartition("=")[0] for text in typed.arguments[1:]}
    for each in _instances(typed):
        if typed.text.startswith(f"{each.address}=") and each.weight is not None:
            yield Candidate(f"{each.address}={each.weight}", "as it is", shown=str(each.weight))
        elif each.address not in given:
            yield Candidate(f"{each.address}=", _about(each), more=True)


def weights_or_method(typed: Typed) -> Iterable[Candidate]:
    """What ``weight`` takes behind the service: a method with ``--auto``, weights without."""
    return methods(typed) if typed.options.get("auto") else weighted(typed)


def keys(typed: Typed) -> Iterator[Candidate]:
    """Keys of instances."""
    yield from (Candidate(each.key, f"{service.name}, {_about(each)}") for service, each in _everyone(typed))


def _backends(typed: Typed) -> Iterator[Candidate]:
    given = {part.partition("=")[0] for part in (typed.last("backends") or "").split(",")}
    for service, each in _everyone(typed):
        if each.address not in given:
            yield Candidate(each.address, f"{service.name}, {_about(each)}")


backends = listed(_backends)


def called(typed: Typed) -> list[str]:
    """Addresses that would be called: those of ``--backends``, else of the service that stands before."""
    from lbctl.cli.completion_registry import named_backends

    named = named_backends(typed)
    return [each.address for each in (_instances(typed) if named is None else named)]


def labels(typed: Typed) -> Iterator[Candidate]:
    """``NAME=``, and behind it the values, of the metadata that instances have; of secrets no more than the names."""
    from lbctl.cli.completion_registry import metadata_of
    from lbctl.redaction import masked

    name, equals, _ = typed.text.partition("=")
    held = [(key.removeprefix("@"), key, value) for each in metadata_of(typed) for key, value in each.items()]
    if not equals:
        names = Counter(label for label, _, _ in held)
        yield from (Candidate(f"{each}=", _counted(count), more=True) for each, count in sorted(names.items()))
        return
    said = [value for label, key, value in held if label == name and masked({key: value}) == {key: value}]
    values = Counter(str(each).lower() if isinstance(each, bool) else str(each) for each in said)
    for value, count in sorted(values.items()):
        yield Candidate(f"{name}={value}", _counted(count), shown=value)


def methods(typed: Typed) -> Iterator[Candidate]:
    """Methods as reflection has them: in full, or what is left of the name where that is what is being typed."""
    from lbctl.cli.completion_registry import methods_of

    known = methods_of(typed)
    yield from (Candidate(name, kind) for name, kind in known)
    if typed.text:
        for begin in (".", "/"):
            ends = [name.rpartition(begin)[2] if begin == "/" else _short(name) for name, _ in known]
            yield from (
                Candidate(end, name) for end, (name, _) in zip(ends, known, strict=True) if ends.count(end) == 1
            )


def symbols(typed: Typed) -> Iterator[Candidate]:
    """What can be described: by its full name, or the end of it where that is being typed."""
    from lbctl.cli.completion_registry import symbols_of

    known = symbols_of(typed)
    yield from (Candidate(name, kind) for name, kind in known)
    if typed.text:
        ends = Counter(_last(name) for name, _ in known)
        yield from (Candidate(_last(name), f"{kind} {name}") for name, kind in known if ends[_last(name)] == 1)


def _last(name: str) -> str:
    return _short(name) if "/" in name else name.rpartition(".")[2]


def services_or(others: Source) -> Source:
    """Services; the others where backends or files are given, and no service is named."""

    def found(typed: Typed) -> Iterable[Candidate]:
        instead = any(typed.options.get(name) for name in ("backends", "protoset", "proto"))
        return others(typed) if instead else services(typed)

    return found


def _short(name: str) -> str:
    """``Service/Method``, without the package."""
    service, _, method = name.partition("/")
    return f"{service.rpartition('.')[2]}/{method}"


def grpc_services(typed: Typed) -> Iterator[Candidate]:
    """What the backends offer, by the names of gRPC."""
    from lbctl.cli.completion_registry import methods_of

    yield from (Candidate(name) for name in dict.fromkeys(name.partition("/")[0] for name, _ in methods_of(typed)))


def _services(typed: Typed) -> tuple[Service, ...]:
    from lbctl.cli.completion_registry import services_of

    return services_of(typed)


def _instances(typed: Typed) -> list[Instance]:
    """The backends of the service that is the first argument, an address once."""
    from lbctl.cli.completion_registry import service_of
    from lbctl.discovery.backends import decisive

    found = service_of(typed)
    return sorted(decisive(found.instances), key=lambda each: each.key) if found is not None else []


def _everyone(typed: Typed) -> Iterator[tuple[Service, Instance]]:
    yield from ((service, each) for service in _services(typed) for each in service.instances)


def _rests(instance: Instance) -> bool:
    """Whether nobody picks it."""
    return instance.weight == 0 or instance.status is not None


def _about(instance: Instance) -> str:
    words = [f"weight {instance.effective_weight}", *([instance.status] if instance.status else [])]
    return ", ".join(words)


def _counted(instances: int) -> str:
    return f"{instances} instance{'' if instances == 1 else 's'}"
