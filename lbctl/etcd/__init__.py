"""One thin, quiet adapter over etcd's gRPC API."""

import os

# gRPC's C core prints broken connections and forks on stderr and would tear the live screen; read once, at its import.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
# Its fork handlers crash a child that is forked while calls are made; ours only ever exec, which needs none.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
