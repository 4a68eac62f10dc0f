from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lbctl.discovery.address import is_address, parse_address
from lbctl.discovery.flaws import Unusable
from lbctl.model import Endpoint


@pytest.mark.parametrize(
    ("text", "endpoint"),
    [
        ("127.0.0.1:50051", Endpoint("127.0.0.1", 50051)),
        ("localhost:1", Endpoint("localhost", 1)),
        ("orders-0.orders.prod.svc:65535", Endpoint("orders-0.orders.prod.svc", 65535)),
        ("my_host:80", Endpoint("my_host", 80)),
        ("[::1]:50051", Endpoint("::1", 50051)),
        ("[fe80::1%eth0]:50051", Endpoint("fe80::1%eth0", 50051)),
    ],
)
def test_what_can_be_dialled_is_read_and_spelled_the_same(text: str, endpoint: Endpoint) -> None:
    assert parse_address(text) == endpoint
    assert str(endpoint) == text


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "no_address"),
        ("127.0.0.1", "no_port"),
        ("127.0.0.1:", "no_port"),
        ("[::1]", "no_port"),
        ("127.0.0.1:0", "bad_port"),
        ("127.0.0.1:65536", "bad_port"),
        ("127.0.0.1:http", "bad_port"),
        ("127.0.0.1:-1", "bad_port"),
        ("127.0.0.1:٥٠", "bad_port"),
        ("127.0.0.1:" + "9" * 5000, "bad_port"),
        (":8080", "no_host"),
        ("0.0.0.0:80", "wildcard_address"),
        ("[::]:80", "wildcard_address"),
        ("*:80", "wildcard_address"),
        ("::1:50051", "ipv6_unbracketed"),
        ("fd00::1", "ipv6_unbracketed"),
        ("a:1,b:2", "multi_address"),
        ("a:1;b:2", "multi_address"),
        ("unix:/run/x.sock", "not_tcp"),
        ("/run/x.sock", "not_tcp"),
        ("http://a:1", "bad_address"),
        ("a:b:1", "bad_address"),
        ("[::1]x:1", "bad_address"),
        ("[nonsense]:1", "bad_address"),
        ("[::1:50051", "bad_address"),
        ("1.2.3.999:80", "bad_address"),
        ("-a:80", "bad_address"),
        ("a..b:80", "bad_address"),
        ("хост:80", "bad_address"),
        ("a" * 64 + ":80", "bad_address"),
        ("127.0.0.1:1\n", "whitespace"),
        (" 127.0.0.1:1", "whitespace"),
        ("127.0.0.1:1\x1b[2J", "control_chars"),
        ("127.0.0.1\x00:1", "control_chars"),
        ("127.0.0.1\u202e:1", "control_chars"),
    ],
)
def test_what_cannot_be_dialled_has_a_code(text: str, code: str) -> None:
    with pytest.raises(Unusable) as caught:
        parse_address(text)
    assert caught.value.code == code
    assert caught.value.reason
    assert not is_address(text)


def test_an_ipv6_without_brackets_is_never_guessed_but_hinted() -> None:
    with pytest.raises(Unusable) as caught:
        parse_address("fd00::1:8888")
    assert "[fd00::1]:8888?" in caught.value.reason


@given(st.text(max_size=40))
def test_any_text_is_an_address_that_reads_back_or_unusable(text: str) -> None:
    try:
        endpoint = parse_address(text)
    except Unusable:
        return
    assert parse_address(str(endpoint)) == endpoint
