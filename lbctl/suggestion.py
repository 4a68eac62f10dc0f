"""Commands that lbctl suggests: each to be pasted as it stands, and to mean what the one that suggests it meant."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

_CALLING: Final = frozenset(
    {"ls", "watch", "health", "doctor", "call", "hammer", "weight"}
)  # backends, so they take --tls...
_NAMING: Final = _CALLING | {"drain", "undrain", "deregister"}  # a service, so they take --service-from

_SWITCHES: Final = ("--tls", "--plaintext", "--tls-skip-verify")
_TLS: Final = (*_SWITCHES, "--tls-ca", "--tls-cert", "--tls-key", "--tls-server-name")


@dataclass(frozen=True, slots=True)
class Again:
    """Spells command lines of lbctl with what the running one was told about where to look, and how to connect.

    ``registry`` are options of every command that reads etcd, ``naming`` of those that find a service by its name, and
    ``backends`` of those that call backends. No password is ever among them.
    """

    registry: tuple[str, ...] = ()
    naming: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()

    def without(self, flag: str) -> Again:
        """The same, less one option of ``registry``."""
        return replace(self, registry=_without(self.registry, flag))

    def calling(self, how: str) -> Again:
        """The same with another say on TLS: ``--tls``, ``--plaintext`` or ``--tls-skip-verify``."""
        unwanted = _TLS if how == "--plaintext" else ("--plaintext", how)
        backends = self.backends
        for flag in unwanted:
            backends = _without(backends, flag)
        return replace(self, backends=(how, *backends))

    def command(self, verb: str, *words: str, options: Sequence[str] = (), layout: str = "") -> str:
        """``lbctl VERB WORDS OPTIONS`` as a shell reads it; ``layout`` tells services of one name apart."""
        known = self._asking(verb) if "--backends" not in options else _only(self.registry, "--config")
        known += self.backends if verb in _CALLING else ()
        if layout:
            known = ("--layout", layout, *_without(known, "--layout"))
        if any(word.startswith("-") for word in words):
            return shell(["lbctl", verb, *options, *known, "--", *words])
        return shell(["lbctl", verb, *words, *options, *known])

    def _asking(self, verb: str) -> tuple[str, ...]:
        """What a command that asks etcd repeats; one that is given backends takes the settings file alone."""
        return self.registry + (self.naming if verb in _NAMING else ())


PLAIN: Final = Again()  # that repeats nothing


def _only(known: tuple[str, ...], flag: str) -> tuple[str, ...]:
    place = known.index(flag) if flag in known else len(known)
    return known[place : place + 2]


def _without(known: tuple[str, ...], flag: str) -> tuple[str, ...]:
    """The words less a flag and its value, whether that stands behind it or in the same word."""
    kept, words = [], iter(known)
    for word in words:
        if word == flag:
            if flag not in _SWITCHES:
                next(words, None)
        elif not word.startswith(f"{flag}="):
            kept.append(word)
    return tuple(kept)


def shell(words: Sequence[str]) -> str:
    """A command line of these words, of printable characters alone."""
    return " ".join(shlex.quote(word) if word.isprintable() else _escaped(word) for word in words)


def _escaped(word: str) -> str:
    r"""A word with characters that a terminal obeys or does not show, as $'\x1b' is understood by shells."""
    special = {"'": r"\'", "\\": r"\\"}
    inner = (
        special.get(each, each) if each.isprintable() else "".join(f"\\x{byte:02x}" for byte in _encoded(each))
        for each in word
    )
    return f"$'{''.join(inner)}'"


def _encoded(character: str) -> bytes:
    return character.encode("utf-8", "surrogateescape" if 0xDC80 <= ord(character) <= 0xDCFF else "surrogatepass")
