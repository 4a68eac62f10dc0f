from __future__ import annotations

from random import Random

from lbctl.etcd.backoff import Backoff


def test_pauses_double_to_a_limit_with_jitter_and_start_small_again() -> None:
    backoff = Backoff(Random(1), first_s=0.1, limit_s=2.0)
    ceilings = [0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0]

    pauses = [backoff.next() for _ in ceilings]

    assert all(ceiling / 2 <= pause <= ceiling for pause, ceiling in zip(pauses, ceilings, strict=True))
    backoff.reset()
    assert backoff.next() <= 0.1


def test_two_clients_do_not_retry_in_step() -> None:
    assert Backoff(Random(1)).next() != Backoff(Random(2)).next()
