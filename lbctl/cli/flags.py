"""Options in groups: a command takes a group as one parameter, and every option is declared once."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, Final, get_type_hints

import typer
from typer.core import TyperCommand

from lbctl.cli.completion_values import Source, by_metavar, words
from lbctl.cli.help import printed
from lbctl.cli.values import option_parser

_VALUE: Final = re.compile("[=<>]")


class Flags:
    """The base of a group: a frozen dataclass, each of whose fields is an option and has a default."""

    __slots__ = ()


def option(
    *flags: str,
    text: str,
    metavar: str,
    panel: str | None = None,
    parse: Callable[[str], object] | None = None,
    hidden: bool = False,
    completes: Source | None = None,
) -> Any:  # noqa: ANN401 - typer's own type for it
    """Declare an option that takes a value.

    ``completes`` says what a shell may offer for it. A parser of ``one_of`` says that by itself, and so do a file and
    a quantity by their metavar.
    """
    declared: Any = typer.Option(
        *flags,
        parser=option_parser(parse) if parse is not None else None,
        help=text,
        metavar=metavar,
        rich_help_panel=panel,
        hidden=hidden,
        show_default=False,
    )
    declared.completes = completes or getattr(parse, "completes", None) or by_metavar(metavar)
    return declared


def switch(*flags: str, text: str, panel: str | None = None) -> Any:  # noqa: ANN401 - typer's own type for it
    """Declare an option without a value."""
    return typer.Option(*flags, help=text, rich_help_panel=panel, show_default=False)


def argument(*, text: str, metavar: str, completes: Source, parse: Callable[[str], object] | None = None) -> Any:  # noqa: ANN401 - typer's own type for it
    """Declare an argument, and what a shell may offer for it."""
    declared: Any = typer.Argument(
        metavar=metavar, help=text, parser=option_parser(parse) if parse is not None else None, show_default=False
    )
    declared.completes = completes
    return declared


def one_of(*allowed: str) -> Callable[[str], str]:
    """A parser of a word that must be one of these."""

    def parse(text: str) -> str:
        if text not in allowed:
            from lbctl.cli.mistakes import meant_word

            raise ValueError(f"{text!r} is not one of {', '.join(allowed)}{meant_word(text, allowed)}")
        return text

    parse.completes = words(*allowed)  # type: ignore[attr-defined] # for ``option``
    return parse


def expanded(parameters: Sequence[inspect.Parameter]) -> Iterator[inspect.Parameter]:
    """The parameters with every group replaced by its options."""
    for parameter in parameters:
        group = parameter.annotation
        if not _is_group(group):
            yield parameter
            continue
        hints = get_type_hints(group, include_extras=True)
        for field in fields(group):
            yield inspect.Parameter(
                field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
            )


def gathered(parameters: Sequence[inspect.Parameter], given: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the parameters, those of a group as the group."""
    values = dict(given)
    for parameter in parameters:
        group = parameter.annotation
        if _is_group(group):
            values[parameter.name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
    return values


def _is_group(annotation: object) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, Flags)


def completed(args: Sequence[str], alone: Mapping[str, Collection[str]]) -> list[str]:
    """The arguments with ``on`` behind every option of these that no value follows.

    A value is ``name=value``, ``name<limit``, ``name>limit``, or one of the option's words.
    """
    whole: list[str] = []
    for place, argument in enumerate(args):
        whole.append(argument)
        if argument == "--":
            return [*whole, *args[place + 1 :]]
        following = args[place + 1] if place + 1 < len(args) else "-"
        if argument not in alone or following == "on" or following in alone[argument]:
            continue
        if following.startswith("-") or not _VALUE.search(following):
            whole.append("on")
    return whole


class GroupedCommand(TyperCommand):
    """A command whose help has its options under titles.

    An option whose metavar is in brackets, like ``[K=V,...]`` or ``[github|auto]``, may stand alone: then its value is
    ``on``.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401 - typer has no names for them
        """Complete options that stand alone."""
        alone = {
            name: (parameter.metavar or "").strip("[]").split("|")
            for parameter in self.get_params(ctx)
            if (getattr(parameter, "metavar", None) or "").startswith("[") and parameter.param_type_name == "option"
            for name in parameter.opts
        }
        return super().parse_args(ctx, completed(args, alone))

    def get_help(self, ctx: Any) -> str:  # noqa: ANN401 - typer has no names for them
        """Write the page for standard output."""
        return printed(super().get_help(ctx))

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - typer has no names for them
        """Write each group under its title."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            title = "Options"
            if parameter.param_type_name == "argument":
                title, record = "Arguments", (parameter.metavar or "", record[1])  # without typer's name of its type
            groups.setdefault(getattr(parameter, "rich_help_panel", None) or title, []).append(record)
        for title, records in groups.items():
            with formatter.section(title):
                formatter.write_dl(records)
