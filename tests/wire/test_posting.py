"""Calls with contents of their own, as an independent HTTP/2 server reads them: whatever the header context does."""

from __future__ import annotations

from dataclasses import replace

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, RequestReceived, StreamEnded
from h2.settings import SettingCodes, Settings

from lbctl.model import Code
from lbctl.wire.request import Headers, Request, Stream
from lbctl.wire.session import Session
from tests.wire.pure import PureCall

BASE = Request("/pkg.Svc/One", b"", "echo", 1_000_000_000, metadata=((b"all", b"1"), (b"authorization", b"t")))
OTHER = replace(BASE, path="/pkg.Svc/Two", timeout_ns=2_000_000_000)


class Duet:
    """A session and a server that hears what is sent."""

    def __init__(self, settings: dict[SettingCodes, int] | None = None) -> None:
        self.session = Session(BASE)
        self.server = H2Connection(H2Configuration(client_side=False, header_encoding=None))
        self.server.local_settings = Settings(client=False, initial_values=dict(settings or {}))
        self.server.initiate_connection()
        self.heads: dict[int, list[tuple[bytes, bytes]]] = {}
        self.bodies: dict[int, bytes] = {}
        self.ended: list[int] = []
        self.exchange()

    def post(self, message: bytes, own: Headers = (), request: Request = BASE) -> PureCall:
        call = PureCall(0)
        self.session.post(call, request, (message,), own)
        return call

    def exchange(self) -> None:
        for _ in range(3):
            for event in self.server.receive_data(self.session.outgoing()):
                if isinstance(event, RequestReceived):
                    self.heads[event.stream_id] = [(bytes(name), bytes(value)) for name, value in event.headers]
                elif isinstance(event, DataReceived):
                    self.bodies[event.stream_id] = self.bodies.get(event.stream_id, b"") + event.data
                    self.server.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                elif isinstance(event, StreamEnded):
                    self.ended.append(event.stream_id)
            self.session.receive(self.server.data_to_send())

    def seen(self) -> list[tuple[str, str, Headers, bytes]]:
        """Path, deadline, metadata and message of every request, in order."""
        self.exchange()
        assert sorted(self.ended) == sorted(self.heads)
        found = []
        for stream, head in sorted(self.heads.items()):
            fields, body = dict(head), self.bodies[stream]
            assert int.from_bytes(body[1:5], "big") == len(body) - 5
            own = tuple((name, value) for name, value in head if name in (b"x", b"x-token", b"y"))
            assert fields[b"all"] == b"1"
            assert fields[b"authorization"] == b"t"
            found.append((fields[b":path"].decode(), fields[b"grpc-timeout"].decode(), own, body[5:]))
        return found


def test_every_call_has_its_own_message_and_metadata() -> None:
    duet = Duet()
    sent = [(b"m%d" % number * number, ((b"x", b"%d" % number), (b"x-token", b"s"))) for number in range(9)]
    for message, own in sent:
        duet.post(message, own)
    assert duet.seen() == [("/pkg.Svc/One", "1000m", own, message) for message, own in sent]
    assert duet.server.decoder.header_table.maxsize
    table = duet.server.decoder.header_table.dynamic_entries
    assert not any(bytes(name) in (b"x", b"x-token") for name, _ in table)


def test_methods_take_turns_whatever_that_does_to_the_header_table() -> None:
    duet = Duet()
    expected = []
    for number in range(20):
        request = (BASE, OTHER, replace(BASE, metadata=(*BASE.metadata, (b"y", b"2"))))[number % 3]
        duet.post(b"%d" % number, ((b"x", b"1"),), request)
        own = ((b"y", b"2"), (b"x", b"1")) if number % 3 == 2 else ((b"x", b"1"),)
        expected.append((request.path, "2000m" if request is OTHER else "1000m", own, b"%d" % number))
        if number == 10:
            duet.exchange()
            duet.server.update_settings({SettingCodes.HEADER_TABLE_SIZE: 0})
            duet.exchange()
    assert duet.seen() == expected


def test_what_finds_no_slot_waits_and_is_sent_as_it_was() -> None:
    duet = Duet({SettingCodes.MAX_CONCURRENT_STREAMS: 2})
    for number in range(3):
        duet.post(b"%d" % number, ((b"x", b"%d" % number),))
    duet.exchange()
    assert len(duet.heads) == 2
    duet.server.reset_stream(1)
    assert [(own[0][1], message) for _, _, own, message in duet.seen()] == [(b"%d" % n, b"%d" % n) for n in range(3)]


@pytest.mark.parametrize("size", [20_000, 200_000])
def test_messages_of_more_than_a_frame_or_a_window_arrive_whole(size: int) -> None:
    duet = Duet()
    duet.post(bytes(size))
    duet.post(b"small")
    for _ in range(9):
        duet.exchange()
    assert [len(message) for *_, message in duet.seen()] == [size, 5]


def test_metadata_that_the_peer_would_not_take_is_refused_and_no_other() -> None:
    duet = Duet({SettingCodes.MAX_HEADER_LIST_SIZE: 1000})
    duet.post(b"a", ((b"x", b"1"),))
    large = duet.post(b"b", ((b"x", b"1" * 900),))
    duet.post(b"c", ((b"x", b"2"),))
    assert [message for *_, message in duet.seen()] == [b"a", b"c"]
    ((call, reply),) = duet.session.replies
    assert reply.code is Code.INTERNAL
    assert "exceed the server's limit of 1000" in reply.reason
    assert call is not None
    assert large is not None


def test_a_stream_is_sent_the_general_way() -> None:
    duet = Duet()
    stream = Stream(client=True, server=True, messages=(b"",), each_once=True)
    duet.session.post(PureCall(0), replace(BASE, stream=stream), (b"a", b"bc"), ((b"x", b"1"),))
    duet.exchange()
    assert duet.bodies == {1: b"\0\0\0\0\x01a\0\0\0\0\x02bc"}
    assert (b"x", b"1") in duet.heads[1]


def test_compression_is_of_each_message() -> None:
    import gzip

    duet = Duet()
    duet.session.post(PureCall(0), replace(BASE, gzip=True), (b"a" * 100,), ())
    duet.exchange()
    body = duet.bodies[1]
    assert body[0] == 1
    assert gzip.decompress(body[5:]) == b"a" * 100
