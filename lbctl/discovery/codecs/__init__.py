"""The layouts lbctl can read. The order is the precedence: the first that recognises a key has it."""

from lbctl.discovery.codecs import (
    dubbo_app,
    etcd_naming,
    generic_json,
    go_kit,
    go_micro,
    go_zero,
    grpc_lb,
    hertz,
    key_only,
    kitex,
    kratos,
    kratos_v1,
    plain,
    seed,
    trpc_cpp,
    trpc_go,
)
from lbctl.discovery.codecs.base import Claim, Codec, Decoded
from lbctl.discovery.codecs.record import Record, Relatives

CODECS: tuple[Codec, ...] = (
    # A known set of members.
    kratos.CODEC,
    go_micro.CODEC,
    kratos_v1.CODEC,
    kitex.CODEC,
    hertz.CODEC,
    trpc_go.CODEC,
    dubbo_app.CODEC,
    etcd_naming.CODEC,
    grpc_lb.CODEC,
    trpc_cpp.CODEC,
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
