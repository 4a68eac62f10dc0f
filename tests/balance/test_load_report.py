"""Load reports: read as the protobuf library reads them, whatever a server sends."""

from __future__ import annotations

import math
from base64 import b64encode
from random import Random
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from lbctl.balance.load_report import LOAD_REPORT, LoadReport, decoded, encoded, from_metadata, metric
from lbctl.wire import header_table
from tests.balance.fleet import VECTORS

MAPS = ("request_cost", "utilization", "named_metrics")
FULL = LoadReport(0.5, 0.25, 300, {"db": 2.0}, {"disk": 0.75}, 12.5, 1.5, {"rif": 3.0, "x.y": 0.125}, 0.9)


def _message_class() -> Any:  # noqa: ANN401  # made at run time
    """OrcaLoadReport as the protobuf library makes it from its declaration."""
    file = descriptor_pb2.FileDescriptorProto(name="orca.proto", package="t", syntax="proto3")
    message = file.message_type.add(name="Report")
    kinds = descriptor_pb2.FieldDescriptorProto
    for number, name in enumerate(LoadReport._fields, 1):
        field = message.field.add(name=name, number=number, label=kinds.LABEL_OPTIONAL, type=kinds.TYPE_DOUBLE)
        if name == "rps":
            field.type = kinds.TYPE_UINT64
        if name in MAPS:
            entry = message.nested_type.add(name="".join(part.title() for part in name.split("_")) + "Entry")
            entry.options.map_entry = True
            entry.field.add(name="key", number=1, label=kinds.LABEL_OPTIONAL, type=kinds.TYPE_STRING)
            entry.field.add(name="value", number=2, label=kinds.LABEL_OPTIONAL, type=kinds.TYPE_DOUBLE)
            field.label, field.type = kinds.LABEL_REPEATED, kinds.TYPE_MESSAGE
            field.type_name = f".t.Report.{entry.name}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("t.Report"))


REPORT = _message_class()


def test_the_published_octets_are_read_and_written() -> None:
    vector = VECTORS["orca_trailer_bytes"]
    data, given = bytes.fromhex(vector["expect"]["protobuf_hex"]), vector["given"]
    report = LoadReport(
        rps_fractional=given["rps_fractional"],
        eps=given["eps"],
        application_utilization=given["application_utilization"],
    )
    assert decoded(data) == report
    assert encoded(report) == data
    text = vector["expect"]["metadata_base64"].encode()
    assert from_metadata(((b"other", b"x"), (LOAD_REPORT, text))) == report


def test_a_full_report_is_what_the_protobuf_library_reads_and_writes() -> None:
    message = REPORT(**FULL._asdict())
    assert decoded(message.SerializeToString()) == FULL
    assert REPORT.FromString(encoded(FULL)) == message


def test_octets_at_random_are_malformed_for_both_or_say_the_same() -> None:
    rng = Random(7)
    whole = REPORT(**FULL._asdict()).SerializeToString()
    agreed = 0
    for _ in range(10_000):
        data = bytearray(whole)
        for _ in range(rng.randrange(4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        if rng.random() < 0.3:
            data = data[: rng.randrange(len(data) + 1)]
        ours = decoded(bytes(data))
        try:
            message = REPORT.FromString(bytes(data))
        except DecodeError:
            continue  # stricter than we are: names that are no UTF-8, end groups
        if ours is None:
            assert any(octet & 7 in (3, 4) for octet in data)  # only groups, which nobody sends
            continue
        agreed += 1
        for name in LoadReport._fields:
            mine, theirs = getattr(ours, name), getattr(message, name)
            if name not in MAPS:
                assert repr(float(mine)) == repr(float(theirs))
            else:  # the library drops entries that have unknown fields in them
                assert {key: repr(value) for key, value in theirs.items()}.items() <= {
                    key: repr(value) for key, value in mine.items()
                }.items()
    assert agreed > 2000


@pytest.mark.parametrize("padding", [True, False])
def test_base64_may_be_padded_or_not(padding: bool) -> None:
    for size in range(3):
        report = LoadReport(named_metrics={"x" * size: 1.0})
        text = b64encode(encoded(report))
        assert from_metadata(((LOAD_REPORT, text if padding else text.rstrip(b"=")),)) == report


@pytest.mark.parametrize("value", [b"!!!!", b"MQ", b"M", b"MQAAAAAAAFlA,MQAAAAAAAFlA", b"\xff", b"MQ=A"])
def test_what_is_no_report_is_none(value: bytes) -> None:
    assert from_metadata(((LOAD_REPORT, value),)) is None


def test_replies_without_a_report_have_none_and_an_empty_one_states_nothing() -> None:
    assert from_metadata(()) is None
    assert from_metadata(((b"grpc-retry-pushback-ms", b"5"),)) is None
    assert from_metadata(((LOAD_REPORT, b""),)) == LoadReport()


def test_a_server_cannot_make_us_keep_names_without_end() -> None:
    report = decoded(encoded(LoadReport(named_metrics={str(number): 1.0 for number in range(1000)})))
    assert report is not None
    assert len(report.named_metrics) == 100


def test_metrics_are_found_by_their_names_in_configurations() -> None:
    assert metric(FULL, "mem_utilization") == 0.25
    assert metric(FULL, "named_metrics.x.y") == 0.125
    assert metric(FULL, "utilization.disk") == 0.75
    for unknown in ("named_metrics.none", "none", "none.rif", "named_metrics", "_fields", "count", ""):
        assert math.isnan(metric(FULL, unknown))


def test_the_trailer_is_the_one_that_connections_hand_over() -> None:
    assert header_table.LOAD_REPORT == LOAD_REPORT
