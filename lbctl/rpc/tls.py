"""TLS to backends: the client's side of it from files and options, and why a handshake failed, in plain words."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from shlex import quote
from typing import Final

from lbctl.errors import UsageError
from lbctl.rpc.options import Pem, Secure

_ALPN: Final = "h2"
CLOSED: Final = "the peer closed the connection during the TLS handshake: does it speak TLS?"
# Where a file came from, for one that cannot be used: it need not have been an option.
_CA: Final = "see --tls-ca, LBCTL_TLS_CA or tls.ca in the settings file"
_CERT: Final = "see --tls-cert, LBCTL_TLS_CERT or tls.cert in the settings file"
_KEY: Final = "see --tls-key, LBCTL_TLS_KEY or tls.key in the settings file"

# What the peer's alert, or our own side, has to say; the words after it are OpenSSL's names of the same.
_SAID: Final = {
    "WRONG_VERSION_NUMBER": "the peer does not speak TLS",
    "HTTP_REQUEST": "the peer does not speak TLS",
    "PACKET_LENGTH_TOO_LONG": "the peer does not speak TLS",
    "RECORD_LAYER_FAILURE": "the peer does not speak TLS",
    "UNEXPECTED_MESSAGE": "the peer does not speak TLS",
    "UNEXPECTED_EOF_WHILE_READING": CLOSED,
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": "the peer requires a client certificate",
    "SSLV3_ALERT_HANDSHAKE_FAILURE": "the peer refused the TLS handshake: {guess}",
    "TLSV1_ALERT_UNKNOWN_CA": "the peer does not trust our client certificate",
    "SSLV3_ALERT_BAD_CERTIFICATE": "the peer refused our client certificate, or the lack of one",
    "SSLV3_ALERT_UNSUPPORTED_CERTIFICATE": "the peer refused the kind of our client certificate",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": "the peer refused our client certificate",
    "SSLV3_ALERT_CERTIFICATE_REVOKED": "the peer holds our client certificate for revoked",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "the peer holds our client certificate for expired",
    "TLSV1_ALERT_ACCESS_DENIED": "the peer denies access to our client certificate",
    "TLSV1_ALERT_PROTOCOL_VERSION": "no TLS version in common: the peer refuses TLS 1.2 and 1.3",
    "UNSUPPORTED_PROTOCOL": "no TLS version in common: the peer speaks only versions before TLS 1.2",
    "NO_PROTOCOLS_AVAILABLE": "no TLS version in common",
    "TLSV1_ALERT_NO_APPLICATION_PROTOCOL": "the peer refuses HTTP/2 (ALPN h2)",
    "TLSV1_UNRECOGNIZED_NAME": "the peer does not know the server name",
    "NO_SHARED_CIPHER": "no TLS cipher in common",
    "TLSV1_ALERT_INTERNAL_ERROR": "the peer failed in the TLS handshake",
}

# OpenSSL's codes of X509_verify_cert_error_string.
_NOT_YET_VALID: Final = 9
_EXPIRED: Final = 10
_WRONG_NAME: Final = (62, 64)
_UNTRUSTED: Final = {
    18: "self-signed, and not among the trusted ones",
    19: "self-signed authority in its chain that is not trusted",
    20: "signed by an unknown authority",
    21: "signed by an unknown authority",
}


@dataclass(frozen=True, slots=True)
class TlsOptions:
    """Files in PEM; without ``ca`` the system's authorities are trusted."""

    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None
    skip_verify: bool = False


class Credentials:
    """What a run's TLS connections have in common; made once, raises UsageError for files that cannot be used."""

    def __init__(self, options: TlsOptions = TlsOptions()) -> None:
        self._context = _context(options)
        self._nameless = None if options.skip_verify else _context(options)
        if self._nameless is not None:
            self._nameless.check_hostname = False
        self._pem = _pem(options)

    def secure(self, name: str) -> Secure:
        """TLS to a backend whose certificate has to show this name."""
        try:
            _check_name(self._context, name)
        except ValueError as error:
            raise UsageError(f"{name!r} cannot be a TLS server name: {error}") from None
        return Secure(self._context, name, self._nameless, self._pem)


def _context(options: TlsOptions) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols([_ALPN])
    if options.skip_verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if options.ca is None:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    else:
        _load_authorities(context, options.ca)
    if options.cert is not None:
        _load_own(context, options.cert, options.key)
    elif options.key is not None:
        raise UsageError(f"the private key {options.key} needs a client certificate", _CERT)
    return context


def _pem(options: TlsOptions) -> Pem:
    """The files once more, after they were found to be usable; a certificate's file may hold its key too."""
    files = (options.ca, options.cert, options.key or options.cert)
    return Pem(*(None if path is None else path.read_bytes() for path in files))


def _load_authorities(context: ssl.SSLContext, path: Path) -> None:
    _check_readable(path, "CA file", _CA)
    try:
        context.load_verify_locations(path)
    except ssl.SSLError as error:
        raise UsageError(f"the CA file {path} holds no usable PEM certificates: {_short(error)}", _CA) from None


def _load_own(context: ssl.SSLContext, cert: Path, key: Path | None) -> None:
    _check_readable(cert, "client certificate", _CERT)
    if key is not None:
        _check_readable(key, "private key", _KEY)
    where = f"the client certificate {cert}" + ("" if key is None else f" with the private key {key}")
    try:
        context.load_cert_chain(cert, key, password=partial(_refuse_to_ask, key or cert))
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise UsageError(f"the private key {key or cert} does not belong to the certificate {cert}", _KEY) from None
        raise UsageError(f"{where} cannot be used: {_short(error)}", _CERT) from None


def _refuse_to_ask(key: Path) -> str:
    raise UsageError(
        f"the private key {key} has a passphrase, which lbctl cannot ask for",
        f"openssl pkey -in {quote(str(key))} -out PLAIN makes one without",
    )


def _check_readable(path: Path, what: str, source: str) -> None:
    """OpenSSL's own errors do not say which file they are about."""
    try:
        path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"the {what} {path} cannot be read: {(error.strerror or str(error)).lower()}", source
        ) from None


def _short(error: Exception) -> str:
    """OpenSSL's words without its function and source line."""
    reason = getattr(error, "reason", None)
    return str(reason).lower().replace("_", " ") if reason else str(error)


def _check_name(context: ssl.SSLContext, name: str) -> None:
    context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname=name)


def alpn_flaw(protocol: str | None) -> str:
    """Why the protocol a handshake settled on cannot carry gRPC, or nothing."""
    return "" if protocol == _ALPN else f"ALPN gave {protocol or 'nothing'}"


def is_wrong_name(error: Exception) -> bool:
    """Whether the certificate is trusted, and another's."""
    return isinstance(error, ssl.SSLCertVerificationError) and error.verify_code in _WRONG_NAME


def names_in(certificate: Mapping[str, object]) -> str:
    """The names a certificate is good for, as ``SSLSocket.getpeercert`` tells them."""
    names = certificate.get("subjectAltName") or ()
    assert isinstance(names, tuple)
    return ", ".join(_short_address(name) if kind == "IP Address" else name for kind, name in names) or "no name"


def _short_address(text: str) -> str:
    """OpenSSL writes IPv6 addresses out in full."""
    try:
        return str(ip_address(text.strip()))
    except ValueError:
        return text


def guess(*, shows_certificate: bool) -> str:
    """What a peer may have against us that ends a TLS connection and does not say why."""
    return f"it may {'not accept the' if shows_certificate else 'require a'} client certificate"


def describe(error: ssl.SSLError, server_name: str, *, shows_certificate: bool = False) -> str:
    """Why a handshake failed or a TLS connection was lost."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return _describe_certificate(error, server_name)
    if isinstance(error, ssl.SSLZeroReturnError):
        return CLOSED
    said = _SAID.get(error.reason or "") or f"TLS: {_short(error)}"
    return said.replace("{guess}", guess(shows_certificate=shows_certificate))


def _describe_certificate(error: ssl.SSLCertVerificationError, server_name: str) -> str:
    code = error.verify_code
    if code in _WRONG_NAME:
        return f"the certificate is not for {server_name}"
    if code == _EXPIRED:
        return "the certificate has expired"
    if code == _NOT_YET_VALID:
        return "the certificate is not valid yet"
    known = _UNTRUSTED.get(code)
    return f"the certificate is {known}" if known else f"the certificate cannot be verified: {error.verify_message}"
