"""Settings files of tests, and what they come to."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from lbctl.cli.config import read_config
from lbctl.cli.settings import Settings, resolve

SEED = """\
weighted_random_balancer:
  weight:
    min: 1
    max: 10
    default: 5
  health_check:
    enabled: true
    interval: "10s"
    timeout: "3s"
  dynamic_weight:
    enabled: true
    adjustment_interval: "1m"
    metrics_window: "5m"
    error_rate_thresholds:
      reduce_weight: 0.1
      increase_weight: 0.01
    latency_thresholds:
      high_latency: "100ms"
      low_latency: "10ms"
  algorithm:
    type: "hybrid"
    threshold: 20
  monitoring:
    enabled: true
    prometheus_endpoint: ":9090"
  logging:
    level: "info"
    format: "json"
"""


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def settings(text: str, tmp_path: Path, flags: Mapping[str, object] | None = None, **environ: str) -> Settings:
    write(tmp_path / "lbctl.yaml", text)
    given = {"XDG_CONFIG_HOME": str(tmp_path / "xdg")} | environ
    return resolve(flags or {}, given, read_config(flags or {}, given, tmp_path).values)
