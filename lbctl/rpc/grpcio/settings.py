"""What lbctl's options mean to grpcio: channel arguments and credentials, and which of them it cannot follow."""

from __future__ import annotations

import base64
import ssl
from typing import Final

import grpc

from lbctl.errors import UsageError
from lbctl.model import Endpoint
from lbctl.rpc.options import ConnectionOptions, Secure
from lbctl.wire.limits import Limits
from lbctl.wire.request import AGENT, PREVIOUS, Request

Arguments = list[tuple[str, str | int]]

_INSTEAD: Final = "use the wire engine, which is the default"
_UNLIMITED: Final = -1


def arguments(options: ConnectionOptions, request: Request) -> Arguments:
    """Channel arguments: nothing shared with other channels, no retries by grpcio, our limits and times."""
    refuse(options)
    found: Arguments = [
        ("grpc.use_local_subchannel_pool", 1),  # or channels to one address would share a connection
        ("grpc.enable_retries", 0),  # a call is one attempt; another is decided on by the load's engine
        ("grpc.enable_http_proxy", 0),  # the address is called, not what the environment names
        ("grpc.default_authority", request.authority),
        ("grpc.primary_user_agent", request.agent.decode()),
        ("grpc.max_receive_message_length", options.limits.max_message),
        ("grpc.max_send_message_length", _UNLIMITED),
        ("grpc.max_metadata_size", 64 << 10),
        ("grpc.absolute_max_metadata_size", 1 << 20),
        ("grpc.min_reconnect_backoff_ms", int(options.connect_timeout_s * 1000)),  # C-core's name of that limit
    ]
    if options.keepalive_s:
        found += [
            ("grpc.keepalive_time_ms", int(options.keepalive_s * 1000)),
            ("grpc.keepalive_timeout_ms", int(options.keepalive_timeout_s * 1000)),
            ("grpc.http2.ping_timeout_ms", int(options.keepalive_timeout_s * 1000)),  # it waits a minute otherwise
            ("grpc.keepalive_permit_without_calls", 0),
            ("grpc.http2.max_pings_without_data", 0),
        ]
    return found


def refuse(options: ConnectionOptions) -> None:
    """Raise UsageError for what grpcio has no way to do."""
    defaults, limits = Limits(), options.limits
    if limits.max_streams != defaults.max_streams:
        raise UsageError("--max-streams: grpcio does not let a client limit its streams", _INSTEAD)
    if limits.max_requests != defaults.max_requests:
        raise UsageError(
            "--max-requests-per-conn: grpcio does not replace a connection after a number of calls", _INSTEAD
        )
    if not limits.reset_late:
        raise UsageError("--no-rst: grpcio always resets a call whose deadline has passed", _INSTEAD)


def credentials(secure: Secure) -> grpc.ChannelCredentials:
    """Credentials of the same files; raises UsageError where certificates are not to be verified."""
    if secure.context.verify_mode is ssl.CERT_NONE:
        raise UsageError("--tls-skip-verify: grpcio always verifies the server's certificate", _INSTEAD)
    pem = secure.pem
    roots = pem.ca if pem.ca is not None else _system_roots()
    return grpc.ssl_channel_credentials(roots, pem.key, pem.cert)


def _system_roots() -> bytes | None:
    """The authorities that the system trusts, as Python's ssl finds them; grpcio brings a list of its own."""
    cafile = ssl.get_default_verify_paths().cafile
    if cafile is None:
        return None
    with open(cafile, "rb") as file:
        return file.read()


def tls_arguments(secure: Secure) -> Arguments:
    """The name that the server's certificate has to show."""
    return [("grpc.ssl_target_name_override", secure.server_name)]


def target(endpoint: Endpoint) -> str:
    """An address in C-core's spelling; a host that is no IP literal is left to its resolver."""
    if endpoint.is_unix:
        return endpoint.host
    if ":" in endpoint.host:
        return f"ipv6:[{endpoint.host.replace('%', '%25')}]:{endpoint.port}"
    literal = endpoint.host.replace(".", "").isdigit()
    return f"{'ipv4' if literal else 'dns'}:{endpoint.host}:{endpoint.port}"


def metadata_of(request: Request) -> tuple[tuple[str, str | bytes], ...]:
    """Custom metadata as grpcio takes it: names as text, and binary values before their base64.

    Raises UsageError for values that it does not send: a call with one of them would never end.
    """
    previous = ((PREVIOUS, b"%d" % request.previous),) if request.previous else ()
    fields = (field for field in request.metadata if field[0] != AGENT)  # which is the channel's
    return tuple((name.decode(), _value(name, value)) for name, value in (*fields, *request.own, *previous))


def _value(name: bytes, value: bytes) -> str | bytes:
    if not name.endswith(b"-bin"):
        if not all(0x20 <= octet < 0x7F for octet in value):
            raise UsageError(f"metadata {name.decode()}: grpcio sends printable ASCII only", "give it a name in -bin")
        return value.decode()
    return base64.b64decode(value + b"=" * (-len(value) % 4))
