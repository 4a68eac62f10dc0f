"""Engines that are wrong on purpose: a test that none of them fails proves nothing."""

from __future__ import annotations

from typing import Final

from tests.wire.mutants.base import Mutant
from tests.wire.mutants.connections import CONNECTIONS
from tests.wire.mutants.context import CONTEXT
from tests.wire.mutants.flow import FLOW
from tests.wire.mutants.replies import REPLIES

MUTANTS: Final[dict[str, Mutant]] = {**REPLIES, **CONTEXT, **CONNECTIONS, **FLOW}
