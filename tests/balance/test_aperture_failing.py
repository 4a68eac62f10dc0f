"""Backends that fail do not count for the width of an aperture while their failures are remembered."""

from __future__ import annotations

from lbctl.balance.peer import Peer
from lbctl.balance.policies.aperture import Aperture
from lbctl.balance.policies.base import Call
from lbctl.model import Code, Origin, Reply
from tests.balance.fleet import fleet
from tests.balance.test_aperture import SECOND, aperture, begin, end, used

MS = 1_000_000
DOWN = Reply(Code.UNAVAILABLE)


def members(picker: Aperture, now_ns: int) -> list[Peer]:
    """Who may be picked, in the order that chance has given them."""
    _, why = picker.why(Call(now_ns))
    return [peer for peer, _ in why.rows]


def failed(picker: Aperture, now_ns: int) -> Peer:
    """Let a call fail, of whoever is picked."""
    (peer,) = begin(picker, now_ns)
    fail(picker, peer, now_ns)
    return peer


def fail(picker: Aperture, peer: Peer, now_ns: int, reply: Reply = DOWN) -> None:
    peer.finished += 1
    picker.ended(peer, now_ns, now_ns, reply)


def test_one_more_is_used_for_each_that_fails() -> None:
    peers = fleet([1] * 6)
    picker = aperture(peers, high="100", low="0")  # the width stays 1
    first = failed(picker, SECOND)
    second = begin(picker, SECOND)[0]
    assert second is not first
    end(picker, second, SECOND)
    assert set(members(picker, SECOND)) == {first, second}
    second.picks += 1
    fail(picker, second, SECOND)
    third = begin(picker, SECOND)[0]  # the two that fail have a call each in flight, as far as anybody can tell
    assert third not in (first, second)


def test_after_the_penalty_its_place_is_nobody_elses() -> None:
    peers = fleet([1] * 6)
    picker = aperture(peers, high="100", low="0")
    first = failed(picker, SECOND)
    assert failed(picker, SECOND) is not first
    later = 2 * SECOND + MS
    for _ in range(2 * len(peers)):  # it is looked at once in so many picks as there are backends
        end(picker, begin(picker, later)[0], later)
    assert {begin(picker, later)[0] for _ in range(10)} == {first}


def test_a_reply_that_fails_a_check_is_a_failure_at_once() -> None:
    peers = fleet([1] * 6)
    picker = aperture(peers, high="100", low="0")
    (first,) = begin(picker, SECOND)
    fail(picker, first, SECOND, Reply(Code.OK, Origin.CLIENT, "an empty list"))
    assert begin(picker, SECOND)[0] is not first


def test_an_end_outside_the_set_changes_nothing_whatever_is_remembered_of_the_peer() -> None:
    peers = fleet([1] * 3)
    gone = peers.pop()
    picker = aperture(peers, window="0s")
    for number in range(4):
        begin(picker, SECOND + number * MS)
    for number in range(4, 12):
        gone.picks += 1
        fail(picker, gone, SECOND + number * MS)  # its memory is gone, too
    assert used(picker, peers, SECOND + 12 * MS) == {peer.instance.key for peer in peers}


def test_who_left_and_came_back_fails_before_the_picker_is_built_anew() -> None:
    peers = fleet([1] * 3)
    picker = aperture(peers, high="100", low="0")
    (peer,) = begin(picker, SECOND)
    peer.memory = None
    fail(picker, peer, SECOND)
    assert begin(picker, SECOND)[0] is not peer
