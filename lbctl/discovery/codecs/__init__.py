"""The layouts lbctl can read. The order is the precedence: the first that recognises a key has it."""

from lbctl.discovery.codecs import etcd_naming, seed
from lbctl.discovery.codecs.base import Claim, Codec, Decoded
from lbctl.discovery.codecs.record import Record, Relatives

CODECS: tuple[Codec, ...] = (
    # A known set of members.
    etcd_naming.CODEC,
    # Weak: the key has to speak for it, too.
    seed.CODEC,
)

__all__ = ["CODECS", "Claim", "Codec", "Decoded", "Record", "Relatives"]
