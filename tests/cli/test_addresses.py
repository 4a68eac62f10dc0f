from __future__ import annotations

from pathlib import Path

import pytest

from lbctl.cli.addresses import (
    parse_authority,
    parse_collector,
    parse_endpoint,
    parse_endpoints,
    parse_listening,
    parse_server_name,
    parse_weighted_endpoints,
)
from lbctl.model import Endpoint


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


def test_backends_may_be_unix_sockets_whose_paths_may_hold_anything_but_a_comma() -> None:
    assert parse_weighted_endpoints("unix:/tmp/a.sock=5,unix:///tmp/b=x, unix-abstract:lb=2,unix-abstract:=") == (
        (Endpoint("unix:/tmp/a.sock", 0), 5),
        (Endpoint("unix:/tmp/b=x", 0), 1),
        (Endpoint("unix-abstract:lb", 0), 2),
        (Endpoint("unix-abstract:=", 0), 1),
    )


def test_a_unix_path_may_be_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert parse_weighted_endpoints("unix:a.sock") == ((Endpoint(f"unix:{tmp_path}/a.sock", 0), 1),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("unix:", "'unix:' has no path (write unix:/path)"),
        ("unix:=3", "'unix:' has no path (write unix:/path)"),
        ("unix-abstract:", "'unix-abstract:' has no name (write unix-abstract:name)"),
        ("unix://a/b", "'unix://a/b': after unix:// the path begins with / (write unix:///path or unix:path)"),
        (f"unix:/{'a' * 107}", f"'unix:/{'a' * 107}' is too long for a unix socket (at most 107 bytes)"),
    ],
)
def test_a_wrong_unix_socket_is_refused_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r".+") as refused:
        parse_weighted_endpoints(text)
    assert str(refused.value) == message


@pytest.mark.parametrize("text", ["echo", "demo.echo.v1.Echo", "10.0.0.1:50051", "[::1]", "[::1]:50051", "a_b~c"])
def test_an_authority_is_a_name_with_or_without_a_port(text: str) -> None:
    assert parse_authority(text) == text


@pytest.mark.parametrize("text", ["", "a b", "a/b", "::1", "http://a", "a:b", "a@b"])
def test_what_is_no_authority_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a host name, or a host name and a port"):
        parse_authority(text)


@pytest.mark.parametrize("text", ["echo.example", "10.0.0.1", "::1"])
def test_a_server_name_is_a_name_or_an_ip_address(text: str) -> None:
    assert parse_server_name(text) == text


@pytest.mark.parametrize("text", ["", "a:1", "a b", "[::1]"])
def test_what_is_no_server_name_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a host name or an IP address"):
        parse_server_name(text)


@pytest.mark.parametrize(
    ("text", "endpoint"),
    [
        ("127.0.0.1:0", Endpoint("127.0.0.1", 0)),
        ("[::1]:00", Endpoint("::1", 0)),
        (":9090", Endpoint("0.0.0.0", 9090)),
        (":0", Endpoint("0.0.0.0", 0)),
        ("localhost:9090", Endpoint("localhost", 9090)),
    ],
)
def test_an_address_to_listen_on_may_have_port_0_or_no_host(text: str, endpoint: Endpoint) -> None:
    assert parse_listening(text) == endpoint


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("", "'' has no host"),
        ("9090", "'9090' has no port"),
        ("localhost", "'localhost' has no port"),
        ("a b:0", "'a b:1' is not host:port"),
        ("::1:0", r"'::1:0': an IPv6 address needs brackets \(did you mean \[::1\]:0 or"),
        ("localhost:70000", "port 70000 is not in 1..65535"),
    ],
)
def test_what_cannot_be_listened_on_is_refused(text: str, mistake: str) -> None:
    with pytest.raises(ValueError, match=mistake):
        parse_listening(text)


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/metrics"),
        ("https://otel.example/", "https://otel.example/v1/metrics"),
        ("http://proxy/team/v1/metrics", "http://proxy/team/v1/metrics"),
    ],
)
def test_a_collector_is_a_url_and_its_path_may_be_left_out(text: str, url: str) -> None:
    assert parse_collector(text) == url


@pytest.mark.parametrize("text", ["127.0.0.1:4318", "grpc://host:4317", "http://", "http://host:port", "ftp://a:b@c"])
def test_what_is_no_url_of_a_collector_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^(?!.*a:b).* is not http://host:port"):
        parse_collector(text)
