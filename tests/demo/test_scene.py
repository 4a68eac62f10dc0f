"""Whole scenes: a real etcd and real backend processes."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import grpc.aio
import pytest

from lbctl.demo.child import BackendFailed
from lbctl.demo.latency import Fixed
from lbctl.demo.protos import echo_pb2, echo_pb2_grpc
from lbctl.demo.scene import EtcdDied, Facts, Scene, Setup, stage
from lbctl.errors import LbctlError
from lbctl.etcd.client import Etcd
from lbctl.etcd.config import EtcdConfig
from tests.demo.watching import alive, listens, until

pytestmark = pytest.mark.e2e

SETUP = Setup(weights=(5, 1, 1), latencies=(Fixed(0.0),) * 3, error_rates=(0.0,) * 3)
ONE = Setup(weights=(5,), latencies=(Fixed(0.0),), error_rates=(0.0,))


@asynccontextmanager
async def registry(facts: Facts) -> AsyncIterator[Etcd]:
    async with Etcd(EtcdConfig((facts.etcd,))) as etcd:
        yield etcd


def pids(facts: Facts) -> list[int]:
    return [facts.etcd_pid, *(backend.pid for backend in facts.backends)]


def gone(facts: Facts) -> list[bool]:
    """Of every process, every port and the directory: whether it is gone."""
    ports = [facts.etcd, *(str(backend.endpoint) for backend in facts.backends)]
    return [
        *(not alive(pid) for pid in pids(facts)),
        *(not listens(port) for port in ports),
        not facts.data_dir.exists(),
    ]


async def first_death(scene: Scene) -> tuple[str, str]:
    async with aclosing(scene.deaths()) as deaths:
        async for death in deaths:
            return str(death.backend.endpoint), death.end
    raise AssertionError("the scene ended without a death")


async def test_every_backend_is_registered_in_the_order_of_the_weights_under_a_lease() -> None:
    async with stage(SETUP) as scene, registry(scene.facts) as etcd:
        entries = (await etcd.range(b"")).entries
        addresses = [str(backend.endpoint) for backend in scene.facts.backends]
        assert [(entry.key.decode(), entry.value.decode()) for entry in entries] == [
            (f"/services/echo/{address}", f"{address}|{weight}")
            for address, weight in zip(addresses, (5, 1, 1), strict=True)
        ]
        assert [backend.keys for backend in scene.facts.backends] == [(entry.key.decode(),) for entry in entries]
        leases = [await etcd.time_to_live(entry.lease) for entry in entries]
        assert [lease.granted for lease in leases if lease] == [10, 10, 10]


async def test_two_names_in_etcds_own_layout_make_two_keys_for_each_backend() -> None:
    async with stage(replace(ONE, layout="etcd-naming", services=("echo", "math"))) as scene:
        async with registry(scene.facts) as etcd:
            entries = (await etcd.range(b"")).entries
        address = str(scene.facts.backends[0].endpoint)
        value = f'{{"Op":0,"Addr":"{address}","Metadata":{{"weight":5}}}}'.encode()
        assert [(entry.key.decode(), entry.value) for entry in entries] == [
            (f"echo/{address}", value),
            (f"math/{address}", value),
        ]


async def test_each_address_answers_with_its_own_name() -> None:
    async with stage(SETUP) as scene:
        for backend in scene.facts.backends:
            async with grpc.aio.insecure_channel(str(backend.endpoint)) as channel:
                reply = await echo_pb2_grpc.EchoStub(channel).Say(echo_pb2.SayRequest(message="hi"))
            assert (reply.message, reply.backend, reply.sequence) == ("hi", str(backend.endpoint), 1)


async def test_nothing_is_left_behind() -> None:
    async with stage(SETUP) as scene:
        facts = scene.facts
        assert not any(gone(facts))
    assert all(gone(facts))


async def test_nothing_is_left_behind_after_an_error() -> None:
    with pytest.raises(RuntimeError):
        async with stage(ONE) as scene:
            raise RuntimeError
    assert all(gone(scene.facts))


async def test_a_backend_that_hangs_is_killed_at_the_end() -> None:
    async with stage(ONE) as scene:
        os.kill(scene.facts.backends[0].pid, signal.SIGSTOP)
    assert all(gone(scene.facts))


async def test_a_killed_backend_is_told_and_leaves_etcd_when_its_lease_expires() -> None:
    async with stage(replace(SETUP, ttl_s=1)) as scene, registry(scene.facts) as etcd:
        victim, *others = scene.facts.backends
        os.kill(victim.pid, signal.SIGKILL)
        assert await first_death(scene) == (str(victim.endpoint), "signal 9")

        async def only_the_others_are_left() -> bool:
            return [entry.key.decode() for entry in (await etcd.range(b"")).entries] == [
                key for backend in others for key in backend.keys
            ]

        await until(only_the_others_are_left, "the key of a killed backend expires")


async def test_a_backend_told_to_stop_gives_its_lease_back_first() -> None:
    async with stage(replace(SETUP, ttl_s=3600)) as scene, registry(scene.facts) as etcd:
        leaving, *others = scene.facts.backends
        os.kill(leaving.pid, signal.SIGTERM)
        assert await first_death(scene) == (str(leaving.endpoint), "exit status 0")
        assert len((await etcd.range(b"")).entries) == len(others)


async def test_leases_outlive_their_first_term() -> None:
    async with stage(replace(ONE, ttl_s=1)) as scene, registry(scene.facts) as etcd:
        [entry] = (await etcd.range(b"")).entries
        await asyncio.sleep(3)  # three times the life of a lease that nobody renews
        assert await etcd.get(entry.key) == entry


async def test_a_dead_etcd_ends_the_scene() -> None:
    async with stage(ONE) as scene:
        os.kill(scene.facts.etcd_pid, signal.SIGKILL)
        with pytest.raises(EtcdDied) as caught:
            await first_death(scene)
        assert str(caught.value) == f"the demo's etcd {scene.facts.etcd} died (signal 9)"
        assert caught.value.exit_code == 70
    assert all(gone(scene.facts))


async def test_without_an_etcd_binary_the_backends_are_taken_down_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(LbctlError, match="no etcd binary at /nowhere/etcd"):
        async with stage(replace(SETUP, etcd_binary="/nowhere/etcd")):
            pass
    assert content(tmp_path) == []
    assert children() == []


async def test_a_backend_that_cannot_start_is_told_with_its_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONHOME", "/nowhere")
    with pytest.raises(BackendFailed, match=r"^a demo backend did not start \(exit status 1: .+\)$"):
        async with stage(ONE):
            pass
    assert children() == []


def content(directory: Path) -> list[Path]:
    return list(directory.iterdir())


def children() -> list[int]:
    """Demo backends among the children of this process."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(status.read_text().rpartition(")")[2].split()[1])
            command = (status.parent / "cmdline").read_bytes()
        except OSError:
            continue
        if parent == os.getpid() and b"lbctl.demo.backend" in command:
            found.append(int(status.parent.name))
    return found
