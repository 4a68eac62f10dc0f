"""gRPC's own balancers, which pick in grpcio: what may be expected of each.

name                   expectation   share of each backend that is ready
round_robin            counts        1/n; counts differ by at most one
pick_first             single        everything to the one it connected to
weighted_round_robin   feedback      by the load that backends report, else 1/n
ring_hash              hash          by the arcs of the ring
"""

from __future__ import annotations

from typing import Final

from lbctl.balance.policies.base import Expectation, Policy
from lbctl.balance.policies.delegated import delegating, first_only

POLICIES: Final[tuple[Policy, ...]] = (
    delegating("grpc:round_robin", "gRPC's own: each backend in turn", Expectation.COUNTS, slack=1.0),
    delegating("grpc:pick_first", "gRPC's own: the first backend that answers", Expectation.SINGLE, 0.0, first_only),
    delegating("grpc:weighted_round_robin", "gRPC's own: by the load that backends report", Expectation.FEEDBACK),
    delegating("grpc:ring_hash", "gRPC's own: a ring of hashes, every call with a key of its own", Expectation.HASH),
)
