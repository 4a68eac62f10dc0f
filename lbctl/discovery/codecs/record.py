"""One key as the layouts look at it: its parts, and its value, decoded and parsed once for all of them."""

from __future__ import annotations

from typing import Any, Final, Protocol

from lbctl.discovery.address import check_text, parse_address
from lbctl.discovery.codecs import strict_json
from lbctl.discovery.flaws import Unusable
from lbctl.model import Entry

_UNREAD: Final = object()
_LEASE_DIGITS: Final = range(15, 20)


class Relatives(Protocol):
    """What else the same reading of the registry holds."""

    def has_children(self, key: str) -> bool:
        """Whether there are keys below this one, after a slash."""
        ...

    def value_of(self, key: str) -> bytes | None:
        """The value of another key, None where there is no such key."""
        ...


class _Nobody:
    """A key looked at by itself."""

    def has_children(self, key: str) -> bool:
        return False

    def value_of(self, key: str) -> bytes | None:
        return None


ALONE: Final[Relatives] = _Nobody()


class Record:
    """``folder`` is the key up to its last slash, with it; ``leaf`` is what follows.

    ``asked`` is what layouts wanted to know of other keys, ``/a`` for a value and ``/a/`` for what is below: what they
    said may then change when those do.
    """

    __slots__ = ("_json", "_relatives", "_speaks", "asked", "entry", "folder", "key", "leaf", "value")

    def __init__(self, entry: Entry, relatives: Relatives = ALONE) -> None:
        self.entry = entry
        self.key = key = entry.key.decode("utf-8", "backslashreplace")
        self.value = entry.value
        folder, slash, self.leaf = key.rpartition("/")
        self.folder = folder + slash
        self.asked: tuple[str, ...] = ()
        self._relatives = relatives
        self._json: Any = _UNREAD
        self._speaks: bool | None = None

    @property
    def looks_like_object(self) -> bool:
        """Whether the value begins as a JSON object does."""
        return self.value.lstrip()[:1] == b"{"

    @property
    def speaks_for_itself(self) -> bool:
        """Whether the last part of the key is what registrations are called by: an address, or the id of a lease.

        A name and a number may be anything (``user:1001``), unless the value has them, too.
        """
        if self._speaks is None:
            self._speaks = is_lease_id(self.leaf) or self._is_called_by_address()
        return self._speaks

    def _is_called_by_address(self) -> bool:
        try:
            host = parse_address(self.leaf).host
        except Unusable:
            return False
        return "." in host or ":" in host or host == "localhost" or self.leaf.encode() in self.value

    @property
    def document(self) -> dict[str, Any] | None:
        """The JSON object that the value is, None where it is none, or is broken."""
        if not self.looks_like_object:
            return None
        try:
            found = self.json()
        except Unusable:
            return None
        return found if isinstance(found, dict) else None

    def json(self) -> Any:  # noqa: ANN401  # JSON is what it is
        """The value as JSON; raises Unusable where it is none, or more than anybody would write."""
        if self._json is _UNREAD:
            try:
                self._json = strict_json.loads(self.value)
            except Unusable as flaw:
                self._json = flaw
        if isinstance(self._json, Unusable):
            raise self._json
        return self._json

    def members(self) -> dict[str, Any]:
        """The JSON object that the value has to be; raises Unusable with the reason why it is none."""
        if not self.value.strip():
            raise _nothing_in(self.value)
        found = self.json()
        if not isinstance(found, dict):
            raise Unusable("unknown_layout", "JSON, but not an object")
        return found

    def text(self) -> str:
        """The value as one word of text; raises Unusable where it is empty, not UTF-8, or has spaces or controls."""
        try:
            text = self.value.decode("utf-8")
        except UnicodeDecodeError:
            raise Unusable("bad_encoding", "value is not UTF-8") from None
        if not text.strip():
            raise _nothing_in(self.value)
        check_text(text)
        return text

    @property
    def has_children(self) -> bool:
        """Whether there are keys below this one."""
        self.asked += (f"{self.key}/",)
        return self._relatives.has_children(self.key)

    def value_of(self, key: str) -> bytes | None:
        """The value of another key of the same reading."""
        self.asked += (key,)
        return self._relatives.value_of(key)


def _nothing_in(value: bytes) -> Unusable:
    return Unusable("empty_value", "value is only white space" if value else "value is empty")


def is_lease_id(leaf: str) -> bool:
    """Whether a text may be the id of a lease, in decimal."""
    return len(leaf) in _LEASE_DIGITS and leaf.isascii() and leaf.isdigit()
