"""From the settings of the command line to the etcd they describe."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from lbctl.cli.settings import Settings
from lbctl.etcd.config import EtcdConfig
from lbctl.model import Endpoint

_LOOPBACK = ("localhost", "::1", "[::1]")


def etcd_config(settings: Settings) -> EtcdConfig:
    """Say where etcd is and how to talk to it; may ask for a password."""
    user, password = settings.credentials() or (None, None)
    if user is not None and not settings.tls and not settings.quiet:
        _warn_of_plaintext(user, settings.endpoints)
    return EtcdConfig(
        endpoints=tuple(str(endpoint) for endpoint in settings.endpoints),
        user=user,
        password=password,
        cacert=_name(settings.cacert),
        cert=_name(settings.cert),
        key=_name(settings.key),
        tls=settings.tls,
        skip_verify=settings.insecure_skip_tls_verify,
        dial_timeout_s=settings.dial_timeout_s,
        command_timeout_s=settings.command_timeout_s,
    )


def _warn_of_plaintext(user: str, endpoints: Sequence[Endpoint]) -> None:
    """A password that leaves this machine unencrypted is said."""
    heard = [str(each) for each in endpoints if not (each.host in _LOOPBACK or each.host.startswith("127."))]
    if heard:
        note = f"note: the password of etcd user {user} goes to {', '.join(heard)} in plaintext; https:// encrypts it"
        print(note, file=sys.stderr)  # noqa: T201


def _name(path: object | None) -> str | None:
    return None if path is None else str(path)
