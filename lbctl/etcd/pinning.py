"""Certificates taken as they are shown, for who asked not to verify them: gRPC trusts some, or talks to nobody."""

from __future__ import annotations

import socket
import ssl
from typing import NamedTuple

from lbctl.etcd.config import EtcdConfig


class Pin(NamedTuple):
    """A certificate in PEM, which is trusted from now on, and a name that it is for."""

    certificate: bytes
    name: str | None


def shown_by(endpoint: str, config: EtcdConfig) -> Pin | None:
    """Return what an endpoint shows now, or None where it shows nothing in time; this blocks."""
    try:
        certificate = ssl.DER_cert_to_PEM_cert(_certificate(endpoint, config))
        trusting = ssl.create_default_context(cadata=certificate)
        trusting.check_hostname = False
        trusting.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        return Pin(certificate.encode(), _name(endpoint, config, trusting))
    except (OSError, ValueError):  # what is wrong shows again when the endpoint is used
        return None


def _certificate(endpoint: str, config: EtcdConfig) -> bytes:
    unverified = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    unverified.check_hostname = False
    unverified.verify_mode = ssl.CERT_NONE
    with _connected(endpoint, config, unverified) as connection:
        return connection.getpeercert(binary_form=True) or b""


def _name(endpoint: str, config: EtcdConfig, trusting: ssl.SSLContext) -> str | None:
    """Read a name off the certificate; only one that is verified, by itself, is shown in parts."""
    try:
        with _connected(endpoint, config, trusting) as connection:
            parts = connection.getpeercert() or {}
    except ssl.SSLCertVerificationError:  # out of date: gRPC will say so
        return None
    names = [str(each[1]) for each in parts.get("subjectAltName", ())]
    subject = [str(pair[1]) for part in parts.get("subject", ()) for pair in part if pair[0] == "commonName"]
    return next((name.replace("*", "any", 1) for name in (*names, *subject)), None)


def _connected(endpoint: str, config: EtcdConfig, context: ssl.SSLContext) -> ssl.SSLSocket:
    if config.cert is not None:
        context.load_cert_chain(config.cert, config.key)
    host, _, port = endpoint.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    plain = socket.create_connection((host, int(port)), config.dial_timeout_s)
    try:
        return context.wrap_socket(plain, server_hostname=host)
    except BaseException:
        plain.close()
        raise
