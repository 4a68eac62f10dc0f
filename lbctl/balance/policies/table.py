"""The policies a user can name, in the order that lists and the policy key show them."""

from __future__ import annotations

from typing import Final

from lbctl.balance.policies import (
    aperture,
    bounded_load,
    consistent_hash,
    done_weight,
    dynamic_weight,
    edf,
    fastest,
    grpc,
    hash_mod,
    iwrr,
    jump,
    kratos_p2c,
    least_active,
    least_conn,
    least_request,
    maglev,
    p2c,
    p2c_ewma,
    peak_ewma,
    pick_first,
    prequal,
    random,
    rendezvous,
    ring_hash,
    round_robin,
    smooth_wrr,
    static_stride,
    weighted_random,
    weighted_round_robin,
    wrr_lvs,
    wrr_plain,
)
from lbctl.balance.policies.base import Policy

POLICIES: Final[dict[str, Policy]] = {
    policy.name: policy
    for policy in (
        pick_first.POLICY,
        round_robin.POLICY,
        smooth_wrr.POLICY,
        wrr_plain.POLICY,
        wrr_lvs.POLICY,
        iwrr.POLICY,
        edf.POLICY,
        static_stride.POLICY,
        random.POLICY,
        weighted_random.POLICY,
        hash_mod.POLICY,
        consistent_hash.POLICY,
        ring_hash.POLICY,
        maglev.POLICY,
        jump.POLICY,
        rendezvous.POLICY,
        bounded_load.POLICY,
        least_conn.POLICY,
        least_active.POLICY,
        least_request.POLICY,
        fastest.POLICY,
        p2c.POLICY,
        aperture.POLICY,
        p2c_ewma.POLICY,
        kratos_p2c.POLICY,
        peak_ewma.POLICY,
        prequal.POLICY,
        weighted_round_robin.POLICY,
        dynamic_weight.POLICY,
        done_weight.POLICY,
    )
}

# Picked by grpcio, so only for the engine of that name.
GRPC_POLICIES: Final[dict[str, Policy]] = {policy.name: policy for policy in grpc.POLICIES}
ALL_POLICIES: Final[dict[str, Policy]] = POLICIES | GRPC_POLICIES

# Whatever a user may call them.
BY_NAME: Final[dict[str, Policy]] = {
    name: policy for policy in ALL_POLICIES.values() for name in (policy.name, *policy.aliases)
}
