"""Runs of policies that go by feedback, judged at their end by playing them again, and when that cannot be done."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from random import Random

import pytest

from lbctl.balance.keys import parse_source
from lbctl.balance.policies.table import POLICIES
from lbctl.balance.probes import ProbeReply
from lbctl.load.plan import Task
from lbctl.stats.report import Report
from tests.load.rig import instance, plan
from tests.load.stage import Stage, staged, task


def feedback(requests: int = 120, policy: str = "least_conn") -> Task:
    return task(plan(concurrency=4, requests=requests), policy)


async def answered(stage: Stage, calls: int) -> None:
    """Have that many calls answered, after a millisecond each, whoever has one."""
    for _ in range(calls):
        end = stage.end(1 if stage.end(1).waiting else 2)
        await stage.do(partial(end.answer, 1))


async def ended(stage: Stage, calls: int) -> Report:
    await answered(stage, calls)
    return await stage.over()


async def test_a_run_is_not_judged_while_it_goes_on_and_its_shares_have_to_fit_at_the_end() -> None:
    async with staged(feedback()) as stage:
        await stage.drive(1, 2)
        await answered(stage, 60)
        stage.clock.advance(1.0)  # a verdict may be a little old
        before = stage.report()
        assert (before.balance.verdict, before.balance.expectation) == ("not_applicable", "feedback")
        assert [row.band for row in before.backends] == [None, None]
        after = await ended(stage, 60)
        assert after.balance.verdict in ("balanced", "skewed")
        for row in after.backends:
            assert row.band is not None
            assert 0.0 <= row.band[0] < row.band[1] <= 1.0
            assert row.band[0] < row.expected / 120 < row.band[1]
        inside = all(row.band[0] <= row.picks / 120 <= row.band[1] for row in after.backends if row.band)
        assert inside == (after.balance.verdict == "balanced")


async def test_picks_that_the_policy_would_not_have_made_are_skewed_and_the_figures_are_told() -> None:
    async with staged(feedback()) as stage:
        await stage.drive(1, 2)
        await answered(stage, 119)
        peer = next(iter(stage.run.backends.lanes.values())).peer
        peer.picks += 400
        peer.finished += 400
        number = 1 if stage.end(1).waiting else 2
        stage.end(number).answer(1)
        assert stage.driving is not None
        await stage.driving
        balance = stage.run.report().balance
        assert balance.verdict == "skewed"
        assert "simulation gives" in balance.note


async def test_the_simulation_is_made_once_however_often_the_end_is_reported() -> None:
    async with staged(feedback()) as stage:
        await stage.drive(1, 2)
        report = await ended(stage, 120)
        assert stage.report().balance is report.balance


async def test_few_calls_are_too_few() -> None:
    async with staged(feedback(requests=39)) as stage:
        await stage.drive(1, 2)
        balance = (await ended(stage, 39)).balance
        assert (balance.verdict, balance.note) == ("too_few", "39 picks are too few to judge: 40 are needed")


async def test_a_run_with_a_backend_that_came_late_cannot_be_played_again() -> None:
    async with staged(feedback()) as stage:
        await stage.drive(1)
        await answered(stage, 40)
        await stage.apply(instance(1), instance(2))
        await stage.run.backends.settled()
        balance = (await ended(stage, 80)).balance
        assert (balance.verdict, balance.note) == (
            "not_applicable",
            "no simulation of this run: backends or weights changed during it",
        )


async def barred_after(stage: Stage, calls: int) -> Report:
    """The end of a run of 240 calls in which a guard keeps the third backend out after so many answers."""
    await stage.drive(1, 2, 3)
    third = list(stage.run.backends.lanes.values())[2].peer
    answers = 0
    while answers < calls or third.in_flight:
        if answers >= calls and not third.bars:
            await stage.do(lambda: stage.run.hand.balancer.bar(third, "breaker", barred=True))
        end = stage.end(3) if stage.end(3).waiting else stage.end(1) if stage.end(1).waiting else stage.end(2)
        await stage.do(partial(end.answer, 1))
        answers += 1
    if not third.bars:
        await stage.do(lambda: stage.run.hand.balancer.bar(third, "breaker", barred=True))
    return await ended(stage, 240 - answers)


async def test_a_backend_that_a_guard_kept_out_from_the_start_is_no_part_of_the_simulation() -> None:
    async with staged(feedback(requests=240)) as stage:
        report = await barred_after(stage, 0)
        *others, third = report.backends
        assert 0 < third.picks <= 0.02 * 240
        assert third.band is None
        assert all(row.band is not None for row in others)
        assert third.address not in report.balance.note


async def test_a_run_in_which_a_guard_kept_a_backend_out_later_cannot_be_played_again() -> None:
    async with staged(feedback(requests=240)) as stage:
        report = await barred_after(stage, 60)
        assert report.balance.verdict == "not_applicable"
        assert report.balance.note.startswith("no simulation of this run: ")


async def test_a_run_whose_load_was_changed_by_hand_cannot_be_played_again() -> None:
    async with staged(feedback()) as stage:
        await stage.drive(1, 2)
        await stage.do(lambda: stage.run.hand.scale(2.0))
        balance = (await ended(stage, 120)).balance
        assert balance.note == "no simulation of this run: its load was changed by hand"


async def test_a_policy_that_goes_by_keys_and_load_is_played_again_with_keys_like_those_of_the_run() -> None:
    keys = parse_source("uniform(100)").keys(Random(1))
    async with staged(replace(feedback(policy="bounded_load"), keys=keys)) as stage:
        await stage.drive(1, 2)
        report = await ended(stage, 120)
        assert report.balance.expectation == "feedback"
        assert report.balance.verdict in ("balanced", "skewed")
        assert all(row.band is not None for row in report.backends)


async def probed(calls: int, rif: int) -> Report:
    """The end of a run of so many calls in which backends answered probes with so many requests in flight."""
    async with staged(feedback(requests=calls, policy="prequal")) as stage:
        await stage.drive(1, 2)
        balancer = stage.run.hand.balancer
        for _ in range(calls // 2):
            await answered(stage, 1)
            for peer in balancer.peers.values():
                balancer.reported(peer, ProbeReply(rif, 1_000_000), stage.clock.now_ns())
        return await ended(stage, calls - calls // 2)


@pytest.mark.parametrize(("rif", "judged"), [(2, True), (9, False)])
async def test_a_policy_that_probes_is_played_again_unless_others_were_seen_to_call_too(rif: int, judged: bool) -> None:
    report = await probed(120, rif)
    others = "no simulation of this run: backends answered its probes with other clients' calls"
    assert (report.balance.note != others) == judged
    assert (report.balance.verdict != "not_applicable") == judged


async def test_too_few_probes_do_not_show_that_others_call_too() -> None:
    balance = (await probed(39, 9)).balance
    assert (balance.verdict, balance.note) == ("too_few", "39 picks are too few to judge: 40 are needed")


@pytest.mark.parametrize("name", ["weighted_random", "smooth_wrr"])
async def test_policies_that_state_their_shares_need_no_simulation(name: str) -> None:
    async with staged(feedback(policy=name)) as stage:
        await stage.drive(1, 2)
        report = await ended(stage, 120)
        assert report.balance.verdict == "balanced"
        assert [row.band for row in report.backends] == [None, None]


async def test_the_first_call_of_a_run_is_explained_where_that_was_asked_for() -> None:
    async with staged(replace(feedback(), explain=True)) as stage:
        await stage.drive(1, 2)
        found = stage.report().explanation
        assert found is not None
        assert (found.policy, found.hash_key) == ("least_conn", None)
        assert [each.address for each in found.candidates] == ["127.0.0.1:1", "127.0.0.1:2"]
        assert found.backend in {each.address for each in found.candidates}
        assert len(found.columns) == len(found.candidates[0].figures)
        await ended(stage, 120)
        assert stage.report().explanation == found
    async with staged(feedback()) as stage:
        await stage.drive(1, 2)
        assert stage.report().explanation is None


async def test_the_policy_key_keeps_the_options_of_the_policy_the_run_started_with() -> None:
    started = POLICIES["least_request"].with_options({"choice-count": "3"})
    async with staged(replace(feedback(), policy=started)) as stage:
        await stage.drive(1, 2)
        assert (stage.report().policy, stage.report().policy_options) == ("least_request", {"choice-count": "3"})
        report = await stage.do(lambda: stage.run.hand.next_policy(1))
        assert (report.policy, report.policy_options) == ("fastest", {})
        report = await stage.do(lambda: stage.run.hand.next_policy(-1))
        assert (report.policy, report.policy_options) == ("least_request", {"choice-count": "3"})
        assert stage.texts()[-1] == "policy -> least_request choice-count=3"


async def test_policies_that_need_what_calls_do_not_have_are_left_out() -> None:
    async with staged(feedback()) as stage:
        await stage.drive(1, 2)
        seen = {(await stage.do(lambda: stage.run.hand.next_policy(1))).policy for _ in range(len(POLICIES))}
        assert seen == {name for name, policy in POLICIES.items() if not (policy.keyed or policy.wants)}


async def test_times_that_go_with_the_load_are_no_model_for_a_policy_that_goes_by_times() -> None:
    async with staged(feedback(policy="fastest")) as stage:
        await stage.drive(1, 2)
        await answered(stage, 119)
        balancer = stage.run.hand.balancer
        for peer in balancer.peers.values():
            for number in range(4000):
                balancer.strains[peer].add(number % 8, number % 8 / 1000)
        balance = (await ended(stage, 1)).balance
        assert balance.verdict == "not_applicable"
        assert balance.note.startswith("no simulation of this run: times went with the load, as where calls queue")


@pytest.mark.parametrize(("policy", "told"), [("fastest", True), ("least_request", False)])
async def test_how_times_go_with_the_load_is_asked_where_a_policy_goes_by_them(policy: str, *, told: bool) -> None:
    async with staged(feedback(policy=policy)) as stage:
        await stage.drive(1, 2)
        await ended(stage, 120)
        samples = sum(strain.samples for strain in stage.run.hand.balancer.strains.values())
        assert samples == (120 if told else 0)
