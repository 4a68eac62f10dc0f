from __future__ import annotations

from random import Random
from typing import NamedTuple

import pytest

from lbctl.balance.strain import ENOUGH, Strain
from tests.balance.fleet import Service


def strained(*samples: tuple[int, float]) -> Strain:
    found = Strain()
    for in_flight, took_s in samples:
        found.add(in_flight, took_s)
    return found


def test_a_queue_takes_longer_the_more_calls_it_has() -> None:
    loads = (1, 2, 3, 4) * 50
    queue = strained(*((load, load / 100) for load in loads))
    assert queue.swing == pytest.approx(0.2**0.5)  # standard deviation over mean: sqrt(5 / 4) / (5 / 2)
    assert strained(*((load, (5 - load) / 100) for load in loads)).swing == pytest.approx(-(0.2**0.5))


def test_times_of_its_own_do_not_go_with_the_load() -> None:
    rng = Random(1)
    free = strained(*((rng.randrange(1, 20), rng.lognormvariate(0, 0.5)) for _ in range(2000)))
    assert abs(free.swing) < 0.05
    own = strained(*zip((1, 2, 3, 4) * 50, (0.021, 0.019, 0.020, 0.022) * 50, strict=True))
    assert own.swing == pytest.approx(0.0218, abs=1e-4)


@pytest.mark.parametrize("samples", [[], [(1, 0.1)] * 100, [(1, 0.0), (2, 0.0)] * 100, [(1, 0.1), (9, 0.9)] * 40])
def test_nothing_is_said_of_too_few_samples_or_of_what_never_changed(samples: list[tuple[int, float]]) -> None:
    assert len(samples) < ENOUGH or len(set(samples)) < 3
    assert strained(*samples).swing == 0.0


class Ended(NamedTuple):
    """A call that one read ended."""

    begun_ns: int = 5_000_000
    trial_ns: int = 0


def test_calls_that_end_together_were_in_flight_together() -> None:
    service = Service("fastest", A=1, B=1)
    assert service.balancer.picker is not None  # it is built when it is asked for
    peer, told = service.peer("A"), []
    for number in range(200):
        together = number % 4 + 1
        peer.picks += together + 2
        peer.finished += together
        service.balancer.succeeded(peer, [Ended()] * together, Ended().begun_ns + together * 10_000_000)
        told.append((together + 1, together / 100))  # the others of them, and 2 that are still there
        peer.finished += 2
    strain = service.balancer.strains[peer]
    assert strain.samples == len(told)
    assert strain.swing == pytest.approx(strained(*told).swing) == pytest.approx(0.2**0.5)
