"""Picks for further attempts: elsewhere than the ones before, where the policy comes to it soon."""

from __future__ import annotations

from typing import Final

from lbctl.balance.balancer import Balancer
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Expectation, Picker

_PICKS_AGAIN: Final = 8
_UNMOVED: Final = frozenset({Expectation.SINGLE, Expectation.HASH})  # another pick would be the same


def pick_again(picker: Picker, call: Call, balancer: Balancer) -> Peer:
    """Pick where no attempt was before, or, once all were tried, where the last one was not.

    The policy is asked again, a few times at most: each answer is a pick of its own, which its law counts, and which
    its peer is given back. Policies whose answer would be the same know from the call where it was, and are taken at
    their first word.
    """
    peer = _picked(picker, call)
    if peer not in call.tried or balancer.policy.keyed or balancer.policy.expectation in _UNMOVED:
        return peer
    choices = balancer.choices
    avoided = call.tried if len(set(call.tried)) < choices else call.tried[-1:]
    given_back = 0
    while peer in avoided and given_back < _PICKS_AGAIN and choices > 1:
        peer.give_back()
        given_back += 1
        peer = _picked(picker, call)
    return peer


def _picked(picker: Picker, call: Call) -> Peer:
    peer = picker.pick(call)
    peer.picks += 1
    return peer
