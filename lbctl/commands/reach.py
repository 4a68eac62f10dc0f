"""How backends are reached: in the clear or by TLS, and under which name; one answer for all commands."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from lbctl.model import Instance
    from lbctl.rpc.access import Access
    from lbctl.rpc.options import ConnectionOptions, Secure
    from lbctl.rpc.tls import Credentials
    from lbctl.wire.request import Headers

_NAME: Final = re.compile(r"[A-Za-z0-9._~-]+(:\d+)?")


@dataclass(frozen=True, slots=True)
class Reach:
    """What the user said of connections to backends; ``tls`` None leaves it to what each registration says."""

    tls: bool | None = None
    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None
    server_name: str | None = None
    skip_verify: bool = False
    authority: str | None = None
    connect_timeout_s: float = 10.0

    def wants_tls(self, instance: Instance) -> bool:
        """Whether this backend is spoken to by TLS."""
        return bool(instance.secure) if self.tls is None else self.tls


class Names:
    """The names backends go by: --authority, else the TLS server name, else the service's name or the address.

    The service's name is used where it was looked up in a registry (``discovered``) and can be an authority.
    """

    def __init__(self, reach: Reach, *, discovered: bool) -> None:
        self._reach = reach
        self._discovered = discovered

    def authority(self, instance: Instance) -> str:
        """What the backend is told it was called by."""
        if self._reach.authority is not None:
            return self._reach.authority
        if self._reach.server_name is not None and self._reach.wants_tls(instance):
            name = self._reach.server_name
            return f"[{name}]" if ":" in name else name
        if self._discovered and _NAME.fullmatch(instance.service):
            return instance.service
        return instance.endpoint.authority

    def server_name(self, instance: Instance) -> str:
        """What its certificate has to show."""
        return self._reach.server_name or _host(self.authority(instance))


def _host(authority: str) -> str:
    """An authority without its port and brackets."""
    if authority.startswith("["):
        return authority[1:].partition("]")[0]
    return authority.partition(":")[0]


class Reaching:
    """What the connections and calls to each backend need.

    Without ``ready`` credentials the certificate files are read when a registration first asks for TLS, and UsageError
    is raised then for files that cannot be used.
    """

    def __init__(
        self,
        reach: Reach,
        ready: Credentials | None = None,
        *,
        discovered: bool = True,
        metadata: Headers = (),
        sensitive: frozenset[bytes] = frozenset(),
        options: ConnectionOptions | None = None,
    ) -> None:
        from lbctl.rpc.options import ConnectionOptions

        self.names = Names(reach, discovered=discovered)
        self.options = options or ConnectionOptions(connect_timeout_s=reach.connect_timeout_s)
        self._reach = reach
        self._metadata = metadata
        self._sensitive = sensitive
        self._credentials = ready

    def secure_for(self, instance: Instance) -> Secure | None:
        """TLS for this backend, or None for plaintext."""
        if not self._reach.wants_tls(instance):
            return None
        if self._credentials is None:
            self._credentials = credentials(self._reach)
        return self._credentials.secure(self.names.server_name(instance))

    def access(self, instance: Instance) -> Access:
        """How this backend is called apart from the load."""
        from lbctl.rpc.access import Access

        return Access(
            secure=self.secure_for(instance),
            authority=self.names.authority(instance),
            metadata=self._metadata,
            sensitive=self._sensitive,
            options=self.options,
        )

    def described(self, instances: Collection[Instance]) -> str:
        """In a few words what is not plaintext to the backend under its own address, or nothing."""
        secure = sum(self._reach.wants_tls(instance) for instance in instances)
        names = {self.names.authority(instance) for instance in instances}
        own = all(self.names.authority(instance) == instance.endpoint.authority for instance in instances)
        words = []
        if secure:
            words.append("TLS" if secure == len(instances) else f"TLS to {secure} of them")
        if not own:
            words.append(f"authority {', '.join(sorted(names)[:3])}")
        return ", ".join(words)

    def told(self, instance: Instance) -> str:
        """The same of one backend, in full."""
        how = f"TLS, server name {self.names.server_name(instance)}" if self._reach.wants_tls(instance) else "plaintext"
        return f"backend {instance.address}: {how}, authority {self.names.authority(instance)}"


def ready_for(reach: Reach) -> Credentials | None:
    """The credentials, where TLS is certain: files that cannot be used are then told before anybody is asked."""
    return credentials(reach) if reach.tls else None


def credentials(reach: Reach) -> Credentials:
    """What all TLS connections have in common; raises UsageError for files that cannot be used."""
    from lbctl.rpc.tls import Credentials, TlsOptions

    return Credentials(TlsOptions(reach.ca, reach.cert, reach.key, skip_verify=reach.skip_verify))
