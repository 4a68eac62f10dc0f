"""What the backends of services say of their health, and which of them are no use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lbctl.discovery.backends import distinct
from lbctl.model import Endpoint, Instance, Registry

if TYPE_CHECKING:
    from lbctl.rpc.health import Health

_SERVES: Final = "SERVING"
_UNASKED: Final = "UNIMPLEMENTED"


@dataclass(frozen=True, slots=True)
class Row:
    """One backend of one service and its health."""

    instance: Instance
    health: Health

    @property
    def in_rotation(self) -> bool:
        """Whether clients pick it, as far as the registry says."""
        return self.instance.status is None and self.instance.effective_weight > 0

    def serves(self, *, strict: bool = False) -> bool:
        """Whether it says that it serves; one that cannot be asked counts as serving, unless ``strict``."""
        return self.health.status == _SERVES or (self.health.status == _UNASKED and not strict)


@dataclass(frozen=True, slots=True)
class Checkup:
    """All backends of some services. ``asked`` is the gRPC service whose health it is, "" for the server's own."""

    revision: int
    rows: tuple[Row, ...]
    asked: str = ""
    strict: bool = False

    @property
    def failing(self) -> tuple[Row, ...]:
        """The backends that clients pick and that do not serve."""
        return tuple(row for row in self.rows if row.in_rotation and not row.serves(strict=self.strict))

    @property
    def healthy(self) -> bool:
        """Whether every backend in the rotation serves, and there is one, if there are backends at all."""
        return not self.failing and (not self.rows or any(row.in_rotation for row in self.rows))


def backends(registry: Registry) -> Iterator[Instance]:
    """Yield one instance for each address of each service that can be asked."""
    for service in registry.services:
        yield from distinct(each for each in service.instances if each.speaks_grpc)


def rows(instances: Iterable[Instance], health: Mapping[Endpoint, Health]) -> tuple[Row, ...]:
    """Put every instance beside the health of its address."""
    return tuple(Row(each, health[each.endpoint]) for each in instances)
