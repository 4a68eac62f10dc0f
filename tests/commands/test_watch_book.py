"""What a watch remembers and tells: pure, times are given."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from lbctl.commands.watch_book import CHANGED_FOR_S, GONE_FOR_S, Book, Told
from lbctl.etcd.client import TimeToLive
from lbctl.model import Endpoint, Instance, Invalid, Service
from lbctl.rpc.health import Health, Status
from lbctl.view.watch_frame import in_rotation


def instance(port: int, weight: int | None = 1, lease: int = 0, **changes: object) -> Instance:
    made = Instance(
        key=f"/services/echo/127.0.0.1:{port}",
        service="echo",
        layout="seed",
        endpoint=Endpoint("127.0.0.1", port),
        weight=weight,
        lease=lease,
        create_revision=port,
        mod_revision=port,
    )
    return replace(made, **changes)  # type: ignore[arg-type] # any field


def service(*instances: Instance) -> Service:
    return Service("echo", "seed", "/services/echo/", instances)


def begun(*instances: Instance) -> Book:
    book = Book("echo", "/services/echo/", datetime(2026, 1, 1, tzinfo=UTC))
    book.take(service(*instances), 10, (), 0.0)
    return book


def lines(told: list[Told]) -> list[str]:
    return [f"{each.event.kind} {each.event.backend or '-'} {each.event.text}" for each in told]


def test_the_beginning_tells_where_the_registry_stands_and_who_is_there() -> None:
    book = Book("echo", "/services/echo/", datetime(2026, 1, 1, tzinfo=UTC))
    book.saw_lease(0x7587ABCDE, TimeToLive(8, 10), 0.0)
    assert lines(book.take(service(instance(1, 5, 0x7587ABCDE), instance(2, None)), 10, (), 0.0)) == [
        "resync - synced at rev 10: 2 instances",
        "joined 127.0.0.1:1 weight 5, lease ..abcde ttl 10s, there since rev 1",
        "joined 127.0.0.1:2 weight 1, no lease, there since rev 2",
    ]
    assert [event.kind for event in book.report(1.0).events] == ["resync"]


def test_a_newcomer_has_an_age_and_those_before_the_watch_have_none() -> None:
    book = begun(instance(1))
    assert lines(book.take(service(instance(1), instance(2, 3)), 11, (), 4.0)) == [
        "joined 127.0.0.1:2 weight 3, no lease (rev 2)"
    ]
    old, new = book.report(6.5).rows
    assert (old.age_s, old.seen_s) == (None, None)
    assert (new.age_s, new.seen_s) == (2.5, 2.5)
    assert (old.change, new.change) == ("", "new")
    assert book.report(4.0 + CHANGED_FOR_S).rows[1].change == ""


def test_one_that_left_stays_in_sight_for_a_while_without_a_share() -> None:
    book = begun(instance(1, 5), instance(2, 5))
    assert lines(book.take(service(instance(1, 5)), 11, (), 4.0)) == ["left 127.0.0.1:2 key deleted (rev 11)"]
    stays, gone = book.report(5.0).rows
    assert (stays.share, stays.state) == (1.0, "unknown")
    assert (gone.share, gone.state, gone.gone_s) == (None, "gone", 1.0)
    assert len(book.report(4.0 + GONE_FOR_S).rows) == 1


def test_one_whose_lease_is_gone_left_because_of_it() -> None:
    book = begun(instance(1, 5, 77))
    book.saw_lease(77, None, 3.9)
    assert lines(book.take(service(), 11, (), 4.0)) == [
        "left 127.0.0.1:1 its lease is gone (expired or revoked) (rev 11)"
    ]


def test_a_new_weight_is_told_with_the_old_one_and_moves_the_shares() -> None:
    book = begun(instance(1, 1), instance(2, 1))
    told = book.take(service(instance(1, 3, mod_revision=11), instance(2, 1)), 11, (), 4.0)
    assert lines(told) == ["weight 127.0.0.1:1 weight 1 -> 3 (rev 11)"]
    first, second = book.report(6.0).rows
    assert (first.share, second.share) == (0.75, 0.25)
    assert (first.change, second.change) == ("weight 2s", "")
    assert book.report(4.0 + CHANGED_FOR_S).rows[0].change == ""


def test_an_address_that_changes_under_its_key_is_one_that_left_and_one_that_joined() -> None:
    book = begun(instance(1))
    moved = instance(1, endpoint=Endpoint("127.0.0.1", 9), mod_revision=11)
    assert lines(book.take(service(moved), 11, (), 1.0)) == [
        "left 127.0.0.1:1 its key has another address now (rev 11)",
        "joined 127.0.0.1:9 weight 1, no lease (rev 11)",
    ]


def test_one_whose_key_is_unusable_now_left_because_of_it_and_not_by_a_deletion() -> None:
    book = begun(instance(1, 5, 77))
    book.saw_lease(77, None, 0.5)
    flaw = Invalid(instance(1).key, "seed", "bad_weight", "weight is empty")
    assert lines(book.take(service(), 11, (flaw,), 1.0)) == [
        "left 127.0.0.1:1 its key is unusable now (rev 11)",
        "log - unusable key /services/echo/127.0.0.1:1: weight is empty [bad_weight]",
    ]


def test_a_key_that_is_written_again_as_it_was_tells_nothing() -> None:
    book = begun(instance(1, 5, 77))
    assert book.take(service(instance(1, 5, 78, mod_revision=12)), 12, (), 1.0) == []


def test_other_changes_are_told_by_name() -> None:
    book = begun(instance(1, metadata={"zone": "a", "@warning": "x"}))
    changed = instance(1, metadata={"zone": "b"}, status="disabled", lease=5, mod_revision=12, warnings=("odd",))
    assert lines(book.take(service(changed), 12, (), 1.0)) == [
        "drain 127.0.0.1:1 status up -> disabled (rev 12)",
        "log 127.0.0.1:1 now under a lease (rev 12)",
        "log 127.0.0.1:1 metadata changed: zone (rev 12)",
        "log 127.0.0.1:1 odd (rev 12)",
    ]


def test_an_unusable_key_is_told_once() -> None:
    book = begun()
    flaw = Invalid("/services/echo/x", "seed", "bad_weight", "weight is empty")
    assert lines(book.take(service(), 11, (flaw,), 1.0)) == [
        "log - unusable key /services/echo/x: weight is empty [bad_weight]"
    ]
    assert book.take(service(), 12, (flaw,), 2.0) == []
    assert book.report(2.0).invalid == 1


def test_a_lost_registry_is_told_and_counted_until_it_is_back() -> None:
    book = begun(instance(1))
    assert lines([book.lost("connection closed", 5.0)]) == ["resync - registry lost: connection closed (rev 10)"]
    assert book.report(7.5).stale_s == 2.5
    assert book.log("a line", 7.5).stale_s == 2.5
    again = book.resumed(15, "127.0.0.1:2379", 8.25)
    assert lines([again]) == ["resync - synced again at rev 15 after 3.2s, by 127.0.0.1:2379"]
    assert again.stale_s is None
    assert (book.report(9.0).stale_s, book.report(9.0).revision) == (None, 15)


def test_a_store_that_was_replaced_starts_again_at_its_own_revision() -> None:
    book = begun(instance(1))
    book.lost("connection closed", 5.0)
    told = [book.reread("read again at revision 1: etcd's store was replaced", 1, 8.0)]
    told += book.take(service(), 1, (), 8.0)
    told += [book.resumed(1, "127.0.0.1:2379", 8.0)]
    assert lines(told) == [
        "resync - read again at revision 1: etcd's store was replaced",
        "left 127.0.0.1:1 key deleted (rev 1)",
        "resync - synced again at rev 1 after 3.0s, by 127.0.0.1:2379",
    ]
    assert [each.revision for each in told] == [1, 1, 1]


def test_health_is_told_when_it_is_bad_and_when_it_changes() -> None:
    book = begun(instance(1))
    place = instance(1).endpoint
    assert book.checked(place, Health(Status.SERVING, 0.0004), 1.0) is None
    assert book.report(1.0).rows[0].state == "ready"
    assert book.report(1.0).rows[0].rtt_us == 400.0
    down = book.checked(place, Health(Status.REFUSED, None, "connection refused"), 2.0)
    assert down is not None
    assert lines([down]) == ["health 127.0.0.1:1 SERVING -> REFUSED (connection refused)"]
    assert book.checked(place, Health(Status.REFUSED, None, "connection refused"), 3.0) is None
    assert (book.report(3.0).rows[0].state, book.report(3.0).rows[0].change) == ("down", "health 1s")


def test_the_slowest_answers_of_the_last_minute_are_kept() -> None:
    book = begun(instance(1))
    for t_s, rtt_s in ((1.0, 0.001), (2.0, 0.003), (3.0, None), (13.0, 0.002)):
        book.checked(instance(1).endpoint, Health(Status.SERVING if rtt_s else Status.REFUSED, rtt_s), t_s)
    assert book.report(13.0).rows[0].rtts == (3000.0, 0.0, 0.0, 0.0, 2000.0)  # of 3 s each, as it was in between
    book.checked(instance(1).endpoint, Health(Status.SERVING, 0.004), 1000.0)
    assert book.report(1000.0).rows[0].rtts == (*[2000.0] * 19, 4000.0)


def test_an_instance_without_weight_or_status_up_is_draining() -> None:
    book = begun(instance(1, 0), instance(2, 5, status="disabled"), instance(3))
    assert [row.state for row in book.report(1.0).rows] == ["draining", "draining", "unknown"]
    assert [row.share for row in book.report(1.0).rows] == [0.0, 0.0, 1.0]


def test_a_lease_runs_down_between_two_questions_and_never_below_nothing() -> None:
    book = begun(instance(1, 1, 77))
    assert book.report(0.0).rows[0].ttl_s is None
    book.saw_lease(77, TimeToLive(8, 10), 1.0)
    assert (book.report(3.5).rows[0].ttl_s, book.report(3.5).rows[0].granted_s) == (5.5, 10)
    assert book.report(60.0).rows[0].ttl_s == 0.0


def test_a_health_answer_for_one_that_left_meanwhile_is_nothing() -> None:
    book = begun(instance(1))
    book.take(service(), 11, (), 1.0)
    assert book.checked(instance(1).endpoint, Health(Status.REFUSED), 1.5) is None


def twice(port: int, key: str, revision: int, weight: int = 1) -> Instance:
    """Another key of an address."""
    made = instance(port, weight)
    return replace(made, key=f"/services/echo/{key}", create_revision=revision, mod_revision=revision)


def test_another_key_of_an_address_is_no_other_backend() -> None:
    book = begun(instance(1, 5))
    told = book.take(service(instance(1, 5), twice(1, "b", 11, weight=7)), 11, (), 4.0)
    assert lines(told) == [
        "log 127.0.0.1:1 also under /services/echo/b (rev 11)",
        "weight 127.0.0.1:1 weight 5 -> 7 (rev 11)",
    ]
    assert [each.instance and each.instance.key for each in told] == ["/services/echo/b"] * 2
    (row,) = book.report(5.0).rows
    assert (row.instance.key, row.instance.weight, row.keys, row.share) == ("/services/echo/127.0.0.1:1", 7, 2, 1.0)
    assert row.change == "weight 1s"
    told = book.take(service(instance(1, 5)), 12, (), 6.0)
    assert lines(told) == [
        "log 127.0.0.1:1 no longer under /services/echo/b: key deleted (rev 12)",
        "weight 127.0.0.1:1 weight 7 -> 5 (rev 12)",
    ]
    assert [row.keys for row in book.report(7.0).rows] == [1]


def test_a_backend_with_several_keys_joins_and_leaves_once() -> None:
    book = begun()
    keys = [twice(1, f"k{number}", 20 + number) for number in range(3)]
    assert lines(book.take(service(*keys), 22, (), 1.0)) == [
        "joined 127.0.0.1:1 weight 1, no lease, under 3 keys (rev 22)"
    ]
    assert lines(book.take(service(), 23, (), 2.0)) == [
        "left 127.0.0.1:1 all of its 3 keys are gone; of the newest: key deleted (rev 23)"
    ]
    assert [row.state for row in book.report(2.5).rows] == ["gone"]
    book.take(service(keys[0]), 24, (), 3.0)
    assert [row.state for row in book.report(3.5).rows] == ["unknown"]


def test_many_keys_that_come_and_go_at_once_are_counted() -> None:
    book = begun(instance(1))
    more = [twice(1, f"k{number}", 20 + number) for number in range(6)]
    told = lines(book.take(service(instance(1), *more), 25, (), 1.0))
    assert told[2:] == [
        "log 127.0.0.1:1 also under /services/echo/k2 (rev 25)",
        "log 127.0.0.1:1 also under 3 more keys (rev 25)",
    ]
    assert lines(book.take(service(instance(1)), 26, (), 2.0))[-1] == (
        "log 127.0.0.1:1 no longer under 3 more keys (rev 26)"
    )


def test_what_an_older_key_says_is_told_and_changes_nothing() -> None:
    newest = twice(1, "b", 11, weight=7)
    book = begun(instance(1, 5), newest)
    told = book.take(service(instance(1, 3, mod_revision=12), newest), 12, (), 4.0)
    assert lines(told) == [
        "log 127.0.0.1:1 weight 5 -> 3 under /services/echo/127.0.0.1:1, which is not its newest key (rev 12)"
    ]
    assert [row.instance.weight for row in book.report(5.0).rows] == [7]


def test_a_key_that_turns_to_another_known_address_is_told_of_both() -> None:
    book = begun(instance(1), twice(1, "b", 5), instance(2))
    moved = twice(2, "b", 5)
    told = book.take(service(instance(1), instance(2), moved), 12, (), 4.0)
    assert lines(told) == [
        "log 127.0.0.1:1 no longer under /services/echo/b: its key has another address now (rev 12)",
        "log 127.0.0.1:2 also under /services/echo/b (rev 12)",
    ]


def test_events_have_no_secret_of_a_key() -> None:
    book = begun(instance(1))
    flaw = Invalid("/x/tri%3A%2F%2Fh%3Ftoken%3Dhunter2", "dubbo", "no_port", "no port")
    told = lines(book.take(service(instance(1), twice(1, "b?token=hunter2", 11)), 11, (flaw,), 4.0))
    assert told == [
        "log 127.0.0.1:1 also under /services/echo/b?token=*** (rev 11)",
        "log - unusable key /x/tri%3A%2F%2Fh%3Ftoken%3D***: no port [no_port]",
    ]


def test_one_that_speaks_another_protocol_has_no_share_and_is_not_waited_for() -> None:
    book = begun(instance(1), instance(2, protocol="http"))
    book.checked(instance(1).endpoint, Health(Status.SERVING, 0.001), 1.0)
    report = book.report(2.0)
    assert [(row.state, row.share) for row in report.rows] == [("ready", 1.0), ("not_grpc", 0.0)]
    assert in_rotation(report) == (1, 1)
