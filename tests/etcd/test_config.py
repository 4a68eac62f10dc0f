from __future__ import annotations

import pytest

from lbctl.errors import UsageError
from lbctl.etcd.channel import Channel
from lbctl.etcd.config import EtcdConfig, parse_endpoints


def test_endpoints_are_read_as_people_write_them() -> None:
    assert parse_endpoints(["http://10.0.0.1:2379, etcd.example", "[::1]:4001/"]) == (
        ("10.0.0.1:2379", "etcd.example:2379", "[::1]:4001"),
        False,
    )
    assert parse_endpoints(["https://a:1", "https://b"]) == (("a:1", "b:2379"), True)
    assert parse_endpoints(["a:1,a:1"]) == (("a:1",), False)


@pytest.mark.parametrize("word", ["a:0", "a:65536", "a:http", "::1:2379", ":2379", "a:", "ftp://a:1", "a:٣"])
def test_an_endpoint_that_cannot_be_dialled_is_named(word: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_endpoints([word])
    assert word in str(caught.value)


def test_mixed_schemes_are_refused() -> None:
    with pytest.raises(UsageError, match="mix http:// and https://"):
        parse_endpoints(["http://a:1,https://b:1"])


def test_no_endpoint_and_half_a_key_pair_are_usage_errors() -> None:
    with pytest.raises(UsageError, match="no etcd endpoint"):
        EtcdConfig(())
    with pytest.raises(UsageError, match="--cert and --key belong together"):
        EtcdConfig(cert="c.pem")


def test_the_password_is_never_shown() -> None:
    assert "hunter2" not in repr(EtcdConfig(user="root", password="hunter2"))


def test_a_certificate_that_cannot_be_read_is_named() -> None:
    with pytest.raises(UsageError, match=r"cannot read /no/ca\.pem: No such file"):
        Channel(EtcdConfig(cacert="/no/ca.pem"), "127.0.0.1:1")


def test_etcd_is_not_asked_whether_it_lives_more_often_than_it_bears() -> None:
    shortest_s = 5.0  # etcd's --grpc-keepalive-min-time unless said
    assert EtcdConfig().keepalive_s > shortest_s
