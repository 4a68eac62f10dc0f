"""What others get of a real run: lines while it goes on, metrics over HTTP, and files in the formats of other tools."""

from __future__ import annotations

import csv
import io
import json
import re
import signal
import socket
from pathlib import Path
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator
from prometheus_client.parser import text_string_to_metric_families

from tests.e2e.conftest import Standing
from tests.e2e.runs import ROOT, check, hammer, running
from tests.view.test_otlp import collector

pytestmark = pytest.mark.e2e

ECHO = ("echo", "Echo/Say", "-d", "{}")


def lines_of(out: str) -> list[dict[str, Any]]:
    """The lines of jsonl, each valid."""
    found = [json.loads(line) for line in out.splitlines()]
    for line in found:
        name = re.fullmatch(r"lbctl\.(\w+)/v1", line["schema"])
        assert name is not None
        schema = json.loads((ROOT / "docs" / "reference" / f"{name[1]}.schema.json").read_text(encoding="utf-8"))
        Draft202012Validator(schema).validate(line)
    return found


async def test_jsonl_tells_of_a_run_while_it_goes_on_and_adds_up_to_the_run_that_is_its_last_line(
    demo: Standing,
) -> None:
    command = (*ECHO, "-r", "200", "-z", "700ms", "--interval", "200ms", "-o", "jsonl")
    done = await hammer(*command, etcd=demo.etcd)
    assert done.status == 0
    *lines, run = lines_of(done.out)
    check(run)
    samples = [line for line in lines if line["schema"] == "lbctl.sample/v1"]
    events = [line for line in lines if line["schema"] == "lbctl.event/v1"]
    assert samples
    assert [each["text"] for each in events] == [each["text"] for each in run["events"]]
    for name in ("requests", "ok", "errors", "cancelled", "dropped", "retries"):
        assert sum(each[name] for each in samples) == run[name]
    for row in run["backends"]:
        mine = [each for sample in samples for each in sample["backends"] if each["address"] == row["address"]]
        assert sum(each["attempts"] for each in mine) == row["attempts"]
        assert sum(each["ok"] for each in mine) == row["ok"]


async def test_a_reader_of_jsonl_that_leaves_ends_the_run_and_the_file_of_save_is_there(
    demo: Standing, tmp_path: Path
) -> None:
    command = (*ECHO, "-z", "60s", "-o", "jsonl", "--interval", "50ms", "--save", "run.json")
    async with running("hammer", *command, etcd=demo.etcd, cwd=tmp_path) as run:
        await run.hears("connecting")
        await run.hang_up()
        done = await run.ended()
    assert done.status == 141
    document = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    check(document)
    assert document["end_reason"] == "interrupted"


async def test_metrics_are_those_of_the_run_while_it_goes_on(demo: Standing) -> None:
    command = (*ECHO, "-z", "60s", "-c", "2", "--metrics", "127.0.0.1:0", "-o", "json")
    async with running("hammer", *command, etcd=demo.etcd) as run:
        url = (await run.hears("metrics: http://127.0.0.1:")).split()[1]
        await run.hears("event")
        async with httpx.AsyncClient(trust_env=False, timeout=20) as http:
            page = await http.get(url)
        run.send(signal.SIGINT)
        document = (await run.ended()).document
    assert page.status_code == 200
    families = {family.name: family for family in text_string_to_metric_families(page.text)}
    weights = {each.labels["server"]: each.value for each in families["grpc_load_balancer_server_weight"].samples}
    assert weights == {row["address"]: row["weight"] for row in document["backends"]}
    (info,) = families["lbctl_run_info"].samples
    assert (info.labels["service"], info.labels["seed"]) == ("echo", str(document["seed"]))


async def test_metrics_that_cannot_be_served_cost_no_run(demo: Standing) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = await hammer(*ECHO, "-n", "5", "--metrics", f"127.0.0.1:{port}", etcd=demo.etcd)
    assert (done.status, done.out) == (2, "")
    assert f"error: --metrics: cannot listen on 127.0.0.1:{port}: address already in use\n" in done.err
    assert "hint: port 0 takes one that is free\n" in done.err


@pytest.mark.parametrize(("given", "said"), [("9090", "host"), ("127.0.0.1", "no port"), ("127.0.0.1:99999", "65535")])
async def test_an_address_for_metrics_that_is_none_is_refused(given: str, said: str) -> None:
    done = await hammer("echo", "--metrics", given)
    assert done.status == 2
    assert said in done.err
    assert "connecting" not in done.err


async def test_a_run_is_pushed_to_a_collector_at_its_end_at_the_latest(demo: Standing) -> None:
    with collector() as server:
        done = await hammer(*ECHO, "-n", "70", "--otlp", server.url, "-o", "json", etcd=demo.etcd)
        *_, (_, _, _, body) = server.bodies
    assert done.status == 0
    metrics = json.loads(body)["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]
    (requests,) = (each["sum"]["dataPoints"] for each in metrics if each["name"] == "grpc_load_balancer_requests")
    assert sum(each["asDouble"] for each in requests) == done.document["requests"] == 70


async def test_csv_has_a_row_for_each_backend_and_save_is_json_whatever_the_output_is(
    demo: Standing, tmp_path: Path
) -> None:
    command = (*ECHO, "-n", "70", "-o", "csv", "--no-headers", "--save", "run.csv")
    done = await hammer(*command, etcd=demo.etcd, cwd=tmp_path)
    assert done.status == 0
    rows = list(csv.reader(io.StringIO(done.out)))
    assert sorted((row[5], row[10]) for row in rows) == sorted(zip(demo.backends, ("50", "10", "10"), strict=True))
    check(json.loads((tmp_path / "run.csv").read_text(encoding="utf-8")))


async def test_a_format_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    done = await hammer("echo", "-o", "xml")
    assert done.status == 2
    assert "hdr-log" in done.err
    assert "ghz-json" in done.err
