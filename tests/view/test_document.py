"""Documents against the schemas of docs/reference, and their numbers against hand-counted ones."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from lbctl import __version__
from lbctl.discovery.listing import Listing
from lbctl.etcd.client import TimeToLive
from lbctl.model import Code, Endpoint, Event, Instance, Invalid, Origin, Registry, Service
from lbctl.rpc.health import Health, Status
from lbctl.stats.histogram import Histogram
from lbctl.stats.outcome import Outcome
from lbctl.stats.report import BackendRow, Balance, ErrorGroup, Generator, Load, Report
from lbctl.view.document import run_document, services_document, watch_document
from lbctl.view.figures import histogram, latency_ms
from lbctl.view.output import as_json, as_yaml

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


def validate(document: object, name: str) -> Any:  # noqa: ANN401 - a JSON document
    """Check the document as its reader gets it: after a trip through JSON."""
    schema = json.loads((REFERENCE / f"{name}.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    read = json.loads(json.dumps(document, allow_nan=False))
    Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER).validate(read)
    return read


def times(*us: int) -> Histogram:
    found = Histogram()
    for each in us:
        found.record(each)
    return found


EMPTY = Report(
    service="echo",
    method="demo.echo.v1.Echo/Say",
    policy="smooth_wrr",
    policy_options={},
    seed=7,
    load=Load("closed", 10, None, 5, 1, None, 20.0),
    started_at=datetime(2026, 1, 1, 14, 0, 0, tzinfo=timezone(timedelta(hours=2))),
    elapsed_s=0.0,
    end_reason="interrupted",
    paused=False,
    stopping=False,
    concurrency=5,
    issued=0,
    completed=0,
    ok=0,
    errors=0,
    cancelled=0,
    dropped=0,
    attempts=0,
    retries=0,
    in_flight=0,
    codes={},
    error_groups=(),
    latency=Histogram(),
    service_time=Histogram(),
    wait=Histogram(),
    balance=Balance("sequence", "too_few", None, None, None, None, None, None),
    backends=(),
    events=(),
    generator=Generator("wire", 0.0, 0.0, 0.0, ()),
)


def row(port: int, weight: int, picks: int, expected: float, latency: Histogram, errors: int = 0) -> BackendRow:
    codes = {Code.OK: picks - errors} | ({Code.UNAVAILABLE: errors} if errors else {})
    return BackendRow(
        key=f"/services/echo/127.0.0.1:{port}",
        address=f"127.0.0.1:{port}",
        weight=weight,
        state="ready",
        reason="",
        picks=picks,
        expected=expected,
        ok=picks - errors,
        errors=errors,
        cancelled=0,
        in_flight=0,
        codes=codes,
        latency=latency,
        joined_s=0.0,
        left_s=1.5 if errors else None,
    )


FULL = replace(
    EMPTY,
    elapsed_s=2.0,
    end_reason="completed",
    issued=8,
    completed=8,
    ok=7,
    errors=1,
    attempts=8,
    codes={Code.OK: 7, Code.UNAVAILABLE: 1},
    error_groups=(ErrorGroup(Code.UNAVAILABLE, Origin.TRANSPORT, "connection lost", 1, {"127.0.0.1:2": 1}),),
    latency=times(400, 400, 500, 900, 1000, 1001, 3000),
    service_time=times(300),
    wait=times(0, 0),
    balance=Balance("sequence", "balanced", 0.0, None, None, None, 1.0, None, "every count is as expected"),
    backends=(row(1, 3, 6, 6.0, times(400, 400)), row(2, 1, 2, 2.0, times(900), errors=1)),
    events=(Event(1.5, "left", "127.0.0.1:2", "left", "bad"), Event(1.6, "resync", None, "registry lost")),
    generator=Generator("wire", 0.05, 0.4, 0.2, ("the event loop was 95% busy",)),
)


def test_the_document_of_a_run_fits_its_schema() -> None:
    held = Outcome("p99<50ms", ok=True, value=3.0, unit="ms", limit=50.0)
    document = validate(run_document(replace(FULL, thresholds=(held,))), "run")
    assert document["thresholds"] == [{"expr": "p99<50ms", "value": 3.0, "unit": "ms", "limit": 50.0, "ok": True}]


def test_a_run_that_sent_nothing_fits_the_schema_and_measured_null() -> None:
    document = validate(run_document(EMPTY), "run")
    assert document["latency_ms"] is None
    assert document["service_ms"] is None
    assert document["wait_ms"] is None
    assert document["histogram"] == []
    assert document["rps"] == 0.0


def test_a_run_without_one_ok_call_has_errors_and_null_latency() -> None:
    failed = replace(FULL, ok=0, errors=8, latency=Histogram(), codes={Code.UNAVAILABLE: 8})
    document = validate(run_document(failed), "run")
    assert (document["ok"], document["errors"], document["latency_ms"]) == (0, 8, None)


def test_the_numbers_of_a_run_are_plain_and_in_the_unit_of_their_key() -> None:
    document = validate(run_document(FULL), "run")
    assert document["schema"] == "lbctl.run/v1"
    assert document["lbctl"] == __version__
    assert document["started_at"] == "2026-01-01T12:00:00Z"
    assert (document["requests"], document["ok"], document["errors"], document["rps"]) == (8, 7, 1, 4.0)
    assert document["codes"] == {"OK": 7, "UNAVAILABLE": 1}
    assert document["error_groups"] == [
        {
            "code": "UNAVAILABLE",
            "origin": "transport",
            "message": "connection lost",
            "example": "",
            "count": 1,
            "backends": {"127.0.0.1:2": 1},
        }
    ]
    first, second = document["backends"]
    assert (first["share"], first["expected_share"], first["rps"], first["left_s"]) == (0.75, 0.75, 3.0, None)
    assert (second["share"], second["errors"], second["left_s"]) == (0.25, 1, 1.5)
    lost = {"t_s": 1.6, "kind": "resync", "level": "info", "backend": None, "text": "registry lost"}
    assert document["events"][1] == lost


def test_a_document_says_where_keys_come_from_and_which_weight_counts() -> None:
    first, second = FULL.backends
    report = replace(FULL, hash_key="zipf(1.1,100000)", backends=(first, replace(second, override=0.25)))
    document = validate(run_document(report), "run")
    assert document["hash_key"] == "zipf(1.1,100000)"
    assert [row["weight_used"] for row in document["backends"]] == [first.weight, 0.25]
    assert validate(run_document(FULL), "run")["hash_key"] is None


def test_the_rate_of_a_short_run_can_be_recomputed_from_its_document() -> None:
    document: Any = run_document(replace(FULL, elapsed_s=0.0014321))
    finished = FULL.completed
    assert document["rps"] == pytest.approx(finished / document["duration_s"], rel=1e-3)


def test_shares_of_a_run_without_picks_are_null_not_zero() -> None:
    idle = replace(EMPTY, backends=(row(1, 1, 0, 0.0, Histogram()),))
    (backend,) = validate(run_document(idle), "run")["backends"]
    assert (backend["share"], backend["expected_share"], backend["latency_ms"]) == (None, None, None)


def test_the_share_of_a_backend_is_of_what_was_sent() -> None:
    picked = row(1, 1, 300, 300.0, Histogram()), replace(row(2, 1, 300, 300.0, Histogram()), given_back=200)
    backends = validate(run_document(replace(EMPTY, backends=picked)), "run")["backends"]
    assert [(each["picks"], each["attempts"], each["share"]) for each in backends] == [
        (300, 300, 0.75),
        (300, 100, 0.25),
    ]


def test_latency_is_in_milliseconds_with_exact_ends() -> None:
    figures = latency_ms(times(400, 400, 500, 900, 1000, 1001, 3000))
    assert figures is not None
    assert (figures["min"], figures["max"]) == (0.4, 3.0)
    assert figures["mean"] == pytest.approx(1.0287, abs=1e-4)
    assert figures["p50"] == pytest.approx(0.9, rel=0.01)
    assert list(figures) == ["min", "mean", "p50", "p75", "p90", "p95", "p99", "p999", "max"]


def test_a_histogram_step_counts_what_took_at_most_its_edge() -> None:
    assert histogram(times(200, 201, 500, 1000, 9000)) == [
        {"le_ms": 0.2, "count": 1},
        {"le_ms": 0.5, "count": 2},
        {"le_ms": 1.0, "count": 1},
        {"le_ms": 2.0, "count": 0},
        {"le_ms": 5.0, "count": 0},
        {"le_ms": 10.0, "count": 1},
    ]


@pytest.mark.parametrize("us", [0, 1, 2, 255, 256, 65_535, 3_600_000_000])
def test_every_recorded_duration_is_in_the_histogram(us: int) -> None:
    assert sum(step["count"] for step in histogram(times(us))) == 1


A = Instance(
    key="/services/echo/127.0.0.1:1",
    service="echo",
    layout="seed",
    endpoint=Endpoint("127.0.0.1", 1),
    weight=5,
    lease=0x7587A1B2C3D4E5F6,
    create_revision=4,
    mod_revision=9,
)
B = replace(A, key="/services/echo/b", endpoint=Endpoint("::1", 2), weight=None, lease=0, warnings=("odd",))
LISTING = Listing(
    Registry(
        20,
        (Service("echo", "seed", "/services/echo/", (A, B)),),
        (Invalid("/services/echo/c", "seed", "bad_weight", "weight is empty"),),
    ),
    leases={A.lease: TimeToLive(8, 10)},
    health={A.identity: Health(Status.SERVING, 0.0004), B.identity: Health(Status.REFUSED)},
    checked=True,
)


def test_the_document_of_services_is_exactly_this() -> None:
    assert validate(services_document(LISTING), "services") == {
        "schema": "lbctl.services/v1",
        "revision": 20,
        "services": [
            {
                "name": "echo",
                "layout": "seed",
                "prefix": "/services/echo/",
                "instances": [
                    {
                        "key": "/services/echo/127.0.0.1:1",
                        "address": "127.0.0.1:1",
                        "weight": 5,
                        "protocol": None,
                        "secure": None,
                        "metadata": {},
                        "metadata_cut": None,
                        "status": None,
                        "share": 0.833333,
                        "lease": {"id": "7587a1b2c3d4e5f6", "ttl_s": 8, "granted_s": 10},
                        "create_revision": 4,
                        "mod_revision": 9,
                        "health": "SERVING",
                        "rtt_ms": 0.4,
                        "warnings": [],
                    },
                    {
                        "key": "/services/echo/b",
                        "address": "[::1]:2",
                        "weight": None,
                        "protocol": None,
                        "secure": None,
                        "metadata": {},
                        "metadata_cut": None,
                        "status": None,
                        "share": 0.166667,
                        "lease": None,
                        "create_revision": 4,
                        "mod_revision": 9,
                        "health": "REFUSED",
                        "rtt_ms": None,
                        "warnings": ["odd"],
                    },
                ],
                "left_out": 0,
            }
        ],
        "invalid": [{"key": "/services/echo/c", "layout": "seed", "code": "bad_weight", "reason": "weight is empty"}],
        "invalid_left_out": 0,
        "other_keys": 0,
    }


def test_an_empty_registry_is_a_document_too() -> None:
    empty = {
        "schema": "lbctl.services/v1",
        "revision": 1,
        "services": [],
        "invalid": [],
        "invalid_left_out": 0,
        "other_keys": 0,
    }
    assert validate(services_document(Listing(Registry(1, ()))), "services") == empty


def test_of_one_kind_of_unusable_keys_ten_thousand_are_listed_and_the_others_counted() -> None:
    broken = tuple(Invalid(f"/services/echo/{n:05}", "seed", "bad_weight", "odd") for n in range(10_002))
    other = Invalid("/services/z", "plain", "no_port", "odd")
    document = validate(services_document(Listing(Registry(1, (), (*broken, other)))), "services")
    assert (len(document["invalid"]), document["invalid_left_out"]) == (10_001, 2)
    assert [each["key"] for each in document["invalid"][-2:]] == ["/services/echo/09999", "/services/z"]


def test_an_instance_that_says_it_is_not_up_has_no_share() -> None:
    down = replace(B, status="disabled")
    service = Service("echo", "seed", "/services/echo/", (A, down))
    document = validate(services_document(Listing(Registry(1, (service,)))), "services")
    assert [each["share"] for each in document["services"][0]["instances"]] == [1.0, 0.0]


def test_weights_of_nothing_are_shares_of_nothing() -> None:
    service = Service("echo", "seed", "/services/echo/", (replace(A, weight=0),))
    document = validate(services_document(Listing(Registry(1, (service,)))), "services")
    assert document["services"][0]["instances"][0]["share"] == 0.0


def test_yaml_and_json_hold_the_same_document() -> None:
    import yaml

    document = services_document(LISTING)
    assert yaml.safe_load(as_yaml(document)) == json.loads(as_json(document))


def test_a_watch_event_fits_its_schema() -> None:
    at = datetime(2026, 1, 1, 12, 0, 31, 204_000, tzinfo=UTC)
    event = Event(12.3456, "weight", A.address, "weight 2 -> 5", "change")
    document = validate(watch_document(event, at, "echo", 9, A), "watch")
    assert (document["at"], document["t_s"], document["instance"]["lease"]) == (
        "2026-01-01T12:00:31.204Z",
        12.346,
        "7587a1b2c3d4e5f6",
    )
    assert (document["synced"], document["stale_s"]) == (True, None)
    lost = watch_document(Event(0.0, "resync", None, "registry lost"), at, "echo", 9, stale_s=1.25)
    assert (validate(lost, "watch")["synced"], lost["stale_s"]) == (False, 1.25)
