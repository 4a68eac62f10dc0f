from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from lbctl.balance.nginx_peers import Server, choose
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Learning, Picker, Setup
from lbctl.balance.policies.nginx_wrr import NginxWrr
from lbctl.balance.policies.table import POLICIES
from lbctl.errors import UsageError
from lbctl.model import Code, Origin, Reply
from tests.balance.fleet import OK, VECTORS, Service, fleet, letters

LOST = Reply(Code.UNAVAILABLE, Origin.TRANSPORT, "connection refused")
SECOND = 1_000_000_000


def tried_per_request(servers: list[Server], broken: set[int], requests: int) -> list[str]:
    """Send each request to one server after the other until one answers; the letters of those tried."""
    told = []
    for _ in range(requests):
        tried: list[Server] = []
        while True:
            server = choose(servers, 0, 1e9, tried)
            if server is None:
                break
            tried.append(server)
            if servers.index(server) not in broken:
                server.succeeded()
                break
            server.failed(0)
        told.append("".join("ABC"[servers.index(server)] for server in tried))
    return told


def test_a_failing_server_loses_effective_weight_as_the_nginx_binary_has_it() -> None:
    vector = VECTORS["swrr_max_fails_retry_5_1_1"]
    given, expect = vector["given"], vector["expect"]
    servers = [Server(*pair) for pair in zip(given["weights"], given["max_fails"], strict=True)]
    assert tried_per_request(servers, {0}, given["requests"]) == expect["peers_tried_per_request"]
    assert servers[0].effective == expect["A_effective_weight_after"]
    assert servers[0].fails == expect["A_fails"]


def test_a_loss_of_half_the_weight_grows_back_as_the_nginx_binary_has_it() -> None:
    vector = VECTORS["swrr_max_fails_retry_10_2_1"]
    given = vector["given"]
    servers = [Server(*pair) for pair in zip(given["weights"], given["max_fails"], strict=True)]
    assert tried_per_request(servers, {0}, given["requests"]) == vector["expect"]["peers_tried_per_request"]


def nginx(peers: list[Peer], **options: str) -> Picker:
    policy = POLICIES["smooth_wrr"].with_options(options)
    return policy.build(peers, Setup(Random(1), policy.options))


def answered(picker: Picker, peers: list[Peer], now_ns: int, replies: Any) -> Peer:  # noqa: ANN401  # peer -> Reply
    """One call, sent again elsewhere until it is answered; returns who answered."""
    assert isinstance(picker, Learning)
    tried: tuple[Peer, ...] = ()
    while True:
        peer = picker.pick(Call(now_ns, b"", tried))
        reply = replies(peer)
        picker.ended(peer, now_ns, now_ns + 1, reply)
        if reply.is_ok:
            return peer
        tried = (*tried, peer)
        assert len(tried) < len(peers), "every peer was tried"


def test_two_sound_servers_share_alike_as_nginxs_own_test_has_it() -> None:
    vector = VECTORS["nginx_upstream_t_balanced"]
    peers = fleet(vector["given"]["weights"])
    picker = nginx(peers, max_fails="1")
    counts = Counter(answered(picker, peers, 0, lambda peer: OK) for _ in range(vector["given"]["requests"]))
    assert [counts[peer] for peer in peers] == vector["expect"]["counts"]


def test_a_server_that_fails_every_third_request_is_left_out_as_nginxs_own_test_has_it() -> None:
    vector = VECTORS["nginx_upstream_t_failures"]
    given = vector["given"]
    peers = fleet(given["weights"])
    picker = nginx(peers, max_fails=str(given["max_fails"][0]), fail_timeout=f"{given['fail_timeout_s']}s")
    received: Counter[Peer] = Counter()

    def replies(peer: Peer) -> Reply:
        received[peer] += 1
        return LOST if peer is peers[0] and received[peer] % 3 == 0 else OK

    counts = Counter(answered(picker, peers, number * SECOND // 31, replies) for number in range(given["requests"]))
    assert [counts[peer] for peer in peers] == vector["expect"]["successful_counts"]


def test_a_server_is_left_out_until_the_time_out_has_passed_and_then_probed_once_per_time_out() -> None:
    peers = fleet([1, 1])
    picker = nginx(peers, max_fails="1", fail_timeout="10s")
    tried = []
    for second in range(100, 135):
        for _ in range(4):
            peer = picker.pick(Call(second * SECOND))
            picker.ended(peer, 0, second * SECOND, LOST if peer is peers[0] else OK)  # type: ignore[attr-defined]
            tried += [second] * (peer is peers[0])
    assert tried == [100, 111, 122, 133]


def test_one_request_at_a_time_is_a_probe_and_its_success_forgets_the_failures() -> None:
    peers = fleet([1, 1])
    picker = nginx(peers, max_fails="1", fail_timeout="10s")
    assert picker.pick(Call(100 * SECOND)) is peers[0]
    picker.ended(peers[0], 0, 100 * SECOND, LOST)  # type: ignore[attr-defined]
    assert {picker.pick(Call(105 * SECOND)) for _ in range(5)} == {peers[1]}
    assert [picker.pick(Call(111 * SECOND)) for _ in range(8)].count(peers[0]) == 1
    picker.ended(peers[0], 0, 112 * SECOND, OK)  # type: ignore[attr-defined]
    assert peers[0].memory.fails == 0
    assert [picker.pick(Call(112 * SECOND)) for _ in range(8)].count(peers[0]) == 4


def test_when_every_server_is_out_or_was_tried_calls_go_somewhere_all_the_same() -> None:
    peers = fleet([2, 1])
    picker = nginx(peers, max_fails="1", fail_timeout="10s")
    assert picker.pick(Call(0, b"", tuple(peers))) in peers
    for peer in peers:
        picker.ended(peer, 0, 1, LOST)  # type: ignore[attr-defined]
    assert {picker.pick(Call(SECOND)) for _ in range(12)} == set(peers)


def test_an_only_server_is_never_left_out() -> None:
    (only,) = fleet([3])
    picker = nginx([only], max_fails="1")
    picker.ended(only, 0, 1, LOST)  # type: ignore[attr-defined]
    assert only.memory.fails == 0
    assert picker.pick(Call(2)) is only


def test_retries_leave_out_peers_that_were_tried() -> None:
    peers = fleet([5, 1, 1])
    picker = nginx(peers, max_fails="3")
    assert all(picker.pick(Call(0, b"", (peers[0], peers[2]))) is peers[1] for _ in range(9))


def test_a_peer_that_was_tried_twice_is_left_out_like_one_that_was_tried_once() -> None:
    peers = fleet([5, 1, 1])
    first, second, third = peers
    picker = nginx(peers, max_fails="1")
    assert picker.pick(Call(0, b"", (first, second, first))) is third
    assert picker.pick(Call(0, b"", (third, third, second))) is first


def test_what_failures_took_off_stays_off_when_the_set_or_the_weight_changes() -> None:
    service = Service("smooth_wrr", A=10, B=10)
    service.balancer.switch(POLICIES["smooth_wrr"].with_options({"max-fails": "5"}))
    service.run(2)
    service.balancer.ended(service.peer("A"), 0, 1, LOST)
    assert service.peer("A").memory.effective == 8
    service.set(A=10, B=10, C=1)
    service.run(1)
    assert service.peer("A").memory.effective == 9
    service.set(A=5, B=10, C=1)
    service.run(1)
    assert (service.peer("A").memory.effective, service.peer("A").memory.weight) == (5, 5)


@pytest.mark.parametrize(
    ("reply", "counted"),
    [
        (LOST, True),
        (Reply(Code.UNAVAILABLE), True),
        (Reply(Code.DEADLINE_EXCEEDED, Origin.CLIENT), True),
        (Reply(Code.UNKNOWN, Origin.HTTP), True),
        (Reply(Code.NOT_FOUND), False),
        (Reply(Code.INTERNAL), False),
        (OK, False),
    ],
)
def test_failures_are_lost_connections_deadlines_and_unavailable(reply: Reply, counted: bool) -> None:
    peers = fleet([4, 4])
    picker = nginx(peers, max_fails="2")
    picker.ended(peers[0], 0, 1, reply)  # type: ignore[attr-defined]
    assert (peers[0].memory.fails, peers[0].memory.effective) == ((1, 2) if counted else (0, 4))


def test_without_failures_the_order_is_that_of_smooth_wrr() -> None:
    weights = [7, 3, 3, 1]
    picker, peers = nginx(fleet(weights), max_fails="1"), fleet(weights)
    plain = nginx(peers)
    assert isinstance(picker, NginxWrr)
    assert not isinstance(plain, Learning)
    order = letters(picker.pick(Call(number * SECOND)) for number in range(56))
    assert order == letters(plain.pick(Call(0)) for _ in range(56))


def test_a_failure_weighs_no_longer_while_somebody_warms_up() -> None:
    """A failure takes 2 of 5 off, and each selection gives 1 back, whatever part of the others counts.

    A full    5 3 A   2 7 B   7 3 A   2 8 B ...            A half    2.5 3 B   5 1.5 A   1 6.5 B   3.5 4 B   6 1.5 A ...
    """
    turns = []
    for warmth in (1.0, 0.5):
        peers = fleet([5, 5])
        peers[0].warmth = warmth
        picker = nginx(peers, max_fails="2")
        picker.ended(peers[1], 0, SECOND, LOST)  # type: ignore[attr-defined]
        turns.append(letters(picker.pick(Call(20 * SECOND)) for _ in range(30)))
        assert peers[1].memory.effective == 5
    assert turns == ["AB" * 15, "BAB" * 10]


def by_looking(servers: list[Server], now: int, timeout_s: float, tried: list[Server]) -> Server:
    """The rule: among those that are not out and were not tried, then among those tried, then among all."""
    chosen = choose(servers, now, timeout_s, tried) or choose(servers, now, timeout_s) or choose(servers, now, -1.0)
    assert chosen is not None
    return chosen


def counters(server: Server) -> tuple[int, ...]:
    return (server.effective, server.current, server.fails, server.accessed, server.checked)


@pytest.mark.parametrize("size", [1, 2, 7, 60])
def test_picks_are_those_of_a_look_at_every_server_at_every_pick(size: int) -> None:
    for case in range(5):
        rng = Random(case)
        peers = fleet([rng.choice([1, 5, rng.randint(1, 1000)]) for _ in range(size)])
        for peer in peers:
            peer.warmth = rng.choice([1.0, 1.0, 0.3])
        max_fails, timeout_s = rng.choice([1, 3, 20]), rng.choice([0.0, 2.5, 10.0])
        options = {"max_fails": str(max_fails), "fail_timeout": f"{timeout_s}s"}
        picker = nginx(peers, **options)
        servers = [Server(peer.weight, max_fails, part=round(1000 * peer.warmth)) for peer in peers]
        flaky, now_ns = set(rng.sample(range(size), rng.randint(0, size))), 50 * SECOND
        for number in range(300):
            tried = rng.sample(range(size), rng.choice([0, 0, 0, min(size, 2), size]))
            index = servers.index(by_looking(servers, now_ns // SECOND, timeout_s, [servers[each] for each in tried]))
            peer = picker.pick(Call(now_ns, b"", tuple(peers[each] for each in tried)))
            assert (number, peers.index(peer)) == (number, index)
            reply = LOST if index in flaky and rng.random() < 0.3 else OK
            if size > 1:
                servers[index].succeeded() if reply.is_ok else servers[index].failed(now_ns // SECOND)
            picker.ended(peer, now_ns, now_ns, reply)  # type: ignore[attr-defined]
            now_ns += rng.choice([0, 1000, SECOND // 3, 4 * SECOND])
            if rng.random() < 0.02:
                picker.retire()
                picker = nginx(peers, **options)
        picker.retire()
        assert [counters(peer.memory) for peer in peers] == [counters(server) for server in servers]


def test_warming_up_and_its_end_cause_no_burst() -> None:
    service = Service("smooth_wrr", A=5, B=1, C=1)
    service.balancer.switch(POLICIES["smooth_wrr"].with_options({"max-fails": "5"}))
    service.balancer.warm(service.peer("A"), 0.5)
    assert Counter(service.run(90)) == {"A": 50, "B": 20, "C": 20}
    service.run(3)
    service.balancer.warm(service.peer("A"), 1.0)
    for _ in range(10):
        counts = Counter(service.run(7))
        assert all(abs(counts[key] - share) <= 1 for key, share in {"A": 5, "B": 1, "C": 1}.items())


def test_why_tells_effective_weights_and_who_is_out() -> None:
    peers = fleet([2, 1])
    picker = nginx(peers, max_fails="1")
    picker.ended(peers[0], 0, 1, LOST)  # type: ignore[attr-defined]
    peer, why = picker.why(Call(SECOND))
    assert peer is peers[1]
    assert why.columns == ("effective", "current", "fails")
    assert [figures for _, figures in why.rows] == [("0/2", "out", "1"), ("1/1", "1", "0")]


def test_kept_state_and_failures_cannot_both_be_chosen() -> None:
    with pytest.raises(UsageError, match="max-fails"):
        POLICIES["smooth_wrr"].with_options({"max-fails": "1", "state": "reset"})
