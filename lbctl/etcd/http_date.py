"""The time that an etcd member has, from the Date header of an answer by HTTP."""

from __future__ import annotations

import ssl
from datetime import datetime
from email.utils import parsedate_to_datetime

from lbctl.etcd.config import EtcdConfig


async def server_time(config: EtcdConfig, endpoint: str, timeout_s: float) -> datetime | None:
    """Return the member's time to the second; None where it does not answer by HTTP, or does not tell."""
    import httpx

    url = f"{'https' if config.secure else 'http'}://{endpoint}/version"
    try:
        async with httpx.AsyncClient(verify=_trust(config), timeout=timeout_s, trust_env=False) as client:
            answer = await client.get(url)
        return parsedate_to_datetime(answer.headers["date"])
    except (httpx.HTTPError, httpx.InvalidURL, OSError, KeyError, ValueError):
        return None


def _trust(config: EtcdConfig) -> ssl.SSLContext | bool:
    if not config.secure:
        return False
    context = ssl.create_default_context(cafile=config.cacert)
    context.check_hostname = config.server_name is None and not config.skip_verify
    if config.skip_verify:
        context.verify_mode = ssl.CERT_NONE
    if config.cert is not None:
        context.load_cert_chain(config.cert, config.key)
    return context
