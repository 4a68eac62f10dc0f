from __future__ import annotations

import sys

import pytest

from lbctl.model import Code, Endpoint, Event, Identity, Origin, Reply
from lbctl.stats.errors import GROUPS, MESSAGE_CHARS, OTHER, normalised
from lbctl.stats.events import EventLog
from lbctl.stats.histogram import bucket_of
from lbctl.stats.tally import Tally

A = Identity("/services/echo/a", Endpoint("10.0.0.1", 50051))
B = Identity("/services/echo/b", Endpoint("10.0.0.2", 50051))
REFUSED = Reply(Code.UNAVAILABLE, Origin.TRANSPORT, "connection refused")
DENIED = Reply(Code.PERMISSION_DENIED, Origin.SERVER, "no")


def test_a_backend_keeps_its_counts_when_it_leaves_and_comes_back() -> None:
    tally = Tally()
    first = tally.backend(A)
    tally.add_ok(first, 1000, 900, 100)
    assert tally.backend(A) is first
    assert [row.address for row in tally] == ["10.0.0.1:50051"]
    assert tally.backend(Identity(A.key, B.endpoint)) is not first


def test_ok_calls_count_for_their_backend_and_in_total() -> None:
    tally = Tally()
    a, b = tally.backend(A), tally.backend(B)
    tally.add_ok(a, 1000, 900, 100)
    tally.add_ok(b, 3000, 2000, 1000)
    assert (a.ok, b.ok, tally.ok, tally.completed) == (1, 1, 2, 2)
    assert (a.latency.max_us, b.latency.max_us, tally.latency.total_us) == (1000, 3000, 4000)
    assert (tally.service_time.total_us, tally.wait.total_us) == (2900, 1100)
    assert tally.codes == {Code.OK: 2}


def test_a_folded_batch_counts_like_single_calls() -> None:
    folded, single = Tally(), Tally()
    row = folded.backend(A)
    durations = [120, 300, 300, 7000]
    for us in durations:
        row.latency.counts[bucket_of(us)] += 1
        folded.latency.counts[bucket_of(us)] += 1
        single.add_ok(single.backend(A), us, us, 0)
    row.fold(len(durations), sum(durations), min(durations), max(durations))
    folded.fold(len(durations), sum(durations), min(durations), max(durations))
    for mine, theirs in ((row, single.backend(A)), (folded, single)):
        assert mine.ok == theirs.ok
        assert mine.latency.counts == theirs.latency.counts
        assert mine.latency.mean_us == theirs.latency.mean_us


def test_errors_stay_out_of_the_latency_of_ok_calls_and_wait_counts_what_was_written() -> None:
    tally = Tally()
    tally.failed(tally.backend(A), REFUSED)
    tally.failed(tally.backend(A), DENIED, wait_us=70)
    assert (tally.latency.total, tally.service_time.total, tally.wait.total) == (0, 0, 1)


def test_codes_come_with_ok_first_and_then_the_most_frequent() -> None:
    tally = Tally()
    a = tally.backend(A)
    tally.failed(a, DENIED)
    tally.failed(a, REFUSED)
    tally.failed(a, REFUSED)
    tally.add_ok(a, 10, 10, 0)
    assert list(tally.codes.items()) == [(Code.OK, 1), (Code.UNAVAILABLE, 2), (Code.PERMISSION_DENIED, 1)]
    assert a.codes == tally.codes
    assert (a.errors, a.completed, tally.errors) == (3, 4, 3)
    assert Tally().codes == {}


def test_a_reply_that_failed_a_check_is_an_error_whose_code_is_ok() -> None:
    tally = Tally()
    backend = tally.backend(Identity("a", Endpoint("a", 1)))
    tally.add_ok(backend, 1, 1, 1)
    tally.failed(backend, Reply(Code.OK, Origin.CLIENT, "check failed: resp.code == 3"))
    tally.failed(backend, Reply(Code.UNAVAILABLE))
    assert (tally.ok, tally.errors) == (1, 2)
    assert list(tally.codes.items()) == [(Code.OK, 2), (Code.UNAVAILABLE, 1)]
    assert list(backend.codes.items()) == [(Code.OK, 2), (Code.UNAVAILABLE, 1)]


def test_a_check_is_told_as_it_was_written() -> None:
    tally = Tally()
    tally.failed(None, Reply(Code.OK, Origin.CLIENT, "check failed: resp.sequence > 100000"))
    assert [group.message for group in tally.error_groups()] == ["check failed: resp.sequence > 100000"]


def test_cancelled_calls_are_neither_ok_nor_errors() -> None:
    tally = Tally()
    tally.cancel(tally.backend(A))
    tally.cancel(None, 3)
    assert (tally.cancelled, tally.backend(A).cancelled, tally.completed) == (4, 1, 0)
    assert tally.codes == {}
    assert tally.error_groups() == ()


def test_errors_are_grouped_by_code_origin_and_message_with_counts_per_backend() -> None:
    tally = Tally()
    a, b = tally.backend(A), tally.backend(B)
    for backend in (a, b, b):
        tally.failed(backend, REFUSED)
    tally.failed(a, DENIED)
    tally.failed(a, DENIED._replace(origin=Origin.HTTP))
    first, *rest = tally.error_groups()
    assert (first.code, first.origin, first.message, first.count) == (*REFUSED[:3], 3)
    assert list(first.backends.items()) == [("10.0.0.2:50051", 2), ("10.0.0.1:50051", 1)]
    assert {group.origin for group in rest} == {Origin.SERVER, Origin.HTTP}


def test_a_call_that_never_had_a_backend_is_in_the_count_of_its_group_and_in_no_backend() -> None:
    tally = Tally()
    tally.failed(None, Reply(Code.UNAVAILABLE, Origin.CLIENT, "no backend was ready"))
    (group,) = tally.error_groups()
    assert (group.count, group.backends, tally.errors) == (1, {}, 1)


def test_ten_thousand_resets_with_a_port_each_are_one_group() -> None:
    tally = Tally()
    a = tally.backend(A)
    for port in range(20_000, 30_000):
        reason = f"read tcp 10.0.0.9:{port}->10.0.0.1:50051: connection reset by peer"
        tally.failed(a, Reply(Code.UNAVAILABLE, Origin.TRANSPORT, reason))
    (group,) = tally.error_groups()
    assert (group.count, group.message) == (10_000, "read tcp <addr>-><addr>: connection reset by peer")
    assert group.example == "read tcp 10.0.0.9:20000->10.0.0.1:50051: connection reset by peer"


def test_what_a_server_quotes_is_no_kind_of_its_own_and_what_lbctl_quotes_is() -> None:
    tally = Tally()
    for name in ("bob", "mary ann", "o'neil"):
        tally.failed(tally.backend(A), Reply(Code.NOT_FOUND, Origin.SERVER, f'user "{name}" isn\'t known'))
    for why in ("too_many_pings", "shutdown"):
        tally.failed(tally.backend(A), Reply(Code.UNAVAILABLE, Origin.TRANSPORT, f'closed: GOAWAY "{why}"'))
    assert {(group.message, group.example, group.count) for group in tally.error_groups()} == {
        ("user <text> isn't known", 'user "bob" isn\'t known', 3),
        ('closed: GOAWAY "too_many_pings"', 'closed: GOAWAY "too_many_pings"', 1),
        ('closed: GOAWAY "shutdown"', 'closed: GOAWAY "shutdown"', 1),
    }


def test_the_example_of_other_messages_is_one_of_them() -> None:
    tally = Tally()
    for letter in range(GROUPS + 5):
        tally.failed(None, Reply(Code.INTERNAL, Origin.SERVER, "x" * (letter + 1)))
    (other,) = (group for group in tally.error_groups() if group.message == OTHER)
    assert (other.count, other.example) == (5, "x" * (GROUPS + 1))


def test_messages_without_end_are_counted_as_other_messages_of_their_code() -> None:
    tally = Tally()
    a = tally.backend(A)
    for n in range(3000):
        word = "".join(chr(ord("a") + int(digit)) for digit in str(n))
        tally.failed(a, Reply(Code.INTERNAL, Origin.SERVER, f"cannot {word}"))
    tally.failed(a, DENIED)
    groups = tally.error_groups()
    assert len(groups) == GROUPS + 2
    assert (groups[0].message, groups[0].code, groups[0].count) == (OTHER, Code.INTERNAL, 3000 - GROUPS)
    assert sum(group.count for group in groups) == 3001
    assert Code.PERMISSION_DENIED in {group.code for group in groups}


def test_a_status_number_that_grpc_does_not_know_is_shown() -> None:
    tally = Tally()
    tally.failed(tally.backend(A), Reply(Code.UNKNOWN, Origin.SERVER, "odd", raw_code=42))
    tally.failed(tally.backend(A), Reply(Code.UNKNOWN, Origin.SERVER, "odd"))
    assert {group.message for group in tally.error_groups()} == {"status 42: odd", "odd"}


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("", ""),
        ("boom", "boom"),
        ("localhost:50061 refused the connection", "localhost:<port> refused the connection"),
        ("dial [::1]:50061 and [fe80::1%eth0]:7", "dial <addr> and <addr>"),
        ("ipv4:127.0.0.1:50061: refused", "ipv4:<addr>: refused"),
        ("request 6f9619ff-8b86-d011-b42d-00c04fc964ff failed", "request <id> failed"),
        ("trace 4bf92f3577b34da6a3ce929d0e0e4736 at 0xdeadbeef", "trace <id> at <id>"),
        ("deadline exceeded after 4.998s", "deadline exceeded after <time>"),
        ("slow: 12ms, 3 retries", "slow: <time>, 3 retries"),
        ("unexpected HTTP status 503", "unexpected HTTP status 503"),
        ("order 1234567 not found", "order <n> not found"),
        ("defaced facade", "defaced facade"),
        ("x" * 1000, "x" * MESSAGE_CHARS + "…"),
    ],
)
def test_what_differs_from_call_to_call_is_taken_out_of_a_message(message: str, shown: str) -> None:
    assert normalised(message) == shown


def test_a_hostile_message_costs_no_more_than_a_long_one() -> None:
    for message in ("1" * 100_000, "a1" * 50_000, "1." * 50_000, "[:" * 50_000, "a" * 100_000, "0x" * 50_000):
        assert len(normalised(message)) <= MESSAGE_CHARS + 1
        assert len(normalised(message.replace("1", '"'), quoted=True)) <= 2 * MESSAGE_CHARS + 1


def test_the_log_keeps_the_first_events_and_the_latest() -> None:
    log = EventLog(capacity=10, first=3)
    for n in range(25):
        log.add(Event(float(n), "log", None, str(n)))
    assert [event.text for event in log] == ["0", "1", "2", "18", "19", "20", "21", "22", "23", "24"]
    assert (len(log), log.dropped, log.total) == (10, 15, 25)
    assert [log[0].text, log[3].text, log[-1].text] == ["0", "18", "24"]
    assert [event.text for event in log[2:5]] == ["2", "18", "19"]
    with pytest.raises(IndexError):
        log[10]
    with pytest.raises(IndexError):
        log[-11]


def test_a_log_that_is_not_full_drops_nothing() -> None:
    log = EventLog()
    assert (len(log), list(log), log.dropped) == (0, [], 0)
    for n in range(300):
        log.add(Event(float(n), "log", None, str(n)))
    assert ([event.text for event in log], log.dropped) == ([str(n) for n in range(300)], 0)
    assert sys.getsizeof(log) < 200
