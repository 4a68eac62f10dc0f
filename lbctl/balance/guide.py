"""What there is to know of every policy: its own words, its options, and what its real picker does with an example."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from inspect import cleandoc
from random import Random
from types import ModuleType
from typing import Final

from lbctl.balance import policies as package
from lbctl.balance.keys import Keys, Numbers
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Expectation, Policy, Reported, Why
from lbctl.balance.policies.nearest import near_names
from lbctl.balance.policies.options import Described, described
from lbctl.balance.policies.table import BY_NAME, GRPC_POLICIES, POLICIES
from lbctl.balance.virtual import Modelled, Pace, Virtual
from lbctl.errors import NotFound
from lbctl.model import Endpoint, Instance

WEIGHTS: Final = {"a": 5, "b": 1, "c": 1}
TIMES_MS: Final = {"a": 10, "b": 20, "c": 40}
FIRST: Final = 14
MANY: Final = 10_000
IN_FLIGHT: Final = 4
_SEED: Final = 1
_PORT: Final = 50051

EXPECTED: Final = {
    Expectation.SINGLE: "one backend gets everything",
    Expectation.SEQUENCE: "the order is a function of list order, weights and start",
    Expectation.COUNTS: "every count is within a bound of picks x share",
    Expectation.MULTINOMIAL: "every pick is a draw with known shares",
    Expectation.HASH: "every key has one backend; shares follow from the keys",
    Expectation.FEEDBACK: "shares follow from load, latency, errors or reports",
}
JUDGED: Final = {
    Expectation.SINGLE: "exactly: any pick elsewhere is wrong",
    Expectation.SEQUENCE: "each count has to stay within the policy's bound, in calls",
    Expectation.COUNTS: "each count has to stay within the policy's bound, in calls",
    Expectation.MULTINOMIAL: "chi-square, p < 0.001, when the run is over; a Bayes factor over 1,000 before",
    Expectation.HASH: "by chi-square where keys are drawn at random, exactly where they are not",
    Expectation.FEEDBACK: "the run is simulated with the times and errors that were measured; shares have to fit",
}


@dataclass(frozen=True, slots=True)
class Example:
    """The first picks of the real picker, in a setting that ``setting`` describes."""

    setting: str
    picks: tuple[str, ...]
    keys: tuple[str, ...]  # of the calls, where they matter
    shares: dict[str, float]  # of many picks
    first: Peer
    why: Why  # it was the first pick


@dataclass(frozen=True, slots=True)
class Explained:
    """Everything there is to say about one policy."""

    policy: Policy
    about: str
    options: list[Described]
    example: Example | None  # gRPC's own balancers are not here to be asked


def known(name: str) -> Policy:
    """The policy of that name or alias; raises NotFound with the nearest ones."""
    found = BY_NAME.get(name)
    if found is None:
        near = near_names(name)
        hint = f"did you mean {' or '.join(near)}?" if near else "see what there is: lbctl policies"
        raise NotFound(f"there is no policy {name!r}", hint)
    return found


def explained(policy: Policy) -> Explained:
    """Everything there is to say about the policy."""
    return Explained(policy, about(policy), described(policy.options), _example(policy))


def about(policy: Policy) -> str:
    """How the policy works: what its module says of itself."""
    for module in vars(package).values():
        if isinstance(module, ModuleType) and any(_holds(value, policy.name) for value in vars(module).values()):
            return cleandoc(module.__doc__ or "")
    raise AssertionError(f"no module of the package holds {policy.name}")


def _holds(value: object, name: str) -> bool:
    """Whether this is the policy of that name, or a tuple with it; the tables of all policies are dicts."""
    if isinstance(value, Policy):
        return value.name == name
    return isinstance(value, tuple) and any(isinstance(each, Policy) and each.name == name for each in value)


def judged(policy: Policy) -> str:
    """How a run of the policy is judged."""
    if policy.name in GRPC_POLICIES and policy.expectation is Expectation.FEEDBACK:
        return "not at all: gRPC's picker is not here to be simulated"
    if not policy.replayed:
        return "by simulation, in runs no longer than a simulation; not in others: it takes long to find its way"
    return JUDGED[policy.expectation]


def _example(policy: Policy) -> Example | None:
    if policy.name not in POLICIES:
        return None
    virtual = _virtual(policy)
    peer, why = virtual.explained()
    picked = [peer, *virtual.run(MANY - 1)]
    counts = Counter(map(_letter, picked))
    return Example(
        setting=_setting(policy, virtual),
        picks=tuple(_letter(each) for each in picked[:FIRST]),
        keys=tuple(f"key-{number}" for number in range(FIRST)) if policy.keyed else (),
        shares={letter: counts[letter] / MANY for letter in WEIGHTS},
        first=peer,
        why=why,
    )


def _virtual(policy: Policy) -> Virtual:
    backends = [
        Modelled(
            Instance(letter, "example", "example", Endpoint(letter, _PORT), weight), [TIMES_MS[letter] * 1_000_000], [1]
        )
        for letter, weight in WEIGHTS.items()
    ]
    pace = Pace(IN_FLIGHT if policy.expectation is Expectation.FEEDBACK else 1)
    return Virtual(policy, backends, pace, Random(_SEED), _numbered() if policy.keyed else None)


def _numbered() -> Keys:
    """The keys key-0, key-1 and so on."""
    return Numbers("key-0, key-1, ...", b"key-%d")


def _letter(peer: Peer) -> str:
    return peer.instance.key


def _setting(policy: Policy, virtual: Virtual) -> str:
    weights = ", ".join(f"{letter}:{weight}" for letter, weight in WEIGHTS.items())
    text = f"backends and weights {weights}"
    if policy.keyed:
        text += "; keys key-0, key-1, ..."
    if policy.expectation is Expectation.FEEDBACK:
        times = ", ".join(f"{letter} {ms} ms" for letter, ms in TIMES_MS.items())
        text += f"; {IN_FLIGHT} calls in flight, answered after: {times}"
    if isinstance(virtual.balancer.picker, Reported):
        text += "; no reports of load"
    return f"{text}; seed {_SEED}"
