"""Why a call went where it went, as a report tells it."""

from __future__ import annotations

from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Policy, Why
from lbctl.stats.report import Candidate, Explanation


def explanation(policy: Policy, peer: Peer, call: Call, why: Why, number: int) -> Explanation:
    """Put a policy's reasons into values that do not change any more."""
    return Explanation(
        pick=number,
        policy=policy.name,
        backend=peer.instance.address,
        hash_key=call.key.decode("utf-8", "backslashreplace") if call.key else None,
        text=why.text,
        columns=why.columns,
        candidates=tuple(Candidate(each.instance.key, each.instance.address, figures) for each, figures in why.rows),
    )
