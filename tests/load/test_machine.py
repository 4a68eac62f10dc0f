"""What goes on around the generator, read from the real system, and said where figures suffer from it."""

from __future__ import annotations

import gc
import os
import sys

import pytest

from lbctl.load.machine import (
    Collections,
    Vitals,
    descriptors,
    machine_of,
    on_descriptors,
    on_machine,
    vitals,
)
from lbctl.stats.report import Machine

CPUS = os.cpu_count() or 1


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_the_system_counts_what_this_process_uses() -> None:
    before = vitals()
    while vitals().own_s < before.own_s + 0.05:
        pass
    after = vitals()
    assert after.own_s - before.own_s >= 0.05
    assert after.all_s >= after.busy_s >= 0
    assert before.all_s > 0
    assert after.all_s >= before.all_s


def test_shares_are_of_all_cpus_and_this_process_is_no_other() -> None:
    before = Vitals(100.0, 50.0, 1.0, 10.0, 2.0, 5)
    after = Vitals(100.0 + 10 * CPUS, 50.0 + 6 * CPUS, 1.0 + CPUS, 10.0 + 2 * CPUS, 3.0, 8)
    found = machine_of(before, after, Collections())
    assert (found.busy, found.others, found.stolen) == pytest.approx((0.7, 0.4, 0.1))
    assert found.throttled == pytest.approx(0.1)
    assert found.faults == 3


def test_too_short_a_time_has_no_shares() -> None:
    found = machine_of(Vitals(), Vitals(0.9 * CPUS, 0.9 * CPUS, faults=2), Collections())
    assert (found.busy, found.others, found.stolen, found.throttled, found.faults) == (None, None, None, None, 2)


def test_collections_of_garbage_are_counted_from_start_to_stop() -> None:
    found = Collections()
    found.start()
    found.start()  # anew, and still counted once
    gc.collect()
    found.stop()
    gc.collect()
    assert found.count == 1
    assert 0 < found.longest_ns == found.ns
    assert not any("Collections" in repr(each) for each in gc.callbacks)


def test_a_quiet_machine_has_nothing_to_say() -> None:
    assert list(on_machine(Machine(), 1.0)) == []
    assert list(on_machine(Machine(0.95, 0.1, 0.01, 0.0, 3, 1, 0.001, 0.0009), 1.0)) == []
    assert list(on_machine(Machine(0.5, 0.4), 1.0)) == []
    assert list(on_machine(Machine(longest_s=0.019), 100.0)) == []  # against 100ms it is nothing
    assert list(on_descriptors(100, None)) == list(on_descriptors(900, 1024)) == []


def test_each_trouble_is_told_with_what_it_means() -> None:
    assert list(on_machine(Machine(0.97, 0.6, 0.12, 0.03, 120, 2, 0.06, 0.045), 5.0)) == [
        "this machine's CPUs were 97% busy, 60% with other processes: latencies include waiting for a CPU; lbctl wants"
        " a machine of its own",
        "12% of this virtual machine's CPU time went to others on its host: latencies include that",
        "the CPU limit of its container held lbctl up 3.0% of the time: latencies include that; raise the limit",
        "120 times memory had to come from disk first: latencies include that; this machine swaps",
        "collecting garbage held everything up for 45ms at once: latencies include that",
    ]
    assert list(on_descriptors(2000, 1024)) == [
        "2,000 connections are wanted and 1,024 files may be open: some fail; ulimit -n 2320 first"
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="has no such limit")
def test_the_limit_of_descriptors_is_the_soft_one() -> None:
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert descriptors() == (None if soft == resource.RLIM_INFINITY else soft)
