"""Connections to backends: asyncio and grpcio live here, and below lbctl.etcd only."""

import os
from typing import Final

# Read once by gRPC's C core, at its import. It prints broken connections on standard error, which would tear the live
# screen; its fork handlers crash a child that is forked while calls are made, and ours only ever exec.
_QUIET: Final = {"GRPC_VERBOSITY": "NONE", "GLOG_minloglevel": "2", "GRPC_ENABLE_FORK_SUPPORT": "0"}

# What lbctl set for itself, and a command that it runs for the user must not inherit.
OWN_VARIABLES: Final = frozenset(name for name in _QUIET if name not in os.environ)

os.environ.update({name: _QUIET[name] for name in OWN_VARIABLES})
