from __future__ import annotations

import asyncio

import pytest

from lbctl.demo.etcd_server import EtcdServer
from lbctl.errors import RegistryError
from lbctl.etcd.client import Etcd
from lbctl.etcd.config import EtcdConfig
from lbctl.etcd.events import Listing
from lbctl.etcd.failures import Compacted, LeaseGone, SessionClosed
from lbctl.etcd.stubs import pb

pytestmark = pytest.mark.e2e


async def put_many(etcd: Etcd, keys: list[bytes]) -> None:
    for first in range(0, len(keys), 100):
        await asyncio.gather(*(etcd.put(key, b"v") for key in keys[first : first + 100]))


def keys_of(listing: Listing) -> list[bytes]:
    return [entry.key for entry in listing.entries]


async def test_a_key_is_written_read_and_deleted(etcd: Etcd) -> None:
    revision = await etcd.put(b"/k", b"v")

    entry = await etcd.get(b"/k")

    assert entry is not None
    assert (entry.key, entry.value, entry.lease, entry.mod_revision) == (b"/k", b"v", 0, revision)
    assert await etcd.delete(b"/k")
    assert not await etcd.delete(b"/k")
    assert await etcd.get(b"/k") is None


@pytest.mark.parametrize("prefix", [b"", b"/p\xff", b"\xff\xff", "/услуги/".encode(), b"/s/demo/", b"/none/"])
async def test_a_prefix_returns_its_keys_and_no_others(etcd: Etcd, prefix: bytes) -> None:
    keys = [b"/p", b"/p\xff", b"/p\xff1", b"/q", b"\xff", b"\xff\xff", b"\xff\xff\xff", b"/s/demo/1", b"/s/demo-b/1"]
    keys.append("/услуги/эхо".encode())
    await put_many(etcd, keys)

    assert keys_of(await etcd.range(prefix)) == sorted(key for key in keys if key.startswith(prefix))


async def test_a_long_listing_is_one_revision_although_keys_change_between_its_pages(etcd: Etcd) -> None:
    keys = [b"/l/%05d" % number for number in range(2500)]
    await put_many(etcd, keys)

    async def disturb() -> None:
        for key in reversed(keys[-50:]):
            await etcd.delete(key)

    listing, _ = await asyncio.gather(etcd.range(b"/l/"), disturb())

    alive = len(listing.entries)
    assert keys_of(listing) == keys[:alive]
    assert alive >= 2450
    assert max(entry.mod_revision for entry in listing.entries) <= listing.revision


async def test_a_limit_cuts_a_listing_and_says_so(etcd: Etcd) -> None:
    from lbctl.etcd.ranges import prefix_range

    await put_many(etcd, [b"/l/1", b"/l/2", b"/l/3"])

    cut = await etcd.list(prefix_range(b"/l/"), limit=2, keys_only=True)
    whole = await etcd.list(prefix_range(b"/l/"), limit=3)

    assert (keys_of(cut), cut.more, cut.entries[0].value) == ([b"/l/1", b"/l/2"], True, b"")
    assert (keys_of(whole), whole.more) == ([b"/l/1", b"/l/2", b"/l/3"], False)
    assert await etcd.count(prefix_range(b"/l/")) == 3


async def test_many_single_keys_are_read_in_order_and_missing_ones_left_out(etcd: Etcd) -> None:
    keys = [b"/m/%03d" % number for number in range(250)]
    await put_many(etcd, keys)

    found = await etcd.get_many([*keys, b"/m/none"])

    assert [entry.key for entry in found] == keys


async def test_empty_and_large_values_pass_and_too_large_ones_are_refused_in_words(etcd: Etcd) -> None:
    await etcd.put(b"/empty", b"")
    await etcd.put(b"/large", b"x" * 1_400_000)

    assert [len(entry.value) for entry in (await etcd.range(b"/")).entries] == [0, 1_400_000]
    with pytest.raises(RegistryError, match="request is too large"):
        await etcd.put(b"/larger", b"x" * 2_000_000)


async def test_a_listing_above_four_mebibytes_is_read(etcd: Etcd) -> None:
    await asyncio.gather(*(etcd.put(b"/big/%d" % number, b"x" * 1_000_000) for number in range(6)))

    assert sum(len(entry.value) for entry in (await etcd.range(b"/big/")).entries) == 6_000_000


async def test_compare_and_put_writes_only_over_the_revision_it_read(etcd: Etcd) -> None:
    assert await etcd.put_if(b"/k", b"1", 0)
    assert not await etcd.put_if(b"/k", b"2", 0)
    entry = await etcd.get(b"/k")
    assert entry is not None
    await etcd.put(b"/k", b"by another")

    assert not await etcd.put_if(b"/k", b"3", entry.mod_revision)
    assert not await etcd.delete_if(b"/k", entry.mod_revision)
    entry = await etcd.get(b"/k")
    assert entry is not None
    assert entry.value == b"by another"
    assert await etcd.delete_if(b"/k", entry.mod_revision)


async def test_a_lease_holds_its_keys_and_takes_them_along(etcd: Etcd) -> None:
    lease = await etcd.grant(30)
    await etcd.put(b"/leased", b"v", lease)

    entry, left = await etcd.get(b"/leased"), await etcd.time_to_live(lease)

    assert entry is not None
    assert entry.lease == lease
    assert left is not None
    assert 0 < left.ttl <= left.granted == 30
    assert await etcd.revoke(lease)
    assert await etcd.get(b"/leased") is None
    assert await etcd.time_to_live(lease) is None
    assert not await etcd.revoke(lease)
    with pytest.raises(LeaseGone, match="requested lease not found"):
        await etcd.put(b"/leased", b"v", lease)


async def test_reading_a_compacted_revision_is_told_apart(etcd: Etcd) -> None:
    from lbctl.etcd.ranges import prefix_range

    old = await etcd.put(b"/c", b"1")
    new = await etcd.put(b"/c", b"2")
    await etcd.session.call(lambda channel: channel.kv.Compact, pb.CompactionRequest(revision=new), repeatable=False)

    with pytest.raises(Compacted):
        await etcd.list(prefix_range(b"/c"), revision=old)
    with pytest.raises(RegistryError, match="future revision") as caught:
        await etcd.list(prefix_range(b"/c"), revision=new + 1000)
    assert not isinstance(caught.value, Compacted)


async def test_status_tells_version_and_leader(etcd: Etcd) -> None:
    status = await etcd.status()

    assert status.endpoint == etcd.endpoints[0]
    assert status.version.startswith("3.")
    assert status.has_leader


async def test_closing_the_client_ends_its_calls_with_an_error_and_not_with_a_cancellation(
    etcd_server: EtcdServer,
) -> None:
    client = Etcd(EtcdConfig((etcd_server.endpoint,)))
    calls = [asyncio.create_task(client.range(b"")) for _ in range(50)]
    await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
    await client.close()

    ends = await asyncio.gather(*calls, return_exceptions=True)

    assert all(isinstance(end, Listing | SessionClosed) for end in ends)
    with pytest.raises(SessionClosed):
        await client.get(b"/k")
