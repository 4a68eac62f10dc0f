"""Children that end when lbctl is killed: Linux can promise it, elsewhere a normal exit has to do."""

from __future__ import annotations

import ctypes
import signal
import sys
from collections.abc import Callable
from functools import partial

_PR_SET_PDEATHSIG = 1


def die_with_parent(sig: signal.Signals = signal.SIGKILL) -> Callable[[], object] | None:
    """Return a ``preexec_fn`` that ties the child to the thread that starts it, or None where that is not possible.

    The library is loaded here, in the parent: between fork and exec nothing may be imported. In a process that uses
    gRPC its fork handlers must be off (``GRPC_ENABLE_FORK_SUPPORT=0``, see ``lbctl.rpc``): they crash such children.
    """
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    return partial(prctl, _PR_SET_PDEATHSIG, int(sig), 0, 0, 0)
