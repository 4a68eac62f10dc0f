"""The layouts lbctl can read. The order is the precedence: the first that recognises a key has it."""

from lbctl.discovery.codecs import etcd_naming, seed
from lbctl.discovery.codecs.base import Claim, Codec, Decoded

CODECS: tuple[Codec, ...] = (etcd_naming.CODEC, seed.CODEC)

__all__ = ["CODECS", "Claim", "Codec", "Decoded"]
