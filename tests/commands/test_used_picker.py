"""How a picker is used while its costs are taken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Law, Why, equal
from lbctl.commands.bench import fleet, size_of
from lbctl.commands.used_picker import UsedPicker
from lbctl.model import Reply


class Noting:
    """Picks in turn, and notes what it is asked."""

    def __init__(self, peers: Sequence[Peer]) -> None:
        self.peers = peers
        self.calls: list[Call] = []
        self.most = 0

    def pick(self, call: Call) -> Peer:
        self.most = max(self.most, sum(peer.in_flight for peer in self.peers))
        self.calls.append(call)
        return self.peers[len(self.calls) % len(self.peers)]

    def why(self, call: Call) -> tuple[Peer, Why]:
        return self.pick(call), Why("in turn")

    def law(self) -> Law:
        return Law(equal(self.peers))

    def retire(self) -> None:
        """Nothing is left behind."""


class Learner(Noting):
    """Notes how calls ended as well."""

    def __init__(self, peers: Sequence[Peer]) -> None:
        super().__init__(peers)
        self.ends: Counter[Peer] = Counter()
        self.began: list[int] = []

    def ended(self, peer: Peer, begun_ns: int, now_ns: int, reply: Reply) -> None:
        self.ends[peer] += 1
        self.began.append(begun_ns)


def test_calls_are_in_flight_for_a_while_and_every_end_is_told_once() -> None:
    peers = fleet(4, "uniform")
    picker = Learner(peers)
    times = UsedPicker(picker, peers, keyed=False).times(0)
    assert times.again is None
    assert times.end is not None
    assert picker.most == 127  # 64 between bursts of 64
    assert sum(picker.ends.values()) == len(picker.calls)
    assert picker.ends == {peer: peer.finished for peer in peers}
    assert sum(peer.in_flight for peer in peers) == 64
    assert picker.began[64:] == [call.now_ns for call in picker.calls[:-64]]  # the first 64 ends are of nobody's picks


def test_time_goes_on_from_call_to_call_and_no_two_calls_take_as_long() -> None:
    peers = fleet(3, "skewed")
    picker = Noting(peers)
    UsedPicker(picker, peers, keyed=False).times(0)
    times = [call.now_ns for call in picker.calls]
    assert all(0 <= after - before < 40_000 for before, after in pairwise(times))
    assert 18_000 < times[-1] / len(times) < 22_000
    took = [after - before for before, after in zip(times, times[64:1024], strict=False)]
    assert len(set(took)) > 0.9 * len(took)


def test_keys_are_new_except_those_of_the_first_picks_which_come_again() -> None:
    peers = fleet(3, "uniform")
    picker = Noting(peers)
    used = UsedPicker(picker, peers, keyed=True)
    first = [call.key for call in picker.calls]
    times = used.times(0)
    assert len(set(first)) == len(first) == 1024
    assert times.again is not None
    counts = Counter(call.key for call in picker.calls)
    often = {key for key, count in counts.items() if count > 1}
    assert often == set(first)
    assert set(counts.values()) == {1, 4}  # new ones and old ones in turn, three times each


def test_who_does_not_learn_has_no_cost_of_an_end() -> None:
    peers = fleet(3, "uniform")
    assert UsedPicker(Noting(peers), peers, keyed=False).times(0).end is None


def test_a_size_counts_everything_that_is_reached_once_and_nothing_of_others() -> None:
    shared, own = [1.5] * 1000, bytes(500)
    alone, twice = size_of([[own]], without=[]), size_of([[own], [own]], without=[])
    assert alone > 500
    assert 0 < twice - alone < 100  # one more list
    assert size_of([[own, shared]], without=[shared]) < alone + 50


def test_what_a_built_in_method_belongs_to_counts() -> None:
    table = [b""] * 1000
    assert size_of([map(table.__getitem__, ())], without=[]) > 8000
