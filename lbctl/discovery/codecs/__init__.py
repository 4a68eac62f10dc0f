"""The layouts lbctl can read. The order is the precedence: the first that recognises a key has it."""

from lbctl.discovery.codecs import etcd_naming, generic_json, go_kit, go_zero, key_only, plain, seed
from lbctl.discovery.codecs.base import Claim, Codec, Decoded
from lbctl.discovery.codecs.record import Record, Relatives

CODECS: tuple[Codec, ...] = (
    # A known set of members.
    etcd_naming.CODEC,
    # The key's form with the value's.
    go_zero.CODEC,
    # Weak: the key has to speak for it, too.
    generic_json.CODEC,
    seed.CODEC,
    go_kit.CODEC,
    plain.CODEC,
    key_only.CODEC,
)

__all__ = ["CODECS", "Claim", "Codec", "Decoded", "Record", "Relatives"]
