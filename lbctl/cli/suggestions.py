"""What a suggested command has to repeat of the command line that suggests it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from lbctl.cli.settings import Settings
from lbctl.suggestion import Again

# In the order in which they are repeated. Variables and files are there the next time, too: only flags are.
_REGISTRY: Final = (
    "endpoints",
    "prefix",
    "layout",
    "user",
    "password_file",
    "cacert",
    "cert",
    "key",
    "insecure_skip_tls_verify",
    "dial_timeout",
    "command_timeout",
    "config",
)
_NAMING: Final = ("service_from",)
_BACKENDS: Final = (
    "tls",
    "tls_ca",
    "tls_cert",
    "tls_key",
    "tls_server_name",
    "tls_skip_verify",
    "authority",
    "connect_timeout",
)


def again(settings: Settings) -> Again:
    """Spell commands as this one was spelt: with its flags about etcd, services and backends, and no password."""
    typed = dict(settings.typed)
    typed.setdefault("layout", typed.get("format"))
    return Again(*(tuple(_repeated(typed, names)) for names in (_REGISTRY, _NAMING, _BACKENDS)))


def _repeated(typed: Mapping[str, Any], names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        match typed.get(name):
            case None:
                continue
            case True:
                yield _flag(name)
            case False:
                yield from ["--plaintext"] if name == "tls" else []
            case text:
                yield from _with_value(name, str(text))


def _with_value(name: str, text: str) -> Iterator[str]:
    if name == "password_file" and text == "-":
        return  # whoever pastes it is asked
    value = text.partition(":")[0] if name == "user" else text  # the password may stand behind the user
    if value.startswith("-"):
        yield f"{_flag(name)}={value}"
    else:
        yield from (_flag(name), value)


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")
