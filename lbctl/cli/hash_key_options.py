"""The option that says what the hash key of each call is, for policies that pick by one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from lbctl.balance.keys import BEGINNINGS, FORMS, Source, parse_source
from lbctl.cli.completion_requests import fields, names
from lbctl.cli.completion_values import Candidate, Typed, begun
from lbctl.cli.flags import Flags, option
from lbctl.cli.metadata import parse_name
from lbctl.errors import UsageError

if TYPE_CHECKING:
    from lbctl.balance.policies.base import Policy


def parse_hash_key(text: str) -> Source:
    """Where keys come from; raises ValueError."""
    source = parse_source(text)
    if source.kind == "meta" and parse_name(source.name).endswith("-bin"):
        raise ValueError(f"{text!r}: binary metadata is no key (gRPC refuses it too)")
    return source


def _sources(typed: Typed) -> Iterable[Candidate]:
    """The kinds of sources, and what ``meta:`` and ``field:`` may be followed by."""
    for kind, known in (("meta:", names), ("field:", fields)):
        if typed.text.startswith(kind):
            return [each._replace(text=kind + each.text, shown=each.text) for each in known(typed)]
    return begun(*BEGINNINGS)(typed)


def hash_key_option(panel: str) -> Any:  # noqa: ANN401 - typer's own type for it
    """``--hash-key``: where keys come from."""
    return option(
        "--hash-key",
        text=f"key of each call, for policies that pick by one: {FORMS.replace(chr(39), '')}",
        metavar="SOURCE",
        panel=panel,
        parse=parse_hash_key,
        completes=_sources,
    )


@dataclass(frozen=True, slots=True)
class HashKeyFlags(Flags):
    """What calls are told apart by."""

    hash_key: Annotated[Any, hash_key_option("Load")] = None  # parsed: typer has no name for what a parser returns


def source_for(policy: Policy, source: Source | None) -> Source | None:
    """The source of keys; raises UsageError where the policy needs one, or takes none."""
    if policy.keyed and source is None:
        raise UsageError(
            f"policy {policy.name} picks by the hash key of a call, and no --hash-key says what that is",
            f"give one of {FORMS}",
        )
    if source is not None and not policy.keyed:
        from lbctl.balance.policies.table import POLICIES

        takes = ", ".join(name for name, each in POLICIES.items() if each.keyed)
        raise UsageError(f"--hash-key: policy {policy.name} does not pick by key", f"those that do are {takes}")
    return source
