"""Which failures speak against a backend, and how long a failed call keeps its slot."""

from __future__ import annotations

from lbctl.balance.penalty import Kept, KeptSlots, is_fault
from lbctl.model import Code, Origin, Reply
from tests.balance.fleet import OK
from tests.balance.traffic import BROKEN, LATE, LOST, MISSING


def test_failures_that_speak_against_the_backend_are_told_from_those_that_do_not() -> None:
    faults = [LOST, LATE, BROKEN, Reply(Code.UNKNOWN), Reply(Code.OK, Origin.CLIENT, "the reply failed a check")]
    faults += [Reply(Code.NOT_FOUND, Origin.HTTP), Reply(Code.CANCELLED, Origin.TRANSPORT)]
    others = [OK, MISSING, Reply(Code.INVALID_ARGUMENT), Reply(Code.ABORTED)]
    others += [Reply(Code.CANCELLED, Origin.CLIENT), Reply(Code.RESOURCE_EXHAUSTED, Origin.CLIENT)]
    assert all(is_fault(reply) for reply in faults)
    assert not any(is_fault(reply) for reply in others)


def test_a_failed_call_keeps_its_slot_for_the_penalty_and_no_longer() -> None:
    kept = Kept()
    assert kept.add(1000, 640) == 1640
    assert kept.add(1010, 640) == 0  # within 1/64: freed together
    assert kept.add(1011, 640) == 1651
    assert [kept.at(now) for now in (1639, 1640, 1650, 1651)] == [3, 1, 1, 0]


def test_memory_of_failures_does_not_grow_with_their_rate() -> None:
    kept = Kept()
    for now_ns in range(0, 1_000_000, 10):
        kept.add(now_ns, 1_000_000)
    assert kept.count == 100_000
    assert len(kept.until) <= 65


def test_slots_of_a_set_are_freed_in_turn_whoever_keeps_them() -> None:
    slots = KeptSlots([Kept(), Kept()], 1.0)
    slots.add(1, 5)
    slots.add(0, 10**8)
    assert (slots.freed(10**9), slots.freed(10**9 + 5), slots.freed(2 * 10**9)) == ([], [1], [0])
    assert [kept.count for kept in slots.of] == [0, 0]
