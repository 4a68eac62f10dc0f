"""What comes back of a single call, as people read it: messages as JSON, error details, what a check says."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Any, Final

from lbctl.errors import CannotCall
from lbctl.load.single import Answer
from lbctl.model import Reply
from lbctl.rpc.messages.details import HEADER, decode_details
from lbctl.rpc.messages.resolver import resolver_of

if TYPE_CHECKING:
    from lbctl.rpc.schemas.schema import Method
    from lbctl.rpc.schemas.source import Source

_DETAILS: Final = HEADER.encode()


class Replies:
    """Decodes the replies of one method; without a ``method`` nobody described it, and messages are base64.

    Nothing is decoded where nobody ``reads`` it: octets are all that is wanted.
    """

    def __init__(
        self, method: Method | None, source: Source | None, *, defaults: bool = False, reads: bool = True
    ) -> None:
        self._method = method
        self._source = source
        self._defaults = defaults
        self._resolver = None if method is None or not reads else resolver_of(source, method)

    async def answer(self, octets: bytes) -> Answer:
        """One message; of one that is none of the type that the method returns it is said why."""
        if self._method is None or self._resolver is None:
            return Answer(octets, b64encode(octets).decode())
        kind = self._method.output_type
        try:
            return Answer(octets, await self._resolver.reveal(kind, octets, defaults=self._defaults), kind)
        except CannotCall as error:
            why = str(error)
        except RecursionError:
            why = "the reply cannot be shown as JSON: it is nested too deeply"
        return Answer(octets, {"@error": why, "@value": b64encode(octets).decode()}, unreadable=why)

    async def details(self, reply: Reply) -> tuple[dict[str, Any], ...]:
        """What the server said of an error beside its message."""
        octets = next((decoded(value) for name, value in reply.metadata if name == _DETAILS), None)
        return () if octets is None else tuple(await decode_details(octets, self._source))


def decoded(value: bytes) -> bytes:
    """The octets of a ``-bin`` field, padded or not, of several the first; those of none that is base64 as they are."""
    bare = value.partition(b",")[0].strip().rstrip(b"=")
    try:
        return b64decode(bare + b"=" * (-len(bare) % 4), validate=True)
    except ValueError:
        return value
