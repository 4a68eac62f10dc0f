"""How a backend is called apart from the load: by reflection, by health checks, by single calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from lbctl.model import Endpoint
from lbctl.rpc.caller import Caller
from lbctl.rpc.options import ConnectionOptions, Secure
from lbctl.wire.request import Headers


@dataclass(frozen=True, slots=True)
class Access:
    """What one backend's connection needs and what every call to it carries.

    ``secure`` None is plaintext; ``authority`` "" is the backend's own address; the values of ``sensitive`` metadata
    never enter a compression table.
    """

    secure: Secure | None = None
    authority: str = ""
    metadata: Headers = ()
    sensitive: frozenset[bytes] = frozenset()
    options: ConnectionOptions = field(default_factory=ConnectionOptions)

    def caller(self, endpoint: Endpoint) -> Caller:
        """A caller of this backend, not yet connected."""
        return Caller(
            endpoint, authority=self.authority, options=self.options, secure=self.secure, sensitive=self.sensitive
        )


AccessFor = Callable[[Endpoint], Access]


def plain(_: object) -> Access:
    """Plaintext, the backend's own address, and nothing more."""
    return Access()
