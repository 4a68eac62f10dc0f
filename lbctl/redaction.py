"""What must not be shown: which names are those of secrets, and texts and values without theirs.

One rule for everything that is printed or saved: headers of a command line, metadata of registrations, and what reasons
and events quote of keys and values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

HIDDEN: Final = "***"

_SURE: Final = r"passw|passphrase|pwd|secret|credential|(api|access|private)[_.-]?key"
_LIKELY: Final = (
    r"token|cookie|auth(?!or(?!i[sz]))|bearer"  # authorization, and neither author nor authority
    r"|(?<![a-z])(pass|creds?|dsn|jwt|keys?)(?![a-z])|(auth|sign|signing|encryption|master|shared|account|ssh)key"
)
_CREDENTIAL: Final = re.compile(_SURE)
_SECRET: Final = re.compile(f"{_SURE}|{_LIKELY}")

# Keys of Dubbo are addresses in the spelling of URLs, some of them spelled so twice.
_EQUALS: Final = r"=|%(?:25)*3[Dd]"
_ENDS: Final = r"%(?:25)*(?:2[0236FfCc]|3[BbFf])"  # space " # & / , ; ? as they are spelled in URLs
_AUTHORITY: Final = re.compile(rf"(?:(?<=//)|(?<=%2F%2F)|(?<=%252F%252F))(?:(?!{_ENDS})[^\s/?#\"'])+", re.IGNORECASE)
_WORD: Final = re.compile(rf"(?:(?!{_ENDS})[^\s/?#\"'&=,;])+")
_AT: Final = re.compile(r"@|%(?:25)*40")
_COLON: Final = re.compile(r":|%(?:25)*3[Aa]")
_PARAMETER: Final = re.compile(rf"(?<![\w.-])([\w.-]+)({_EQUALS})((?:(?!{_ENDS})[^\s&;,\"'])+)")
_SPELLED: Final = re.compile(r"^(?:25)*[0-9A-Fa-f]{2}")
_MEMBER: Final = re.compile(r"""(["'])([^"'\\:]{1,100})(\\*["']\s*:\s*)(\\*["'][^"'\\]*|[^\s,}\]"'{\[\\]+)""")
_SCHEME_OF_LOGIN: Final = re.compile(r"\b(Bearer|Basic)\s+[\w.~+/=-]+", re.IGNORECASE)


def is_secret(name: str, more: Iterable[str] = ()) -> bool:
    """Whether the values of this name must not be shown or saved; ``more`` are names that are secret besides."""
    return bool(_SECRET.search(name.lower())) or name.lower() in more


def is_credential(name: str) -> bool:
    """Whether a name leaves no doubt that its value is what somebody logs in with."""
    return bool(_CREDENTIAL.search(name.lower()))


def masked(value: Any) -> Any:  # noqa: ANN401  # JSON is what it is
    """Return a JSON value with ``***`` for all that stands under the name of a secret, however deep."""
    if isinstance(value, str):
        return masked_text(value)
    if isinstance(value, Mapping):
        return {masked_text(name): _member(name, inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [masked(each) for each in value]
    return value


def masked_text(text: str) -> str:
    """Return a text without the passwords of URLs in it, and without the values of parameters that are secrets."""
    if text.startswith(("{", "[")):
        text = _masked_json(text)
    if "=" in text or "%" in text:
        text = _PARAMETER.sub(_without_value, text)
    if "@" in text or "%" in text:
        text = _AUTHORITY.sub(_without_login, text)
        text = _WORD.sub(_without_password, text)
    if ":" in text and ('"' in text or "'" in text):
        text = _MEMBER.sub(_without_member, text)
    return _SCHEME_OF_LOGIN.sub(rf"\1 {HIDDEN}", text) if " " in text else text


def _member(name: str, value: Any) -> Any:  # noqa: ANN401
    if not is_secret(name):
        return masked(value)
    return value if value is None or value == "" or isinstance(value, bool) else HIDDEN


def _masked_json(text: str) -> str:
    """Return a JSON text without its secrets; as it is where it has none, or is no JSON after all."""
    import json

    try:
        found = json.loads(text)
        hidden = masked(found)
        return text if hidden == found else json.dumps(hidden, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def _without_value(parameter: re.Match[str]) -> str:
    name, equals, _ = parameter.groups()
    start = parameter.start()
    bare = _SPELLED.sub("", name) if start and parameter.string[start - 1] == "%" else name
    return f"{name}{equals}{HIDDEN}" if is_secret(bare) else parameter[0]


def _without_login(authority: re.Match[str]) -> str:
    """``user:password@host``, and ``token@host`` where a scheme stands before it."""
    text, at = authority[0], _last_at(authority[0])
    if at is None:
        return text
    colon = _COLON.search(text, 0, at.start())
    return (text[: colon.end()] if colon else "") + HIDDEN + text[at.start() :]


def _without_password(word: re.Match[str]) -> str:
    """``user:password@host`` without a scheme; ``tcp@host`` has no password."""
    text, at = word[0], _last_at(word[0])
    colon = _COLON.search(text, 0, at.start()) if at else None
    return text[: colon.end()] + HIDDEN + text[at.start() :] if at and colon else text


def _last_at(text: str) -> re.Match[str] | None:
    return max(_AT.finditer(text), key=re.Match.start, default=None)


def _without_member(member: re.Match[str]) -> str:
    quote, name, colon, value = member.groups()
    if not is_secret(name) or value in ("true", "false", "null"):
        return member[0]
    opening = value[: len(value) - len(value.lstrip("\\"))] + value.lstrip("\\")[:1] if value[0] in "\\\"'" else ""
    return f"{quote}{name}{colon}{opening}{HIDDEN}"
