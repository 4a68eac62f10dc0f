"""What descriptors can be had from: a backend that reflects, or files that somebody wrote before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from google.protobuf.descriptor_pb2 import FileDescriptorProto, MethodDescriptorProto


class Source(Protocol):
    """Services and the descriptor files that came of asking for them; ``files`` grows with every question.

    Questions raise ReflectionFailed where the source is a backend that stops answering; what it does not know is no
    failure.
    """

    @property
    def protocol(self) -> Literal["v1", "v1alpha", "files"]:
        """The version of server reflection that is asked, or ``files`` where nobody is."""
        ...

    @property
    def origin(self) -> str:
        """What errors call it."""
        ...

    @property
    def listing(self) -> Sequence[str]:
        """The full names of all services that are offered."""
        ...

    @property
    def files(self) -> Mapping[str, FileDescriptorProto]:
        """What was fetched so far, by file name."""
        ...

    async def methods(self, service: str) -> Mapping[str, MethodDescriptorProto]:
        """Fetch what a service declares; nothing where it is not described."""
        ...

    async def symbol(self, name: str) -> bool:
        """Fetch the file that defines a message, enum, extension or service, by full name; whether there is one."""
        ...

    async def extension(self, type_name: str, number: int) -> bool:
        """Fetch the file that extends a message by that field; whether there is one."""
        ...

    async def complete(self) -> None:
        """Fetch all that the files at hand import; what cannot be had stays missing."""
        ...
