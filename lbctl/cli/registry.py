"""From the settings of the command line to the etcd they describe."""

from __future__ import annotations

from lbctl.cli.settings import Settings
from lbctl.etcd.config import EtcdConfig


def etcd_config(settings: Settings) -> EtcdConfig:
    """Say where etcd is and how to talk to it; may ask for a password."""
    user, password = settings.credentials() or (None, None)
    return EtcdConfig(
        endpoints=tuple(str(endpoint) for endpoint in settings.endpoints),
        user=user,
        password=password,
        cacert=_name(settings.cacert),
        cert=_name(settings.cert),
        key=_name(settings.key),
        tls=settings.tls,
        dial_timeout_s=settings.dial_timeout_s,
        command_timeout_s=settings.command_timeout_s,
    )


def _name(path: object | None) -> str | None:
    return None if path is None else str(path)
