"""Commands of etcd's own tools that ``lbctl doctor`` suggests: told what lbctl was told, and pasted into a shell."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping

import pytest

from lbctl.cli.etcd_tools import tools
from lbctl.cli.settings import resolve
from lbctl.demo.etcd_server import EtcdServer
from lbctl.doctor.etcd_tools import EtcdTools

ENDPOINT = "10.0.0.1:2379"


def told(environ: Mapping[str, str] | None = None, **flags: str) -> EtcdTools:
    environ = environ or {}
    return tools(resolve(flags, environ, {}), environ)


@pytest.mark.parametrize(
    ("environ", "flags", "etcdctl", "curl"),
    [
        ({}, {}, "etcdctl --endpoints=10.0.0.1:2379", "curl -sD - -o /dev/null http://10.0.0.1:2379/version"),
        (
            {"LBCTL_CACERT": "/ca file.pem"},
            {"user": "root:hidden", "cert": "c.pem", "key": "k.pem"},
            "etcdctl --endpoints=https://10.0.0.1:2379 '--cacert=/ca file.pem' --cert=c.pem --key=k.pem --user=root",
            "curl -sD - -o /dev/null --cacert '/ca file.pem' --cert c.pem --key k.pem https://10.0.0.1:2379/version",
        ),
        (
            {"ETCDCTL_ENDPOINTS": "10.0.0.9:2379", "ETCDCTL_USER": "root:hidden", "ETCDCTL_CERT": ""},
            {"endpoints": f"https://{ENDPOINT}", "insecure_skip_tls_verify": "true"},
            "env -u ETCDCTL_ENDPOINTS -u ETCDCTL_USER etcdctl --endpoints=https://10.0.0.1:2379"
            " --insecure-skip-tls-verify --user=root",
            "curl -sD - -o /dev/null --insecure https://10.0.0.1:2379/version",
        ),
    ],
)
def test_tools_are_told_what_lbctl_was_told_but_no_password(
    environ: Mapping[str, str], flags: dict[str, str], etcdctl: str, curl: str
) -> None:
    found = told(environ, **flags)
    assert found.etcdctl([ENDPOINT], "member", "list") == f"{etcdctl} member list"
    assert found.head(ENDPOINT, "/version") == curl


@pytest.mark.skipif(shutil.which("etcdctl") is None, reason="no etcdctl in the path")
def test_etcdctl_takes_it_although_a_variable_says_something_else(etcd_server: EtcdServer) -> None:
    environ = {"ETCDCTL_ENDPOINTS": "127.0.0.1:1"}
    command = told(environ, endpoints=etcd_server.endpoint).etcdctl([etcd_server.endpoint], "endpoint", "health")
    done = subprocess.run(
        command, shell=True, env={**os.environ, **environ}, capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.returncode, "is healthy" in done.stdout + done.stderr) == (0, True), done
