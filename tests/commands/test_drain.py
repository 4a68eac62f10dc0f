"""Instances drained, put back and deregistered on a real etcd: what is noted where, and that nobody is overwritten."""

from __future__ import annotations

import pytest

from lbctl.commands.deregister import left, planned, with_notes
from lbctl.commands.drain import drain, undrain
from lbctl.commands.noting import Notes, notes, tidy
from lbctl.commands.rewriting import LostRace, Registered, Where, registered, write
from lbctl.commands.turning import draining, undraining, weighing
from lbctl.commands.weight import Wish, left_in_rotation
from lbctl.errors import NotFound, UsageError
from lbctl.etcd.client import Etcd
from lbctl.model import Entry

pytestmark = pytest.mark.e2e

A, B = "127.0.0.1:1", "127.0.0.1:2"
KEYS = {A: f"/services/echo/{A}", B: f"/services/echo/{B}"}
NOTE = f"/lbctl/drained//services/echo/{A}".encode()
ECHO = Where("echo")


async def register(etcd: Etcd, lease: int = 0, **weights: int) -> None:
    for address, weight in zip((A, B), (weights.get("a"), weights.get("b")), strict=True):
        if weight is not None:
            await etcd.put(KEYS[address].encode(), f"{address}|{weight}".encode(), lease)


async def found(etcd: Etcd) -> Registered:
    return await registered(etcd, ECHO)


async def drained(etcd: Etcd, *wheres: str) -> int:
    return await write(etcd, drain(await found(etcd), wheres))


async def undrained(etcd: Etcd, *wheres: str) -> int:
    there = await found(etcd)
    return await write(etcd, undrain(there, wheres, await notes(etcd, there)))


async def values(etcd: Etcd, prefix: bytes = b"/services/") -> list[str]:
    return [entry.value.decode() for entry in (await etcd.range(prefix)).entries]


async def held(etcd: Etcd, key: bytes) -> Entry:
    entry = await etcd.get(key)
    assert entry is not None
    return entry


async def test_a_drained_instance_keeps_its_lease_and_what_it_was_is_noted_under_the_same(etcd: Etcd) -> None:
    lease = await etcd.grant(60)
    await register(etcd, lease, a=5, b=1)

    revision = await drained(etcd, A)

    assert await held(etcd, KEYS[A].encode()) == Entry(
        KEYS[A].encode(), f"{A}|0".encode(), lease, revision - 2, revision
    )
    assert await held(etcd, NOTE) == Entry(NOTE, f"{A}|5".encode(), lease, revision, revision)
    assert await values(etcd) == [f"{A}|0", f"{B}|1"]
    assert await etcd.revoke(lease)
    assert (await etcd.range(b"")).entries == (), "the note goes with its registration"


async def test_an_instance_is_put_back_with_its_weight_and_the_note_is_gone(etcd: Etcd) -> None:
    await register(etcd, a=5, b=1)
    await drained(etcd, A, B)
    assert await values(etcd) == [f"{A}|0", f"{B}|0"]

    await undrained(etcd, A, B)

    assert await values(etcd, b"") == [f"{A}|5", f"{B}|1"]


async def test_draining_twice_does_not_forget_the_weight(etcd: Etcd) -> None:
    await register(etcd, a=5)
    await drained(etcd, A)
    assert await drained(etcd, A) == 0, "nothing to write"
    await undrained(etcd, A)
    assert await values(etcd, b"") == [f"{A}|5"]


async def test_a_note_of_an_earlier_drain_does_not_outlive_a_later_weight(etcd: Etcd) -> None:
    await register(etcd, a=5)
    await drained(etcd, A)
    await register(etcd, a=9)  # by its owner
    assert await undrained(etcd, A) == 0, "it is in the rotation"
    await drained(etcd, A)
    await undrained(etcd, A)
    assert await values(etcd) == [f"{A}|9"]


async def test_a_weight_of_0_that_nobody_noted_is_not_guessed(etcd: Etcd) -> None:
    await register(etcd, a=0)
    with pytest.raises(UsageError, match="what its weight was is not kept") as caught:
        await undrained(etcd, A)
    assert caught.value.hint == f"say it: lbctl weight echo {A}=WEIGHT"


async def test_somebody_who_was_faster_is_not_overwritten_and_nothing_is_noted(etcd: Etcd) -> None:
    await register(etcd, a=5, b=1)
    plan = drain(await found(etcd), [A, B])
    await register(etcd, b=7)

    with pytest.raises(LostRace, match=f"{B}: read {B}|1 at revision"):
        await write(etcd, plan)

    assert await values(etcd, b"") == [f"{A}|5", f"{B}|7"]


async def test_all_keys_of_an_address_are_drained(etcd: Etcd) -> None:
    await register(etcd, a=5)
    await etcd.put(b"/services/echo/twin", f"{A}|3".encode())
    await drained(etcd, A)
    assert await values(etcd) == [f"{A}|0", f"{A}|0"]


async def test_more_than_a_transaction_takes_are_all_drained_with_their_notes(etcd: Etcd) -> None:
    addresses = [f"10.0.0.1:{port}" for port in range(1, 131)]
    for address in addresses:
        await etcd.put(f"/services/echo/{address}".encode(), f"{address}|2".encode())

    await drained(etcd, *addresses)

    assert {value.rpartition("|")[2] for value in await values(etcd)} == {"0"}
    assert len(await values(etcd, b"/lbctl/drained/")) == 130


async def test_a_drained_instance_is_not_counted_as_one_that_is_left(etcd: Etcd) -> None:
    for port, state in ((1, b""), (2, b"state=inactive"), (3, b"weight=0"), (4, b"")):
        await etcd.put(b"/rpcx/Arith/tcp@10.0.0.1:%d" % port, state)
    there = await registered(etcd, Where("Arith"))
    assert left_in_rotation(there, drain(there, ["10.0.0.1:1"])) == 1
    assert left_in_rotation(there, drain(there, ["10.0.0.1:1", "10.0.0.1:4"])) == 0


async def test_a_status_of_the_layout_is_used_where_there_is_one_and_nothing_is_noted(etcd: Etcd) -> None:
    key = b"/rpcx_test/Arith/tcp@10.0.0.1:8972"
    await etcd.put(key, b"group=blue&weight=7")
    arith = await registered(etcd, Where("Arith"))

    await write(etcd, drain(arith, ["10.0.0.1:8972"]))
    assert await values(etcd, b"") == ["group=blue&weight=7&state=inactive"]

    arith = await registered(etcd, Where("Arith"))
    await write(etcd, undrain(arith, ["10.0.0.1:8972"], Notes()))
    assert await values(etcd, b"") == ["group=blue&weight=7"]


async def test_notes_are_no_registrations(etcd: Etcd) -> None:
    await register(etcd, a=5)
    await drained(etcd, A)
    assert (await found(etcd)).service.prefix == "/services/echo/"


async def test_a_deregistered_key_is_deleted_with_its_note_and_others_stay(etcd: Etcd) -> None:
    lease = await etcd.grant(60)
    await register(etcd, lease, a=5, b=1)
    await drained(etcd, A)
    there = await found(etcd)
    plan = with_notes(planned(there, [A]), await notes(etcd, there))

    await write(etcd, plan)

    assert await values(etcd, b"") == [f"{B}|1"]
    assert left(there, plan) == 1
    assert await etcd.time_to_live(lease) is not None, "the lease is its owner's"


async def test_a_key_that_changed_is_not_deleted(etcd: Etcd) -> None:
    await register(etcd, a=5)
    plan = planned(await found(etcd), [A])
    await register(etcd, a=6)
    with pytest.raises(LostRace, match=r"now 127\.0\.0\.1:1\|6 at revision .*; it was to be deleted"):
        await write(etcd, plan)
    assert await values(etcd) == [f"{A}|6"]


async def test_all_keys_of_an_address_are_deleted(etcd: Etcd) -> None:
    """As a server leaves them behind that registers under a new id each time it starts."""
    for number in (1, 2, 3):
        await etcd.put(f"user.rpc/758787812345678200{number}".encode(), A.encode())
    await etcd.put(b"user.rpc/7587878123456782009", B.encode())

    await write(etcd, planned(await registered(etcd, Where("user.rpc")), [A]))

    assert await values(etcd, b"") == [B]


async def test_a_key_that_is_no_use_can_be_deleted_by_its_name(etcd: Etcd) -> None:
    await register(etcd, a=5)
    await etcd.put(b"/services/echo/x", b"127.0.0.1:3|-1")
    await write(etcd, planned(await found(etcd), ["/services/echo/x"]))
    assert await values(etcd) == [f"{A}|5"]


async def test_a_service_of_broken_keys_alone_can_be_cleaned_up(etcd: Etcd) -> None:
    await etcd.put(KEYS[A].encode(), f"{A}|-1".encode())
    there = await registered(etcd, ECHO, usable=False)
    await write(etcd, planned(there, [KEYS[A]]))
    assert await values(etcd, b"") == []


async def test_an_address_whose_key_holds_others_needs_the_key(etcd: Etcd) -> None:
    key = "/microservices/mailer/m-1"
    value = (
        b'{"id":"m-1","name":"mailer","version":"v1","metadata":{},"endpoints":["http://1.2.3.4:5","grpc://1.2.3.4:6"]}'
    )
    await etcd.put(key.encode(), value)
    there = await registered(etcd, Where("mailer"))

    with pytest.raises(UsageError, match=r"/microservices/mailer/m-1 holds 1\.2\.3\.4:5 as well"):
        planned(there, ["1.2.3.4:6"])

    (deletion,) = planned(there, [key])
    assert deletion.addresses == ("1.2.3.4:5", "1.2.3.4:6")


async def test_what_is_not_registered_is_told_with_what_is(etcd: Etcd) -> None:
    await register(etcd, a=5)
    for plan in (planned, drain):
        with pytest.raises(NotFound, match=f'{B} is not an instance of "echo"') as caught:
            plan(await found(etcd), [B])
        assert caught.value.hint == f"there are {A}"


async def test_a_note_describes_a_key_only_as_it_was_drained(etcd: Etcd) -> None:
    """Without a lease a note stays when its key is written again, deleted, or registered anew."""
    await register(etcd, a=5, b=1)
    await etcd.put(b"/services/echo/c", b"127.0.0.1:3|1")
    await drained(etcd, A, B, "/services/echo/c")
    await register(etcd, a=9)  # by its owner
    await etcd.delete(KEYS[B].encode())

    noted = await notes(etcd, await found(etcd))

    assert set(noted.standing) == {"/services/echo/c"}
    assert set(noted.stale) == set(KEYS.values())


async def test_stale_notes_are_tidied_and_those_that_stand_stay(etcd: Etcd) -> None:
    await register(etcd, a=5, b=1)
    await drained(etcd, A, B)
    await register(etcd, a=9)
    stale = (await notes(etcd, await found(etcd))).stale

    assert await tidy(etcd, stale) == 1
    assert [entry.key.decode() for entry in (await etcd.range(b"/lbctl/")).entries] == [f"/lbctl/drained/{KEYS[B]}"]


async def test_a_note_that_somebody_writes_meanwhile_is_not_tidied_away(etcd: Etcd) -> None:
    await register(etcd, a=5)
    await drained(etcd, A)
    await register(etcd, a=9)
    stale = (await notes(etcd, await found(etcd))).stale
    await drained(etcd, A)

    assert await tidy(etcd, stale) == 0
    await undrained(etcd, A)
    assert await values(etcd, b"") == [f"{A}|9"]


async def test_a_note_is_of_no_use_to_a_weight_of_0_that_somebody_wrote_since(etcd: Etcd) -> None:
    """Its owner may mean it: the weight is told and not written."""
    await register(etcd, a=5)
    await drained(etcd, A)
    await register(etcd, a=0)

    with pytest.raises(UsageError) as caught:
        await undrained(etcd, A)

    told = f"{KEYS[A]} was written since lbctl drain took it out, and its weight is 0 still: it held {A}|5 before"
    assert str(caught.value) == told
    assert caught.value.hint == f"say its weight: lbctl weight echo {A}=5"


async def test_undraining_a_key_that_its_owner_wrote_says_what_it_holds(etcd: Etcd) -> None:
    await register(etcd, a=5)
    await drained(etcd, A)
    await register(etcd, a=9)

    turning = await undraining(etcd, await found(etcd), [A])

    assert not any(each.changes for each in turning.rewrites)
    assert turning.remark == f"{KEYS[A]} was written since lbctl drain took it out: it holds {A}|9"
    assert set(turning.stale) == {KEYS[A]}


async def test_another_key_of_a_drained_address_is_told_with_what_takes_it_out(etcd: Etcd) -> None:
    twin = "/services/echo/twin"
    await register(etcd, a=5, b=1)
    await etcd.put(twin.encode(), f"{A}|3".encode())
    there = await found(etcd)

    one = await draining(etcd, there, [KEYS[A]])
    both = await draining(etcd, there, [A])
    zero = await weighing(etcd, there, [Wish(KEYS[A], 0)])

    stays = f"another key, {twin}, still has {A} in the rotation; to take it out too: lbctl"
    assert one.remark == f"{stays} drain echo {A}"
    assert zero.remark == f"{stays} weight echo {twin}=0"
    assert both.remark == ""
    assert one.undo == f"lbctl undrain echo {KEYS[A]}"
    assert zero.undo == f"lbctl weight echo {KEYS[A]}=5"
    assert both.undo == f"lbctl undrain echo {KEYS[A]} {twin}"


async def test_several_other_keys_are_told_at_once(etcd: Etcd) -> None:
    await register(etcd, a=5, b=1)
    for name, address in (("c", A), ("d", B)):
        await etcd.put(f"/services/echo/{name}".encode(), f"{address}|3".encode())
    there = await found(etcd)
    turning = await draining(etcd, there, list(KEYS.values()))
    assert turning.remark == (
        f"2 other keys, /services/echo/c, /services/echo/d, still have {A}, {B} in the rotation; "
        f"to take them out too: lbctl drain echo {A} {B}"
    )
    with pytest.raises(NotFound) as caught:
        drain(there, ["127.0.0.1:9"])
    assert caught.value.hint == f"there are {A}, {B}", "each once"


async def test_another_key_that_is_out_as_well_keeps_nothing_in(etcd: Etcd) -> None:
    await register(etcd, a=5, b=1)
    await etcd.put(b"/services/echo/twin", f"{A}|0".encode())
    assert (await draining(etcd, await found(etcd), [KEYS[A]])).remark == ""


async def test_a_weight_that_was_not_there_cannot_be_given_back(etcd: Etcd) -> None:
    await etcd.put(b"team/echo/a", b'{"Op":0,"Addr":"127.0.0.1:1","Metadata":null}')
    assert (await weighing(etcd, await found(etcd), [Wish(A, 3)])).undo == ""
