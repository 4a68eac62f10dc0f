"""One key before the layouts: who has it, and, for people, why the others have not."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from lbctl.discovery.codecs.base import Claim, Codec, Decoded, Place
from lbctl.discovery.codecs.record import Record
from lbctl.discovery.codecs.skipped import why_skipped

_NOTHING_SPEAKS = (
    "the value would do, but nothing speaks for the key: it stands under no known root and beside no such key,"
    " and does not end in an address; --prefix or --layout asks for it"
)


class Trial(NamedTuple):
    """What one rule made of a key: ``outcome`` is instance, invalid, skipped or no, and ``why`` is for people."""

    rule: str
    outcome: str
    why: str


class Explanation(NamedTuple):
    """A key, and what the rules made of it in the order they were tried; the last one is the one that counts."""

    key: str
    revision: int
    trials: tuple[Trial, ...]


class Reader:
    """The layouts in the order they are asked, and what speaks for every key alike.

    ``preferred`` is asked before all others, and has whatever may be an instance; what is broken others may have.
    """

    def __init__(self, claim: Claim, codecs: Sequence[Codec], preferred: str = "") -> None:
        self.claim = claim
        self._preferred = preferred
        self._ranks = {codec.name: rank for rank, codec in enumerate(codecs)}
        self._codecs = sorted(codecs, key=lambda codec: codec.name != preferred)
        guess = claim._replace(guess=True, layout=preferred)
        self._rules = [(codec, guess if codec.name == preferred else claim) for codec in self._codecs]
        self._text_rules = [(codec, claim) for codec, claim in self._rules if not codec.objects]
        self._weak = frozenset(codec.name for codec in codecs if codec.weak)
        self._homes = tuple(root for codec in codecs if not codec.weak for root in codec.roots)

    def first(self, record: Record) -> Decoded | None:
        """Read a key by itself; None where no layout has it."""
        reason = why_skipped(record)
        if reason:
            return Decoded("", Place("", record.folder), skipped=reason)
        broken = None
        for codec, claim in self._rules if record.looks_like_object else self._text_rules:
            found = codec.decode(record, claim)
            if found is None:
                continue
            if not self._is_passed_on(codec, found, broken):
                return found
            broken = broken or found
        return broken

    def _is_passed_on(self, codec: Codec, found: Decoded, broken: Decoded | None) -> bool:
        """Whether those that are asked later may have a key: one that is broken as what it is preferred to be.

        It stays that where it is broken as anything else, too, that would be asked later but for the preference.
        """
        if not found.invalid or codec.name == self._preferred:
            return bool(found.invalid)
        return broken is not None and self._ranks[codec.name] > self._ranks[self._preferred]

    def guess(self, record: Record) -> Decoded | None:
        """Read a key that nobody has as what it may be all the same."""
        claim = self.claim._replace(guess=True)
        return next((found for codec in self._codecs if (found := codec.decode(record, claim))), None)

    def late(self, record: Record, siblings: Collection[str], *, strong: bool = False) -> Decoded | None:
        """Read a key as what those beside it are, or as what alone stands under its root: not parsing is a defect."""
        if not siblings and not record.key.startswith(self._homes):
            return None
        claim = self.claim._replace(owned=True)
        owners = (codec for codec in self._codecs if _owns(codec, record, siblings, strong=strong))
        return next((found for codec in owners if (found := codec.decode(record, claim))), None)

    def is_weak(self, layout: str) -> bool:
        """Whether the values of a layout say too little by themselves."""
        return layout in self._weak

    def trials(self, record: Record) -> Iterator[Trial]:
        """Yield what every rule makes of a key, in order, up to the one that has it."""
        reason = why_skipped(record)
        if reason:
            yield Trial("known trees and locks", "skipped", reason)
            return
        yield Trial("known trees and locks", "no", "the key is under none of the trees that hold no registrations")
        broken = None
        for codec, claim in self._rules:
            found = codec.decode(record, claim)
            if found is None:
                yield Trial(codec.name, "no", self._why_not(codec, record))
                continue
            if not self._is_passed_on(codec, found, broken):
                yield trial(codec.name, found)
                return
            broken = broken or found
        if broken:
            yield trial(broken.layout, broken)

    def _why_not(self, codec: Codec, record: Record) -> str:
        if codec.weak:
            guessed = codec.decode(record, self.claim._replace(guess=True))
            if guessed and guessed.instances:
                return _NOTHING_SPEAKS
        beside = codec.decode(record, self.claim._replace(owned=True))
        reason = f"; {beside.invalid.reason}" if beside and beside.invalid else ""
        return f"wants {codec.form}{reason}"


def trial(rule: str, found: Decoded) -> Trial:
    """Say what a layout found."""
    if found.invalid:
        return Trial(rule, "invalid", f"{found.invalid.code}: {found.invalid.reason}")
    if found.skipped:
        return Trial(rule, "skipped", found.skipped)
    addresses = ", ".join(each.address for each in found.instances)
    return Trial(rule, "instance", f"{addresses} of {found.place.service}")


def _owns(codec: Codec, record: Record, siblings: Collection[str], *, strong: bool) -> bool:
    if codec.weak and strong:
        return False
    return codec.name in siblings or (not codec.weak and record.key.startswith(codec.roots))
