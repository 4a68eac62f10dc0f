"""What happened on connections: nothing where all went well, what matters by default, all of it on request."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lbctl.load.wires import untold
from lbctl.stats.report import Report, Wait, Wire
from lbctl.view.connections import connection_lines
from lbctl.view.pages import connections_page
from lbctl.view.run_document import run_document
from lbctl.view.summary import summary
from lbctl.view.theme import PLAIN, UNICODE, Look
from lbctl.view.ui import Ui
from tests.view.sample import open_loop, sample, streaming, troubled
from tests.view.test_document import validate

LOOK = Look(PLAIN, UNICODE)
QUIET = Wire(sockets=3, opened=3, bytes_in=10, bytes_out=10, settings=3, replies_per_read=1.0, header_cache_hit=0.9)


def test_connections_that_went_well_are_no_section() -> None:
    report = sample(3, wire=QUIET, waits={"slot": Wait(4, 0.001)})
    assert connection_lines(report, LOOK, whole=False) == []
    assert "Connections" not in summary(report)


def test_everything_is_told_on_request() -> None:
    report = sample(3, wire=QUIET, waits={"slot": Wait(4, 0.001)})
    assert connection_lines(report, LOOK, whole=True) == [
        "  sockets   3 opened  3 open",
        "  waits     slot 4 calls, 0.1% of the time",
        "  bytes     10 in  10 out  1.0 replies per read",
        "  headers   HPACK blocks seen before 90.0%",
        "  frames    settings 3",
    ]


def test_what_an_engine_does_not_count_is_not_zero() -> None:
    report = sample(3, wire=Wire(sockets=3, opened=3))
    assert connection_lines(report, LOOK, whole=True) == ["  sockets   3 opened  3 open"]


def test_connections_that_lbctl_closed_are_nothing_to_worry_about() -> None:
    report = sample(3, wire=replace(QUIET, closed={"by lbctl": 2}))
    assert connection_lines(report, LOOK, whole=False) == []
    lines = connection_lines(replace(report, wire=replace(QUIET, closed={"reset": 1})), LOOK, whole=False)
    assert lines == ["  sockets   3 opened  3 open", "  closed    reset 1"]


def test_words_of_a_peer_are_cleaned() -> None:
    report = sample(3, wire=replace(QUIET, goaways={'NO_ERROR "\x1b[2J"': 1}))
    text = summary(report)
    assert "\x1b" not in text
    assert "\\x1b[2J" in text


def test_the_document_holds_what_the_report_holds() -> None:
    document = validate(run_document(troubled()), "run")
    wire = document["wire"]
    assert wire["closed"] == {"by peer": 4, "keepalive timeout": 2, "by lbctl": 3}
    assert wire["retries"] == {"refused": 31, "goaway": 4}
    assert wire["waits"]["slot"] == {"calls": 4100, "share": 0.37}
    assert (wire["batch_mean"], wire["paused_ms"], wire["late_ok"]) == (31.4, 2500.0, 17)
    one = document["backends"][0]["wire"]
    assert one["sockets"] == 1
    assert "retries" not in one
    assert "waits" not in one


def test_the_document_of_an_open_loop_tells_how_exact_its_starts_were() -> None:
    document = validate(run_document(open_loop()), "run")
    assert (document["load"]["mode"], document["load"]["rps"], document["load"]["concurrency"]) == ("open", 520.0, None)
    assert document["generator"]["late_starts"] == 92
    assert document["generator"]["start_ms"]["p50"] == 0.026


def test_the_document_of_a_streaming_method_counts_messages() -> None:
    document = validate(run_document(streaming()), "run")
    assert document["streams"]["received"] == 62_000
    assert (document["streams"]["sent_per_s"], document["streams"]["received_per_s"]) == (2562.0, 5124.0)
    assert document["streams"]["per_call"] == {"min": 8, "mean": 10.02, "max": 12}
    assert document["streams"]["gap_ms"]["p50"] == pytest.approx(1.0, rel=0.01)
    assert validate(run_document(sample(3, end_reason="completed")), "run")["streams"] is None


def test_the_page_of_connections_has_the_streams_too() -> None:
    lines = connections_page(streaming(), Ui(), 20, 80, LOOK)
    assert lines[2].startswith("─ STREAMS ─")
    assert "  sent      31,000 messages (2,562/s)    5 per call" in lines
    assert not any("STREAMS" in line for line in connections_page(sample(3), Ui(), 20, 80, LOOK))


def test_the_document_has_null_where_an_engine_cannot_know_and_counts_where_it_can() -> None:
    seen = Wire(sockets=3, opened=4, bytes_in=10, closed={"reset": 1}, untold=untold("grpcio", "smooth_wrr"))
    tapped = replace(seen, untold=untold("grpcio", "grpc:round_robin"))
    report = sample(1, wire=seen, end_reason="completed")
    report = replace(report, backends=tuple(replace(row, wire=tapped) for row in report.backends))
    document = validate(run_document(report), "run")
    whole, one = document["wire"], document["backends"][0]["wire"]
    hidden = {"pings_sent", "late_frames", "protocol_errors", "blocked_writes", "paused_ms"}
    neither = {"header_cache_hit", "batch_mean", "stream_limit"}  # nothing was read, no limit was heard of
    assert {name for name, value in one.items() if value is None} == hidden | neither
    more = {"goaways", "rst_sent", "pings", "settings", "anomalies", "bytes_in", "bytes_out"}
    assert {name for name, value in whole.items() if value is None} == hidden | neither | more
    assert (whole["opened"], whole["closed"], one["bytes_in"], one["pings"]) == (4, {"reset": 1}, 10, 0)


def test_the_own_connections_know_everything() -> None:
    assert untold("wire", "smooth_wrr") == frozenset()


def with_wires(number: int) -> Report:
    rows = sample(number).backends
    wire = Wire(sockets=4, opened=6, closed={"by peer": 1, "reset \x1b[2J": 1}, stream_limit=100, waiting=7)
    return replace(sample(number), backends=(replace(rows[0], wire=wire), *rows[1:]))


def test_the_page_of_connections_has_a_line_for_each_backend() -> None:
    lines = connections_page(with_wires(3), Ui(), 20, 80, LOOK)
    assert lines[2].startswith("─ BACKENDS ─")
    assert lines[3:5] == [
        "  ADDRESS          OPEN OPENED LIMIT WAITING  CLOSED",
        "  10.0.0.11:50051     4      6   100       7  by peer 1  reset \\x1b[2J 1",
    ]
    assert lines[5].split() == ["10.0.0.12:50051", "0", "0", "-", "0", "-"]


def test_backends_that_do_not_fit_on_the_page_of_connections_are_counted() -> None:
    lines = connections_page(with_wires(12), Ui(), 10, 80, LOOK)
    assert len(lines) == 10
    assert lines[-1] == "  7 more"
    assert not any("BACKENDS" in line for line in connections_page(with_wires(12), Ui(), 4, 80, LOOK))
