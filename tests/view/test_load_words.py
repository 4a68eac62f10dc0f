"""How an open loop is described, in one line of the summary."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from lbctl.stats.report import Load
from lbctl.view.load_words import pace_of
from tests.view.sample import sample

FOR_EVER = math.inf


@pytest.mark.parametrize(
    ("rps", "arrival", "stages", "said"),
    [
        (500.0, "constant", ((FOR_EVER, 500.0, 500.0),), "at 500/s"),
        (500.0, "poisson", ((FOR_EVER, 500.0, 500.0),), "at 500/s by chance (poisson)"),
        (500.0, "bursts:20", ((FOR_EVER, 500.0, 500.0),), "at 500/s in bursts:20"),
        (None, "recorded", (), "as recorded"),
        (None, "constant", ((30.0, 10.0, 2000.0),), "from 10/s to 2,000/s in 30s"),
        (
            None,
            "constant",
            ((1.5, 10.0, 20.0), (FOR_EVER, 20.0, 20.0)),
            "from 10/s to 20/s in 1.5s, then at 20/s",
        ),
        (
            None,
            "poisson",
            ((5.0, 1.0, 1.0), (5.0, 2.0, 2.0), (5.0, 3.0, 3.0), (5.0, 4.0, 4.0)),
            "at 1/s for 5s, then at 2/s for 5s, then 2 more stages by chance (poisson)",
        ),
    ],
)
def test_every_kind_of_schedule_is_told(
    rps: float | None, arrival: str, stages: tuple[tuple[float, float, float], ...], said: str
) -> None:
    load = Load("open", None, None, None, 1, rps, 20.0, arrival=arrival, stages=stages)
    assert pace_of(replace(sample(), load=load, rps=rps)) == said
