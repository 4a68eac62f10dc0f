"""Messages in protobuf's own text format."""

from __future__ import annotations

from google.protobuf import text_format
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import DecodeError

from lbctl.rpc.messages.message import decoded


def as_text(kind: Descriptor, message: bytes) -> str:
    """Spell a message in one line; what an Any holds is spelled out where its type is in the pool.

    Octets in the place of text are escaped.
    """
    found = decoded(kind, message)
    try:
        return text_format.MessageToString(
            found, as_one_line=True, as_utf8=True, descriptor_pool=kind.file.pool, print_unknown_fields=True
        )
    except (DecodeError, TypeError, UnicodeDecodeError):
        # What an Any holds is none of its type, or a map has a key that cannot be sorted or looked up.
        return " ".join(line.strip() for line in str(found).splitlines())
