"""What of a command line may be shown again: everything but passwords and the values of secret metadata."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from lbctl.redaction import HIDDEN, is_secret, masked_text

_VARIABLES: Final = ("LBCTL_PASSWORD", "ETCDCTL_PASSWORD")
_LOGINS: Final = ("LBCTL_USER", "ETCDCTL_USER")  # perhaps with a password behind the name
_ADDRESSES: Final = ("LBCTL_ENDPOINTS", "ETCDCTL_ENDPOINTS")
_URL_LOGIN: Final = re.compile(r"://([^/@\s]+)@")
_NAMES: Final = re.compile(r"\$\{?(\w+)")  # of variables, in values of headers
_SCHEMES: Final = {"Bearer", "Basic", "bearer", "basic"}
_LEAST: Final = 3  # characters of a secret: what is shorter stands in every text
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


def scrubbed(text: str, arguments: Sequence[str], environ: Mapping[str, str]) -> str:
    """Return a text, such as a traceback, without any metadata or password that this invocation was given."""
    for secret in sorted(_secrets(arguments, environ), key=len, reverse=True):
        for spelling in {secret, repr(secret)[1:-1], repr(secret.encode(errors="surrogateescape"))[2:-1]}:
            text = text.replace(spelling, HIDDEN)
    return "\n".join(map(masked_text, text.split("\n")))


def _secrets(arguments: Sequence[str], environ: Mapping[str, str]) -> set[str]:
    """Every value that is metadata or a password, and every word of one."""
    headers = [each[2:] for each in arguments if each.startswith("-H")]
    found = [environ.get(name, "") for name in _VARIABLES]
    logins = [environ.get(name, "") for name in _LOGINS]
    for flag, value in _given(arguments):
        match flag:
            case "-H" | "--header":
                headers.append(value)
            case "-m" | "--metadata":
                found += _strings(value)
            case "--password":
                found.append(value)
            case "--user":
                logins.append(value)
    for text in (*arguments, *(environ.get(name, "") for name in _ADDRESSES)):
        logins += _URL_LOGIN.findall(text)
    found += [each.partition(":")[2] for each in headers + logins]
    found += [environ.get(name, "") for value in found for name in _NAMES.findall(value)]
    words = (word.strip() for value in found for word in (value, *value.split()))
    return {word for word in words if len(word) >= _LEAST} - _SCHEMES


def _strings(text: str) -> list[str]:
    """The values of a JSON object; of what is none, all that is in quotes."""
    import json

    try:
        found: Any = json.loads(text)
    except ValueError:
        found = None
    if isinstance(found, dict):
        return [inner for value in found.values() for inner in _texts(value)]
    return [text, *re.findall(r'"([^"]*)"', text)]


def _texts(value: object) -> list[str]:
    return [text for each in value for text in _texts(each)] if isinstance(value, list) else [str(value)]


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
