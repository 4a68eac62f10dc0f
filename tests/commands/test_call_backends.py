"""Whom single calls may go to: it is known soon, and a policy picks among them alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from lbctl.balance.policies.table import POLICIES
from lbctl.clock import SystemClock
from lbctl.commands.call_backends import CONNECTING, CallBackends
from lbctl.commands.call_picking import Balanced, Named
from lbctl.commands.reach import Reach, Reaching
from lbctl.model import Code, Endpoint, Instance, Reply, Service
from lbctl.suggestion import PLAIN
from tests.fakes import quiet_loop
from tests.rpc.servers import black_hole, refused_port, serving

__all__ = ["quiet_loop"]


def instance(endpoint: Endpoint, weight: int = 1) -> Instance:
    return Instance(f"/s/{endpoint}", "s", "seed", endpoint, weight=weight)


@asynccontextmanager
async def settled(*instances: Instance) -> AsyncIterator[CallBackends]:
    async with CallBackends(instances, Reaching(Reach(connect_timeout_s=5.0), discovered=False)) as backends:
        await backends.settle()
        yield backends


async def test_who_says_nothing_is_left_out_once_another_is_connected() -> None:
    with black_hole() as silent, refused_port() as nobody:
        async with serving() as endpoint:
            good, bad, mute = instance(endpoint), instance(nobody), instance(silent)
            async with settled(mute, bad, good) as backends:
                assert backends.ready == [good]
                assert backends.obstacles[mute.identity] is CONNECTING
                assert backends.obstacles[bad.identity].text == "refused the connection"


async def test_where_nobody_can_be_called_everybody_has_a_reason() -> None:
    with refused_port() as one, refused_port() as other:
        async with settled(instance(one), instance(other)) as backends:
            assert backends.ready == []
            refusal = backends.refusal(Service("s", "seed", "", backends.instances), "s", PLAIN)
    assert str(refusal).startswith('none of the 2 backends of "s" can be called: refused the connection (')


async def test_a_policy_picks_among_those_that_are_ready_by_their_weights() -> None:
    with refused_port() as nobody:
        async with serving() as first, serving() as second:
            a, b, gone = instance(first, 2), instance(second, 1), instance(nobody, 9)
            used = sorted((a, b, gone), key=lambda each: each.identity)
            async with settled(*used) as backends:
                policy = POLICIES["smooth_wrr"]
                chooser = Balanced(policy, used, backends, None, 1, SystemClock())
                picks = []
                for number in range(1, 4):
                    picked = chooser.pick(None)
                    assert picked is not None
                    assert (picked.number, picked.policy) == (number, "smooth_wrr")
                    assert picked.weight == ({a: 2, b: 1}[picked.instance], 3)
                    chooser.ended(Reply(Code.OK))
                    picks.append(picked.instance)
    assert sorted(picks, key=lambda each: each.identity) == sorted((a, a, b), key=lambda each: each.identity)


async def test_where_nobody_is_in_the_rotation_nobody_is_picked() -> None:
    async with serving() as endpoint:
        drained = Instance("/s/1", "s", "seed", endpoint, status="disabled")
        async with settled(drained) as backends:
            assert Balanced(POLICIES["random"], [drained], backends, None, 1, SystemClock()).pick(None) is None
            named = Named(drained).pick(None)
    assert named is not None
    assert (named.instance, named.policy, named.explanation) == (drained, "", None)
