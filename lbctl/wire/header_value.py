"""The value of a metadata field as people write it, as octets.

The value of a ``-bin`` name is base64 in either alphabet, padded or not, several of them joined by commas. What is not
base64 is refused: half of all slips would be sent as other octets otherwise. No message here quotes a value: it may be
a secret.
"""

from __future__ import annotations

import re
from typing import Final

from lbctl.errors import UsageError

_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")


def header_values(name: str, value: str) -> tuple[bytes, ...]:
    """The octets to send, of each field: base64 of ``-bin`` values, printable ASCII of any other. Raises UsageError.

    Several values in base64 are as many fields: grpcio fails calls in which they are joined, though they may be.
    """
    if name.endswith("-bin"):
        return _binary(name, value)
    bad = next((at for at, char in enumerate(value) if not " " <= char <= "~"), None)
    if bad is not None:
        kind = "is not ASCII" if ord(value[bad]) > 127 else "is a control character"
        raise UsageError(
            f"metadata {name}: character {bad + 1} of the value {kind}",
            f"send it in base64 as {name}-bin, or percent-encode it",
        )
    return (value.encode(),)


def _binary(name: str, value: str) -> tuple[bytes, ...]:
    from base64 import b64encode

    parts = []
    for part in value.split(","):
        octets = _decoded(part.strip(" \t"))
        if octets is None:
            raise UsageError(
                f"metadata {name}: the value is not base64, as those of -bin names are",
                "text is made base64 by: printf %s TEXT | base64",
            )
        parts.append(b64encode(octets).rstrip(b"="))
    return tuple(parts)


def _decoded(text: str) -> bytes | None:
    """The bytes of base64 in either alphabet, padded or not; None for anything else."""
    from base64 import b64decode
    from binascii import Error

    bare = text.rstrip("=")
    if not _BASE64.fullmatch(text) or len(bare) % 4 == 1 or (bare != text and len(text) % 4):
        return None
    try:
        return b64decode(bare.replace("-", "+").replace("_", "/") + "=" * (-len(bare) % 4), validate=True)
    except Error:
        return None
