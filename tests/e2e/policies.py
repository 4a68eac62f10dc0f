"""Runs of any policy against one demo, and what the table of policies says beforehand of how they end.

There are hundreds of them, so their command lines run in this process: to start one takes longer than what it does.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from typing import Any, Final
from unittest.mock import patch

from lbctl.balance.envelope import CALLS
from lbctl.balance.policies.base import Expectation, Policy
from lbctl.balance.policies.table import POLICIES
from lbctl.cli import run as run_line
from tests.e2e.conftest import Standing
from tests.e2e.runs import Ended, environment, row_of

# Weights of the registry are nothing to these; to all others that say their shares beforehand, they are the shares.
EVEN: Final = {"round_robin", "random", "hash_mod", "consistent_hash", "jump", "weighted_round_robin"}
# Everybody is used, as in two choices of all.
WIDE: Final = {"aperture": ("--policy-opt", "min-aperture=5")}
_ATTEMPTS: Final = 3
NEVER: Final = 1e-6  # of a test by chance: one false alarm in a million right runs


def goes_by_load(policy: Policy) -> bool:
    """Whether it goes by what this client measures: calls in flight, or latency."""
    return policy.by_load or hasattr(policy.options, "failure_penalty")


def is_judged(policy: Policy, attempts: int) -> bool:
    """Whether one can tell what it should have done in a run of so many."""
    return policy.replayed or attempts <= CALLS


def states_shares(policy: Policy) -> bool:
    """Whether its shares follow from weights and keys, whatever backends do."""
    return policy.expectation is not Expectation.FEEDBACK


LOAD_AWARE: Final = [name for name, policy in POLICIES.items() if goes_by_load(policy)]
STATIC: Final = [name for name, policy in POLICIES.items() if states_shares(policy)]
KEYED: Final = [name for name, policy in POLICIES.items() if policy.keyed]


def owed(policy: Policy, weights: Sequence[int]) -> list[float]:
    """The share of each backend, of a policy that states them."""
    if policy.expectation is Expectation.SINGLE:
        return [1.0] + [0.0] * (len(weights) - 1)
    counted = [1] * len(weights) if policy.name in EVEN else weights
    return [weight / sum(counted) for weight in counted]


def run(demo: Standing, name: str, *options: str, key: str = "uuid") -> dict[str, Any]:
    """The document of a run of a policy, with keys where it needs them and always the same draws.

    On a busy machine calls may queue, and then the verdict rightly is that there is none: such a run is made again.
    """
    for _ in range(_ATTEMPTS):
        document = _run(demo, name, *options, key=key)
        if "times went with the load" not in document["balance"]["note"]:
            break
    return document


def _run(demo: Standing, name: str, *options: str, key: str) -> dict[str, Any]:
    keys = ("--hash-key", key) if POLICIES[name].keyed else ()
    command = ("hammer", "echo", "Echo/Say", "--policy", name, *keys, "--seed", "7", "-o", "json", *options)
    out, err = StringIO(), StringIO()
    with patch.dict(os.environ, environment(demo.etcd), clear=True), redirect_stdout(out), redirect_stderr(err):
        status = run_line(command)
    assert out.getvalue(), err.getvalue()
    return Ended(status, out.getvalue(), err.getvalue()).document


def picks(document: dict[str, Any], demo: Standing) -> list[int]:
    """By backend, in the order of the demo's lists."""
    return [row_of(document, address)["picks"] for address in demo.backends]


def shares(document: dict[str, Any], demo: Standing) -> list[float]:
    return [count / document["attempts"] for count in picks(document, demo)]


def is_right(document: dict[str, Any]) -> bool:
    """Whether the verdict is that on a right run: balanced, but for chance and for who cannot be judged."""
    balance = document["balance"]
    if balance["verdict"] == "not_applicable":
        return not is_judged(POLICIES[document["policy"]], document["attempts"])
    return balance["verdict"] == "balanced" or (balance["p_value"] or 0.0) > NEVER
