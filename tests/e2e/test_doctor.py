"""``lbctl doctor`` and ``lbctl health`` as processes, on a demo that is well."""

from __future__ import annotations

import asyncio
import json
import signal
import sys

import pytest
from jsonschema import Draft202012Validator

from tests.e2e.conftest import Standing
from tests.e2e.runs import PATIENCE_S, ROOT, lbctl

SCHEMA = ROOT / "docs" / "reference" / "doctor.schema.json"

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


async def test_a_healthy_demo_has_no_finding(demo: Standing) -> None:
    ended = await lbctl("doctor", "--probe", "700", "-o", "json", etcd=demo.etcd)
    document = json.loads(ended.out)
    Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8"))).validate(document)
    assert document["findings"] == []
    (probe,) = document["probes"]
    assert sorted(row["picks"] for row in probe["backends"]) == [100, 100, 500]
    assert (probe["calls"], probe["ok"], probe["verdict"]) == (700, 700, "balanced")
    assert (ended.status, ended.err) == (0, "")
    assert {each["code"] for each in document["skipped"]} == {"LB501"}


async def test_a_watch_of_health_tells_every_backend_and_ends_well_at_ctrl_c(demo: Standing) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "lbctl", "health", "echo", "--watch", "--endpoints", demo.etcd),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=ROOT,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        async with asyncio.timeout(PATIENCE_S):
            lines = [(await process.stdout.readline()).decode().split() for _ in demo.backends]
            process.send_signal(signal.SIGINT)
            rest, said = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert sorted(line[1:] for line in lines) == sorted(["SERVING", "echo", address] for address in demo.backends)
    assert (process.returncode, rest, said) == (0, b"", b"")
