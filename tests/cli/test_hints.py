"""Hints that name a command: it looks where the one that gives the hint has looked, and connects as that did."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from lbctl.demo.etcd_server import EtcdServer
from tests.cli.conftest import Keys, Lbctl


@pytest.fixture
def refusing() -> Iterator[str]:
    """An address that refuses connections for as long as the test lasts."""
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{reserved.getsockname()[1]}"


@pytest.fixture
def registry(keys: Keys, refusing: str) -> None:
    """A service that refuses, one whose key is no use, one that speaks no gRPC, and a key of nobody."""
    keys(
        {
            f"/services/gone/{refusing}": f"{refusing}|5",
            "/services/broken/10.0.0.1:80": "10.0.0.1:80|-1",
            "/services/site/10.0.0.1:80": "http://10.0.0.1:80",
            "/services/odd": "something",
        }
    )


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize(
    ("command", "hint"),
    [
        (("ls",), "note: 1 other key; see: lbctl ls --all {same}"),
        (("ls", "zebra"), "hint: see what is registered: lbctl ls {same}"),
        (("ls", "zebra", "--layout", "kratos"), "hint: see what is registered: lbctl ls {same}"),
        (("ls", "/services/gone/", "--check"), "1 need a look: lbctl doctor /services/gone/ {same}"),
        (("ls", "gone", "-w", "-o", "json"), "hint: use -o table, or: lbctl watch gone -o jsonl {same}"),
        (("ls", "--explain", ""), "hint: see what there is: lbctl ls --all {same}"),
        (("ls", "--explain", "/nowhere"), "hint: see what there is: lbctl ls --all {same}"),
        (("watch", "zebra"), "hint: see what is registered: lbctl ls {same}"),
        (("health", "zebra"), "hint: see what is registered: lbctl ls {same}"),
        (("health", "--watch", "-o", "json"), "hint: use -o table, or: lbctl watch SERVICE -o jsonl {same}"),
        (("doctor", "zebra"), "hint: see what is registered: lbctl ls {same}"),
        (("drain", "zebra", "a:1", "--dry-run"), "hint: see what is registered: lbctl ls {same}"),
        (("compare",), "hint: see what there is: lbctl ls {same}"),
        (
            ("compare", "zebra", "--policy", "random", "--policy", "p2c_ewma"),
            "hint: see what is registered: lbctl ls {same}",
        ),
        (("hammer",), "hint: see what there is: lbctl ls {same}"),
        (("hammer", "zebra"), "hint: see what is registered: lbctl ls {same}"),
        (("hammer", "broken"), "hint: see why: lbctl ls broken {same}"),
        (("hammer", "site"), "hint: see: lbctl ls site {same}"),
        (
            ("hammer", "/services/gone/"),
            "hint: is it running? lbctl ls /services/gone/ {same} shows what is registered",
        ),
        (
            ("hammer", "gone", "grpc.health.v1.Health/Check", "--binary-file", "/dev/null"),
            "hint: is it running? lbctl ls gone {same} shows what is registered",
        ),
    ],
)
def test_a_command_in_a_hint_repeats_the_flags(
    lbctl: Lbctl, etcd_server: EtcdServer, command: tuple[str, ...], hint: str
) -> None:
    same = ("--endpoints", etcd_server.endpoint)
    said = lbctl(*command, *same)
    last = said.err.splitlines()[-1]
    assert last.endswith(hint.format(same=" ".join(same))), said.err
