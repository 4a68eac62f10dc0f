"""Reading HTTP/2 as it passes by: whatever the pieces, every call is seen once and nothing else matters."""

from __future__ import annotations

from collections import Counter
from random import Random

from hpack import Encoder

from lbctl.rpc.grpcio.sniffer import ClientSide, ServerSide
from tests.wire import frames as h2


def client() -> tuple[ClientSide, list[bytes], Counter[str]]:
    seen: list[bytes] = []
    counters: Counter[str] = Counter()
    return ClientSide(b"lbctl-call", seen.append, counters), seen, counters


def head(encoder: Encoder, stream: int, number: int, *, cut: int = 0) -> bytes:
    block: bytes = encoder.encode([(":method", "POST"), (":path", "/a/b"), ("lbctl-call", str(number))])
    if not cut:
        return h2.header_frame(stream, block)
    return h2.scattered(stream, [block[:cut], b"", block[cut:]])


def test_every_call_is_seen_in_order_however_the_bytes_are_cut() -> None:
    encoder = Encoder()
    rng = Random(5)
    whole = h2.PREFACE + h2.settings()
    for number in range(1, 60):
        stream = 2 * number - 1
        whole += head(encoder, stream, number, cut=number % 3)
        whole += h2.data(stream, rng.randbytes(rng.randrange(400)), end=True) + h2.ping()
    for _ in range(20):
        side, seen, _ = client()
        at = 0
        while at < len(whole):
            size = rng.choice([1, 2, 9, 100, 5000])
            side.feed(whole[at : at + size])
            at += size
        assert seen == [str(number).encode() for number in range(1, 60)]


def test_padding_and_priority_are_no_part_of_the_block() -> None:
    side, seen, _ = client()
    block = Encoder().encode([("lbctl-call", "7")])
    payload = b"\x03" + bytes(5) + block + bytes(3)
    side.feed(h2.PREFACE + h2.frame(h2.HEADERS, 0x2C, 1, payload))
    assert seen == [b"7"]


def test_calls_without_the_header_are_nobodys() -> None:
    side, seen, _ = client()
    side.feed(h2.PREFACE + h2.header_frame(1, Encoder().encode([(":path", "/a/b")])))
    assert seen == []


def test_the_acknowledgement_of_the_settings_and_resets_are_noticed() -> None:
    side, _, counters = client()
    side.feed(h2.PREFACE + h2.settings())
    assert not side.acknowledged
    side.feed(h2.settings_ack() + h2.rst(1, 8))
    assert side.acknowledged
    assert counters == {"rst_sent: CANCEL": 1}


def test_a_block_that_does_not_decode_is_an_anomaly_and_no_exception() -> None:
    side, seen, counters = client()
    side.feed(h2.PREFACE + h2.header_frame(1, b"\xff\xff\xff\xff\xff\xff"))
    assert seen == []
    assert sum(counters.values()) == 1


def test_a_server_is_heard_greeting_resetting_leaving_and_pinging() -> None:
    counters: Counter[str] = Counter()
    server = ServerSide(counters)
    said = h2.settings() + h2.settings_ack() + h2.ping() + h2.ping(ack=True) + h2.rst(1, 7)
    for byte in said + h2.goaway(0, 11, b"too_many_pings"):
        server.feed(bytes([byte]))
    assert server.greeted
    assert server.flaw == ""
    assert counters == {
        "settings": 1,
        "pings": 1,
        "rst_received: REFUSED_STREAM": 1,
        'goaway: ENHANCE_YOUR_CALM "too_many_pings"': 1,
    }


def test_a_field_of_the_first_replies_is_found_and_looked_for_no_longer() -> None:
    encoder = Encoder()
    server = ServerSide(Counter(), b"endpoint-load-metrics-bin")
    server.feed(h2.settings() + h2.header_frame(1, encoder.encode([(":status", "200")])))
    assert not server.found
    block = encoder.encode([("grpc-status", "0"), ("endpoint-load-metrics-bin", "CQAA")])
    server.feed(h2.scattered(1, [block[:3], block[3:]], end=True))
    server.feed(h2.header_frame(3, b"\xff\xff\xff\xff\xff"))
    assert server.found


def test_what_is_no_http2_server_is_named() -> None:
    for start, word in ((b"HTTP/1.1 400", "HTTP/1.x"), (b"\x15\x03\x03\x00\x02\x02\x46\x00\x00", "HTTP/2")):
        server = ServerSide(Counter())
        server.feed(start)
        assert word in server.flaw
        assert not server.greeted
