from __future__ import annotations

import pytest

from lbctl.cli.values import (
    parse_count,
    parse_duration,
    parse_endpoint,
    parse_endpoints,
    parse_label,
    parse_percent,
    parse_positive_duration,
    parse_weighted_endpoints,
)
from lbctl.model import Endpoint


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("500ms", 0.5),
        ("10s", 10.0),
        ("3m", 180.0),
        ("1h30m", 5400.0),
        ("1m30s", 90.0),
        ("1.5s", 1.5),
        (".5s", 0.5),
        ("2", 2.0),
        ("0.25", 0.25),
        ("250us", 0.00025),
        ("250µs", 0.00025),
        ("0", 0.0),
        (" 2s ", 2.0),
    ],
)
def test_a_duration_is_read_as_go_writes_it(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a duration is missing (for example 500ms, 10s, 1m30s)"),
        ("-5s", "'-5s': a duration cannot be negative"),
        ("5x", "'5x': unknown unit 'x' (use ns, us, ms, s, m or h)"),
        ("5S", "'5S': unknown unit 'S' (use ns, us, ms, s, m or h)"),
        ("1m30", "'1m30': the last part has no unit (use ns, us, ms, s, m or h)"),
        ("soon", "'soon' is not a duration (for example 500ms, 10s, 1m30s)"),
        ("1 s", "'1 s': the last part has no unit (use ns, us, ms, s, m or h)"),
        ("9999h", "'9999h' is longer than a year"),
        ("1e3", "'1e3': unknown unit 'e' (use ns, us, ms, s, m or h)"),
    ],
)
def test_a_wrong_duration_is_refused_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r".+") as refused:
        parse_duration(text)
    assert str(refused.value) == message


def test_a_time_limit_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="'0s': must be more than 0"):
        parse_positive_duration("0s")


@pytest.mark.parametrize(
    ("text", "count"),
    [("200", 200), ("10k", 10_000), ("10K", 10_000), ("1m", 1_000_000), ("1.5k", 1500), ("0.001m", 1000)],
)
def test_a_count_may_end_in_k_or_m(text: str, count: int) -> None:
    assert parse_count(text) == count


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0", "'0': must be 1 or more"),
        ("-3", "'-3' is not a count (for example 200, 10k, 1m)"),
        ("1.5", "'1.5' is not a whole number"),
        ("1,000", "'1,000' is not a count (for example 200, 10k, 1m)"),
        ("3g", "'3g': unknown multiple 'g' (use k for thousand, m for million)"),
        ("", "'' is not a count (for example 200, 10k, 1m)"),
        ("9999999m", "'9999999m': must be 1000000m or less"),
    ],
)
def test_a_wrong_count_is_refused_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r".+") as refused:
        parse_count(text)
    assert str(refused.value) == message


@pytest.mark.parametrize(("text", "share"), [("2%", 0.02), ("0.5%", 0.005), ("100%", 1.0), ("0", 0.0), ("0%", 0.0)])
def test_a_percentage_becomes_a_share(text: str, share: float) -> None:
    assert parse_percent(text) == share


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2", "'2': write 2% for per cent"),
        ("101%", "'101%': must be 100% or less"),
        ("-1%", "'-1%' is not a percentage (for example 0.5%)"),
        ("half", "'half' is not a percentage (for example 0.5%)"),
    ],
)
def test_a_wrong_percentage_is_refused_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r".+") as refused:
        parse_percent(text)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("text", "endpoint"),
    [
        ("127.0.0.1:50051", Endpoint("127.0.0.1", 50051)),
        ("[::1]:50051", Endpoint("::1", 50051)),
        ("[fe80::1%eth0]:1", Endpoint("fe80::1%eth0", 1)),
        ("my-host.local:65535", Endpoint("my-host.local", 65535)),
    ],
)
def test_an_address_is_a_host_and_a_port(text: str, endpoint: Endpoint) -> None:
    assert parse_endpoint(text) == endpoint


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("host", "'host' has no port (write host:port)"),
        ("host:", "'host:': port '' is not a number"),
        ("host:http", "'host:http': port 'http' is not a number"),
        ("host:0", "'host:0': port 0 is not in 1..65535"),
        ("host:65536", "'host:65536': port 65536 is not in 1..65535"),
        (":50051", "':50051' has no host (write host:port)"),
        ("::1", "'::1': an IPv6 address needs brackets (did you mean [::1]:PORT?)"),
        (
            "fd00::5:50051",
            "'fd00::5:50051': an IPv6 address needs brackets (did you mean [fd00::5]:50051?)",
        ),
        ("a:b:c", "'a:b:c': an IPv6 address needs brackets"),
        ("[::1:50051", "'[::1:50051' is not [IPv6]:port"),
        ("a b:1", "'a b:1' is not host:port"),
    ],
)
def test_a_wrong_address_is_refused_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r".+") as refused:
        parse_endpoint(text)
    assert str(refused.value) == message


def test_etcd_endpoints_are_separated_by_commas_and_may_have_schemes_and_no_port() -> None:
    assert parse_endpoints("http://a:1, b ,[::1]:3,") == (Endpoint("a", 1), Endpoint("b", 2379), Endpoint("::1", 3))


def test_an_etcd_endpoint_with_a_foreign_scheme_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'etcd://a:1': unknown scheme 'etcd' \(use http or https, or none\)"):
        parse_endpoints("etcd://a:1")


def test_no_etcd_endpoint_at_all_is_refused() -> None:
    with pytest.raises(ValueError, match=r"no etcd endpoint given \(for example 127.0.0.1:2379\)"):
        parse_endpoints(" , ")


def test_a_label_is_a_key_and_a_value() -> None:
    assert parse_label("zone=az1=b") == ("zone", "az1=b")
    with pytest.raises(ValueError, match="'zone' is not key=value"):
        parse_label("zone")


def test_backends_may_have_weights() -> None:
    assert parse_weighted_endpoints("a:1=5, [::1]:2,b:3=0") == (
        (Endpoint("a", 1), 5),
        (Endpoint("::1", 2), 1),
        (Endpoint("b", 3), 0),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no backend given (for example 127.0.0.1:50051=5,127.0.0.1:50052)"),
        ("a", "'a' has no port (write host:port)"),
        ("a:1=x", "'a:1=x': weight 'x' is not a whole number of at most 9 digits"),
        ("a:1=-1", "'a:1=-1': weight '-1' is not a whole number of at most 9 digits"),
    ],
)
def test_wrong_backends_are_refused_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r".+") as refused:
        parse_weighted_endpoints(text)
    assert str(refused.value) == message
