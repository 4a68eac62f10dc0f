"""``lbctl describe``: definitions of services, methods, messages, enums and extensions, and requests to fill in."""

from __future__ import annotations

from dataclasses import dataclass
from graphlib import CycleError
from typing import TYPE_CHECKING, Any

from lbctl.commands.describing import Answer, Asked, ask_one
from lbctl.errors import CannotCall, NotFound, UsageError
from lbctl.etcd.client import Etcd

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor

    from lbctl.rpc.schemas.resolving import Described
    from lbctl.rpc.schemas.source import Source
    from lbctl.rpc.schemas.symbols import Symbol


@dataclass(frozen=True, slots=True)
class Describe:
    """What to describe: a symbol by its name or the end of it; None for the services."""

    asked: Asked
    symbol: str | None = None


async def run(etcd: Etcd | None, request: Describe) -> Answer[Described]:
    """Find the definitions.

    Raises NotFound for a service that is not there and a symbol that nobody describes, CannotCall where no backend
    tells, RegistryError.
    """
    from lbctl.rpc.schemas.resolving import describe

    async def find(source: Source) -> Described:
        return await describe(source, request.symbol)

    return await ask_one(etcd, request.asked, find)


def fillable(described: Described, wanted: str | None) -> Any:  # noqa: ANN401 - JSON
    """The request of the method, or the message, that was found, as JSON data.

    Raises UsageError for what is neither, CannotCall where its type is not described or its files cannot be used.
    """
    from lbctl.rpc.schemas.symbols import Kind
    from lbctl.rpc.schemas.template import template

    first = described.symbols[0]
    if wanted is None:
        raise UsageError("--template is of one method or message", f"name one: {first.spelt}")
    if first.kind is Kind.MESSAGE:
        return template(_built(described, first, first.name))
    if first.kind is not Kind.METHOD:
        raise UsageError(f"{first.spelt} is no method and no message ({first.kind})", "name a method, or a message")
    return _request(described, first)


def _request(described: Described, method: Symbol) -> Any:  # noqa: ANN401 - JSON
    from google.protobuf.descriptor_pb2 import MethodDescriptorProto

    from lbctl.rpc.schemas.template import template

    assert isinstance(method.node, MethodDescriptorProto)
    data = template(_built(described, method, method.node.input_type.removeprefix(".")))
    return [data] if method.node.client_streaming else data


def _built(described: Described, symbol: Symbol, name: str) -> Descriptor:
    """The descriptor of a message that a definition needs, or is."""
    from lbctl.rpc.schemas.schema import build_pool, is_placeholder

    try:
        message = build_pool(described.files, symbol.file.name).FindMessageTypeByName(name)
    except KeyError:
        raise NotFound(f"{name} is not described") from None
    except (CycleError, TypeError, ValueError) as error:
        reason = " ".join(ascii(str(error))[1:-1].split())[:200]
        raise CannotCall(f"the schema of {name} cannot be used: {reason}") from error
    if is_placeholder(message):
        raise CannotCall(f"{symbol.spelt} needs {name}, which is not described")
    return message
