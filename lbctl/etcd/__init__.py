"""One thin, quiet adapter over etcd's gRPC API."""

import lbctl.rpc  # noqa: F401  # settles how gRPC behaves, before anything here imports it
