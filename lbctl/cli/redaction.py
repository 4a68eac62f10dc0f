"""What of a command line may be shown again: everything but passwords and the values of secret metadata."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Final

from lbctl.redaction import HIDDEN, is_secret, masked_text

_QUOTING: Final = ("-H", "--header", "-m", "--metadata", "--password", "--user")


def without_secrets(arguments: Sequence[str]) -> list[str]:
    """A command line as it may be shown: the values of secret metadata and passwords are hidden."""
    more = {value.lower() for flag, value in _given(arguments) if flag == "--sensitive"}
    shown: list[str] = []
    flag = ""
    for argument in arguments:
        if flag:
            shown.append(_hidden(flag, argument, more))
            flag = ""
        elif argument in _QUOTING:
            shown.append(argument)
            flag = argument
        else:
            shown.append(_attached(argument, more))
    return shown


def _given(arguments: Sequence[str]) -> list[tuple[str, str]]:
    """Every option with its value, in both spellings."""
    pairs = list(pairwise(arguments))
    return pairs + [(flag, value) for flag, _, value in (each.partition("=") for each in arguments)]


def _attached(argument: str, more: Iterable[str]) -> str:
    """``--flag=value`` and ``-Hvalue`` in one word."""
    for flag in _QUOTING:
        glue = flag + "=" if flag.startswith("--") else flag
        if argument.startswith(glue):
            return glue + _hidden(flag, argument.removeprefix(glue), more)
    if "://" not in argument:
        return argument
    flag, equals, url = argument.partition("=") if argument.startswith("--") else ("", "", argument)
    return f"{flag}{equals}{masked_text(url)}"  # it may say who logs in


def _hidden(flag: str, value: str, more: Iterable[str]) -> str:
    if flag == "--password":
        return HIDDEN
    if flag == "--user":
        name, colon, _ = value.partition(":")
        return name + (colon and f":{HIDDEN}")
    if flag in ("-H", "--header"):
        name, colon, _ = value.partition(":")
        return f"{name}: {HIDDEN}" if colon and is_secret(name.strip(), more) else value
    return _hidden_json(value, more)


def _hidden_json(text: str, more: Iterable[str]) -> str:
    import json

    try:
        found: Any = json.loads(text)
    except ValueError:
        return HIDDEN
    if not isinstance(found, dict):
        return HIDDEN
    if not any(is_secret(name, more) for name in found):
        return text
    return json.dumps({name: HIDDEN if is_secret(name, more) else value for name, value in found.items()})
