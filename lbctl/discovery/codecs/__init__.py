"""The layouts lbctl can read. The order is the precedence: the first that recognises a key has it."""

from lbctl.discovery.codecs import (
    apisix,
    dubbo_app,
    dubbo_interface,
    ego,
    etcd_naming,
    generic_json,
    go_kit,
    go_micro,
    go_zero,
    goframe,
    grpc_lb,
    hertz,
    jupiter,
    jupiter_v0,
    key_only,
    kitex,
    kratos,
    kratos_v1,
    openim_v2,
    plain,
    rpcx,
    seed,
    skydns,
    trpc_cpp,
    trpc_go,
)
from lbctl.discovery.codecs.base import Claim, Codec, Decoded
from lbctl.discovery.codecs.record import Record, Relatives

CODECS: tuple[Codec, ...] = (
    # The form of the key.
    apisix.CODEC,
    skydns.CODEC,
    dubbo_interface.CODEC,
    ego.CODEC,
    jupiter_v0.CODEC,
    jupiter.CODEC,
    openim_v2.CODEC,
    rpcx.CODEC,
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
    goframe.CODEC,
    go_zero.CODEC,
    # Weak: the key has to speak for it, too.
    generic_json.CODEC,
    seed.CODEC,
    go_kit.CODEC,
    plain.CODEC,
    key_only.CODEC,
)

__all__ = ["CODECS", "Claim", "Codec", "Decoded", "Record", "Relatives"]
