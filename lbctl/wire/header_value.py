"""The value of a metadata field as people write it, as octets.

The value of a ``-bin`` name is base64, padded or not, several of them joined by commas; what is not base64 is text to
be encoded. No message here quotes a value: it may be a secret.
"""

from __future__ import annotations

import re
from typing import Final

from lbctl.errors import UsageError

_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")


def header_value(name: str, value: str) -> bytes:
    """The octets to send: base64 of a ``-bin`` value, printable ASCII of any other. Raises UsageError."""
    if name.endswith("-bin"):
        return _binary(value)
    bad = next((at for at, char in enumerate(value) if not " " <= char <= "~"), None)
    if bad is not None:
        kind = "is not ASCII" if ord(value[bad]) > 127 else "is a control character"
        raise UsageError(
            f"metadata {name}: character {bad + 1} of the value {kind}", f"send it as {name}-bin, or percent-encode it"
        )
    return value.encode()


def _binary(value: str) -> bytes:
    from base64 import b64encode

    decoded = [_decoded(part.strip(" \t")) for part in value.split(",")]
    parts = [value.encode("utf-8", "surrogateescape")] if None in decoded else decoded
    return b",".join(b64encode(part).rstrip(b"=") for part in parts if part is not None)


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
