"""The one door to the etcd API's messages and stubs (distribution python3-etcd3, import name etcd3)."""

from __future__ import annotations

from typing import Any

from lbctl.errors import RegistryError

Message = Any  # a protobuf message of the etcd API: its classes are made at run time

_MEND = "pip install --force-reinstall python3-etcd3"


def _load() -> tuple[Any, Any]:
    """Import the messages and stubs; several distributions install a folder of that name, not all of them work."""
    try:
        from etcd3.etcdrpc import rpc_pb2, rpc_pb2_grpc
    except Exception as error:  # protobuf refuses old generated code with a TypeError of its own
        raise RegistryError(f"the installed etcd3 package cannot be used ({type(error).__name__})", _MEND) from error
    return rpc_pb2, rpc_pb2_grpc


pb, rpc = _load()
