"""``lbctl health`` as a command line: what it prints, and its exit status."""

from __future__ import annotations

import json

import pytest

from lbctl.demo.etcd_server import EtcdServer
from tests.cli.conftest import Keys, Lbctl

pytestmark = pytest.mark.usefixtures("at")


def test_a_backend_that_refuses_is_shown_and_makes_the_status_1(lbctl: Lbctl, keys: Keys, closed_port: int) -> None:
    keys({f"/services/echo/127.0.0.1:{closed_port}": f"127.0.0.1:{closed_port}|1"})
    said = lbctl("health", "echo")
    assert [line.split() for line in said.out.splitlines()] == [
        ["ADDRESS", "HEALTH", "RTT", "ROTATION", "DETAIL"],
        [f"127.0.0.1:{closed_port}", "REFUSED", "-", "in", "refused", "the", "connection"],
    ]
    assert (said.status, said.err) == (1, "0 of 1 in the rotation serve\n")
    assert lbctl("health", "echo", "--exit-zero", "-q")[::2] == (0, "")


def test_backends_may_be_given_by_hand(lbctl: Lbctl, closed_port: int) -> None:
    said = lbctl("health", "--backends", f"127.0.0.1:{closed_port}", "-o", "json", "--endpoints", "127.0.0.1:1")
    document = json.loads(said.out)
    assert (said.status, document["healthy"], document["revision"]) == (1, False, 0)
    assert [each["health"] for each in document["backends"]] == ["REFUSED"]


def test_an_empty_registry_is_no_error_and_an_unknown_service_is(lbctl: Lbctl, keys: Keys, at: EtcdServer) -> None:
    assert lbctl("health") == (0, "", f"no services in etcd {at.endpoint}\n")
    assert lbctl("health", "nobody").status == 4


def test_a_service_that_speaks_something_else_cannot_be_asked(lbctl: Lbctl, keys: Keys) -> None:
    keys({"/rpcx/arith/tcp@127.0.0.1:1": "", "/rpcx/arith/quic@127.0.0.1:2": ""})
    said = lbctl("health", "arith")
    assert (said.status, said.out) == (5, "")
    assert said.err.startswith('error: no instance of "arith" speaks gRPC: quic, tcp\nhint: see: lbctl ls arith')


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("echo", "--backends", "127.0.0.1:1"), "--backends goes with no SERVICE"),
        (("echo", "--watch", "-o", "json"), "--watch prints rows, not json"),
        (("echo", "--interval", "1s"), "--interval is for --watch"),
    ],
)
def test_options_that_contradict_each_other_are_refused(lbctl: Lbctl, arguments: tuple[str, ...], message: str) -> None:
    said = lbctl("health", *arguments)
    assert said.status == 2
    assert said.err.startswith(f"error: {message}")


def test_of_all_services_none_may_be_one_that_can_be_asked(lbctl: Lbctl, keys: Keys) -> None:
    keys({"/rpcx/arith/tcp@127.0.0.1:1": ""})
    said = lbctl("health")
    assert (said.status, said.out) == (5, "")
    assert said.err.startswith('error: no instance of "arith" speaks gRPC: tcp\nhint: see: lbctl ls')
    keys({"/rpcx/arith/tcp@127.0.0.1:1": "", "/rpcx/sum/quic@127.0.0.1:2": ""})
    assert lbctl("health").err.startswith(
        "error: no instance of 2 services speaks gRPC: quic, tcp\nhint: see: lbctl ls"
    )


def test_services_of_broken_keys_alone_are_no_empty_registry(lbctl: Lbctl, keys: Keys) -> None:
    keys({"/services/echo/10.0.0.1:80": "10.0.0.1:80|-1"})
    said = lbctl("health")
    assert (said.status, said.err.splitlines()[0]) == (4, 'error: service "echo" has no usable instances')
    keys({f"/services/{name}/10.0.0.1:80": "10.0.0.1:80|-1" for name in ("echo", "shop")})
    said = lbctl("health")
    assert (said.status, said.err.splitlines()[0]) == (4, "error: none of 2 services has usable instances")


def test_bare_addresses_are_for_pipes_each_once(lbctl: Lbctl, keys: Keys) -> None:
    keys({f"/services/{name}/127.0.0.1:{port}": f"127.0.0.1:{port}|1" for name, port in (("a", 1), ("b", 1), ("b", 2))})
    assert lbctl("health", "-o", "name", "--exit-zero").out == "127.0.0.1:1\n127.0.0.1:2\n"
    said = lbctl("health", "b", "-o", "name", "-q")
    assert (said.status, said.out, said.err) == (1, "127.0.0.1:1\n127.0.0.1:2\n", "")
