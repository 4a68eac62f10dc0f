"""Weights written into a real etcd, by hand and by scripted looks; leases and everybody else's writes stay."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence

import pytest

from lbctl.balance.adjuster import Sample
from lbctl.cli.layouts import WRITERS
from lbctl.clock import SystemClock
from lbctl.commands.rewriting import LostRace, Where, registered, write
from lbctl.commands.weight import Wish, left_in_rotation, planned, report
from lbctl.commands.weight_auto import Auto, Saved, run
from lbctl.discovery.codecs.registration import Registration, Wanted
from lbctl.discovery.registering import has_weights, registration
from lbctl.discovery.weight_report import WeightReport
from lbctl.errors import ExitCode, NotFound, UsageError
from lbctl.etcd.client import Etcd
from lbctl.model import Endpoint

pytestmark = pytest.mark.e2e

A, B = "127.0.0.1:1", "127.0.0.1:2"
KEYS = {A: f"/services/echo/{A}", B: f"/services/echo/{B}"}
BAD = Sample(100, 50, 50 * 0.05)  # halves
FINE = Sample(100, 0, 100 * 0.05)  # doubles
ECHO = Where("echo")


async def register(etcd: Etcd, weights: Mapping[str, int], lease: int = 0) -> None:
    for address, weight in weights.items():
        await etcd.put(KEYS[address].encode(), f"{address}|{weight}".encode(), lease)


async def values(etcd: Etcd) -> list[str]:
    return [entry.value.decode() for entry in (await etcd.range(b"/services/echo/")).entries]


async def revision(etcd: Etcd) -> int:
    return (await etcd.status()).revision


async def rewrite(etcd: Etcd, *wishes: Wish) -> int:
    return await write(etcd, planned(await registered(etcd, ECHO), wishes))


def spelled(layout: str, weight: int, lease: int = 0) -> Registration:
    return registration(layout, Wanted("echo", Endpoint("127.0.0.1", 1), weight, lease=lease))


@pytest.mark.parametrize("layout", [layout for layout in WRITERS if has_weights(layout)])
async def test_a_weight_is_written_in_every_layout_under_the_lease_that_is_there(etcd: Etcd, layout: str) -> None:
    lease = await etcd.grant(60)
    key, value = spelled(layout, 5, lease)
    await etcd.put(key, value, lease)

    await rewrite(etcd, Wish(A, 3))

    entry, left = await etcd.get(key), await etcd.time_to_live(lease)
    assert entry is not None
    assert (entry.value, entry.lease) == (spelled(layout, 3, lease).value, lease)
    assert left is not None
    assert 0 < left.ttl <= 60
    (instance,) = (await registered(etcd, ECHO)).service.instances
    assert instance.weight == 3


async def test_several_weights_are_one_revision_and_others_stay(etcd: Etcd) -> None:
    await register(etcd, {A: 5, B: 1})
    await etcd.put(b"/services/echo/127.0.0.1:3", b"127.0.0.1:3|1")
    before = await revision(etcd)

    assert await rewrite(etcd, Wish(B, 2), Wish(A, 7)) == before + 1

    assert await values(etcd) == [f"{A}|7", f"{B}|2", "127.0.0.1:3|1"]


async def test_a_weight_that_is_there_already_is_not_written(etcd: Etcd) -> None:
    await register(etcd, {A: 5, B: 1})
    before = await revision(etcd)

    await rewrite(etcd, Wish(A, 5))

    assert await revision(etcd) == before


async def test_more_instances_than_one_transaction_takes_are_all_written(etcd: Etcd) -> None:
    wishes = [Wish(f"10.0.0.1:{port}", 2) for port in range(1, 251)]
    for where, weight in wishes:
        await etcd.put(f"/services/echo/{where}".encode(), f"{where}|{weight - 1}".encode())

    await rewrite(etcd, *wishes)

    assert {value.rpartition("|")[2] for value in await values(etcd)} == {"2"}


async def test_a_lost_race_writes_nothing_and_tells_both_values(etcd: Etcd) -> None:
    await register(etcd, {A: 5, B: 1})
    plan = planned(await registered(etcd, ECHO), [Wish(A, 7), Wish(B, 7)])
    read = plan[1].read.mod_revision
    await register(etcd, {B: 9})

    with pytest.raises(LostRace) as caught:
        await write(etcd, plan)

    assert caught.value.exit_code is ExitCode.CHECK_FAILED
    assert str(caught.value).split("\n") == [
        "a key changed since it was read: nothing was written",
        f"{KEYS[B]}: read {B}|1 at revision {read}, now {B}|9 at revision {read + 1}; wanted {B}|7",
    ]
    assert await values(etcd) == [f"{A}|5", f"{B}|9"]


async def test_an_instance_that_left_is_not_brought_back(etcd: Etcd) -> None:
    await register(etcd, {A: 5, B: 1})
    plan = planned(await registered(etcd, ECHO), [Wish(B, 7)])
    await etcd.delete(KEYS[B].encode())

    with pytest.raises(LostRace, match="it is gone"):
        await write(etcd, plan)

    assert await values(etcd) == [f"{A}|5"]


async def test_an_unknown_address_is_told_with_those_there_are(etcd: Etcd) -> None:
    await register(etcd, {A: 5, B: 1})
    with pytest.raises(NotFound, match=r'127\.0\.0\.1:9 is not an instance of "echo"') as caught:
        planned(await registered(etcd, ECHO), [Wish("127.0.0.1:9", 1)])
    assert caught.value.hint == f"there are {A}, {B}"


async def test_an_address_under_two_keys_needs_the_key(etcd: Etcd) -> None:
    await register(etcd, {A: 5})
    await etcd.put(b"/services/echo/twin", f"{A}|5".encode())
    found = await registered(etcd, ECHO)
    with pytest.raises(NotFound, match="registered under 2 keys") as caught:
        planned(found, [Wish(A, 1)])
    assert caught.value.hint == f"give the key: {KEYS[A]}, /services/echo/twin"

    await write(etcd, planned(found, [Wish("/services/echo/twin", 1)]))

    assert await values(etcd) == [f"{A}|5", f"{A}|1"]


async def test_two_weights_for_one_instance_are_refused(etcd: Etcd) -> None:
    await register(etcd, {A: 5})
    with pytest.raises(UsageError, match="is given two weights"):
        planned(await registered(etcd, ECHO), [Wish(A, 1), Wish(KEYS[A], 2)])


async def test_metadata_without_a_place_for_a_weight_is_told_by_key(etcd: Etcd) -> None:
    await etcd.put(b"team/echo/a", b'{"Op":0,"Addr":"127.0.0.1:1","Metadata":"blue"}')
    with pytest.raises(UsageError, match="team/echo/a: Metadata is not an object"):
        planned(await registered(etcd, ECHO), [Wish(A, 1)])


async def test_the_report_has_shares_before_and_after(etcd: Etcd) -> None:
    await register(etcd, {A: 3, B: 1})
    found = await registered(etcd, ECHO)
    plan = planned(found, [Wish(A, 0)])

    (row,) = report(found, plan, SystemClock().wall()).rows

    assert (row.weight, row.proposed, row.share, row.share_proposed) == (3, 0, 0.75, 0.0)
    assert left_in_rotation(found, plan) == 1


class Scripted:
    """A meter that measures what a test says, one look after the other, and then is interrupted."""

    def __init__(self, *looks: Mapping[str, Sample]) -> None:
        self.signal: int | None = None
        self.method: str | None = "pkg.Svc/Call"
        self._looks = list(looks)

    async def look(self) -> Mapping[str, Sample] | None:
        if not self._looks:
            self.signal = signal.SIGINT
            return None
        return {KEYS[address]: sample for address, sample in self._looks.pop(0).items()}


class Shown(list[WeightReport]):
    """The reports of a run, with what else was said."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    @property
    def states(self) -> list[str]:
        return [each.state for each in self]

    def proposed(self, address: str) -> list[int]:
        return [row.proposed for each in self for row in each.rows if row.address == address]


async def looked(etcd: Etcd, request: Auto, meter: Scripted | Saved) -> tuple[int, Shown]:
    shown = Shown()
    ended = await run(etcd, SystemClock(), request, meter, shown.append, shown.notes.append)
    return ended, shown


def going_on(*, apply: bool = True, confirm: int = 1, window_s: float = 0.001) -> Auto:
    return Auto(ECHO, window_s=window_s, every_s=0.001, confirm=confirm, apply=apply)


async def test_one_look_without_apply_writes_nothing(etcd: Etcd) -> None:
    await register(etcd, {A: 4, B: 4})
    before = await revision(etcd)

    ended, shown = await looked(etcd, Auto(ECHO), Saved({KEYS[A]: BAD, KEYS[B]: FINE}, "pkg.Svc/Call"))

    assert (ended, shown.states, shown.proposed(A), shown.proposed(B)) == (0, ["dry_run"], [2], [8])
    assert await revision(etcd) == before


async def test_apply_writes_all_of_a_look_at_once_under_the_leases(etcd: Etcd) -> None:
    lease = await etcd.grant(60)
    await register(etcd, {A: 4, B: 4}, lease)
    before = await revision(etcd)

    _, shown = await looked(etcd, Auto(ECHO, apply=True), Scripted({A: BAD, B: FINE}))

    assert [(each.state, each.revision, each.method) for each in shown] == [("written", before + 1, "pkg.Svc/Call")]
    assert await values(etcd) == [f"{A}|2", f"{B}|8"]
    assert {entry.lease for entry in (await etcd.range(b"/services/echo/")).entries} == {lease}


async def test_looks_go_on_from_the_base_until_a_signal(etcd: Etcd) -> None:
    await register(etcd, {A: 4})

    ended, shown = await looked(etcd, going_on(), Scripted({A: FINE}, {A: FINE}, {A: BAD}, {A: FINE}))

    assert ended == signal.SIGINT
    assert shown.proposed(A) == [8, 8, 2, 8]
    assert shown.states == ["written", "unchanged", "written", "written"]


async def test_a_change_has_to_be_confirmed_by_the_next_look(etcd: Etcd) -> None:
    await register(etcd, {A: 4})

    _, shown = await looked(etcd, going_on(confirm=2), Scripted({A: FINE}, {A: BAD}, {A: FINE}, {A: FINE}))

    assert shown.proposed(A) == [4, 4, 4, 8]


async def test_a_window_of_several_looks_counts_all_of_them(etcd: Etcd) -> None:
    """Two looks a window: 12 errors of 200 calls are neither many nor few, 12 of 100 were many."""
    await register(etcd, {A: 4})
    some = Sample(100, 12, 88 * 0.05)

    _, shown = await looked(etcd, going_on(window_s=0.002), Scripted({A: some}, {A: FINE}, {A: FINE}, {A: FINE}))

    rows = [row.measured for each in shown for row in each.rows]
    assert [(row.requests, row.errors) for row in rows if row] == [(100, 12), (200, 12), (200, 0), (200, 0)]
    assert shown.proposed(A) == [2, 4, 8, 8]


class Overtaken(Scripted):
    """A meter during whose every look somebody writes a weight."""

    def __init__(self, etcd: Etcd, weights: Sequence[int], *looks: Mapping[str, Sample]) -> None:
        super().__init__(*looks)
        self._etcd = etcd
        self._weights = list(weights)

    async def look(self) -> Mapping[str, Sample] | None:
        if self._weights:
            await register(self._etcd, {A: self._weights.pop(0)})
        return await super().look()


async def test_what_somebody_writes_while_it_measures_is_what_it_goes_by(etcd: Etcd) -> None:
    await register(etcd, {A: 4})

    _, shown = await looked(etcd, going_on(), Overtaken(etcd, [3, 5], {A: FINE}, {A: FINE}))

    assert shown.proposed(A) == [6, 10]
    assert [row.measured.base for each in shown for row in each.rows if row.measured] == [3, 5]
    assert await values(etcd) == [f"{A}|10"]


async def test_an_instance_that_joins_has_its_base_and_one_that_left_is_gone(etcd: Etcd) -> None:
    await register(etcd, {A: 4})
    meter = Overtaken(etcd, [], {A: FINE}, {A: FINE})
    await register(etcd, {B: 3})

    _, shown = await looked(etcd, going_on(), meter)

    assert (shown.proposed(A), shown.proposed(B)) == ([8, 8], [3, 3])


async def test_a_look_that_fails_is_told_and_the_next_one_made(etcd: Etcd) -> None:
    await register(etcd, {A: 4})

    class Emptied(Scripted):
        """A meter during whose second look the service goes."""

        async def look(self) -> Mapping[str, Sample] | None:
            found = await super().look()
            if len(self._looks) == 1:
                await etcd.delete(KEYS[A].encode())
            return found

    shown = Shown()
    returning: list[asyncio.Future[None]] = []

    def note(line: str) -> None:
        shown.notes.append(line)
        if not returning:
            returning.append(asyncio.ensure_future(register(etcd, {A: 5})))

    meter = Emptied({A: FINE}, {A: FINE}, {A: FINE})
    await run(etcd, SystemClock(), going_on(), meter, shown.append, note)

    assert shown.proposed(A) == [8, 10]
    assert shown.notes[0] == 'this look came to nothing: no service "echo" in etcd'


async def test_a_signal_while_it_waits_ends_it(etcd: Etcd) -> None:
    await register(etcd, {A: 4})
    shown = Shown()

    def show(found: WeightReport) -> None:
        shown.append(found)
        os.kill(os.getpid(), signal.SIGTERM)

    ended = await run(etcd, SystemClock(), Auto(ECHO, every_s=3600.0), Scripted({A: FINE}), show, shown.notes.append)

    assert (ended, shown.states) == (signal.SIGTERM, ["dry_run"])


async def test_the_first_look_is_not_forgiven(etcd: Etcd) -> None:
    with pytest.raises(NotFound, match='no service "echo" in etcd'):
        await looked(etcd, going_on(), Scripted({A: FINE}))


async def test_a_base_for_nobody_is_refused_before_anything_is_measured(etcd: Etcd) -> None:
    await register(etcd, {A: 4})
    meter = Scripted({A: FINE})
    with pytest.raises(NotFound, match=r"127\.0\.0\.1:9 is not an instance"):
        await looked(etcd, Auto(ECHO, bases=(("127.0.0.1:9", 1),)), meter)
    assert await meter.look() is not None
