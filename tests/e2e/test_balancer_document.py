"""The settings document of a weighted_random balancer, in real runs: each of its keys does what it says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.config_files import SEED
from tests.cli.test_config import STATIC
from tests.e2e.conftest import Standing
from tests.e2e.runs import events_of, hammer, lbctl, picks_by_weight

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def config(tmp_path: Path, *changes: tuple[str, str]) -> str:
    text = SEED
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "balancer.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


async def test_the_document_as_it_is_published_runs(demo: Standing, tmp_path: Path) -> None:
    ended = await hammer("echo", "-n", "300", "-o", "json", "--config", config(tmp_path), etcd=demo.etcd)

    assert ended.status == 0, ended.err
    found = ended.document
    assert (found["policy"], found["requests"], found["errors"]) == ("dynamic_weight", 300, 0)
    assert found["policy_options"] == {"base": "weighted_random", "base-opt": "form=hybrid+threshold=20"}
    assert found["guards"]["health-check"] == {"mode": "check"}
    assert "no effect in this version: weighted_random_balancer.monitoring.enabled" in ended.err


async def test_weights_are_used_within_its_limits_and_that_is_told(demo: Standing, tmp_path: Path) -> None:
    limits = (STATIC, ("min: 1\n", "min: 2\n"), ("max: 10\n", "max: 3\n"))
    run = ("echo", "-n", "700", "--seed", "1", "--policy", "smooth_wrr", "-o", "json")

    ended = await hammer(*run, "--config", config(tmp_path, *limits), etcd=demo.etcd)

    assert picks_by_weight(ended.document) == [(2, 200), (2, 200), (3, 300)], ended.err
    assert sorted(text for _, text in events_of(ended.document, "weight")) == [
        "registered weight 1, 2 is used",
        "registered weight 1, 2 is used",
        "registered weight 5, 3 is used",
    ]


async def test_its_algorithm_draws(demo: Standing, tmp_path: Path) -> None:
    run = ("echo", "-n", "700", "--seed", "1", "-o", "json")

    ended = await hammer(*run, "--config", config(tmp_path, STATIC), etcd=demo.etcd)

    found = ended.document
    assert (found["policy"], found["policy_options"]) == ("weighted_random", {"form": "hybrid"})
    assert (found["balance"]["expectation"], found["balance"]["verdict"]) == ("multinomial", "balanced")


async def test_weight_auto_goes_by_its_rule_and_window(demo: Standing, tmp_path: Path) -> None:
    changes = (("max: 10\n", "max: 7\n"), ('"5m"', '"500ms"'), ('"10ms"', '"1us"'))

    arguments = ("weight", "echo", "--auto", "--once", "-r", "100", "-o", "json")
    ended = await lbctl(*arguments, "--config", config(tmp_path, *changes), etcd=demo.etcd)

    assert ended.status == 0, ended.err
    rows = json.loads(ended.out)["instances"]
    assert sorted((row["base"], row["proposed"]) for row in rows) == [(1, 2), (1, 2), (5, 7)]
    assert all(10 <= row["requests"] <= 20 for row in rows), "fifty calls among three"
