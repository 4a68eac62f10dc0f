import os
import sys
from pathlib import Path

import pytest

from lbctl.demo.guest import CommandNotFound, find_command, guest_environment


def test_the_command_sees_the_etcd_of_the_demo_and_no_other() -> None:
    environ = {
        "HOME": "/home/me",
        "LBCTL_ENDPOINTS": "10.0.0.1:2379",
        "LBCTL_CACERT": "/etc/ca.pem",
        "LBCTL_USER": "root",
        "LBCTL_POLICY": "random",
        "ETCDCTL_USER": "root",
        "ETCDCTL_ENDPOINTS": "10.0.0.1:2379",
    }
    seen = guest_environment(environ, "127.0.0.1:42379")
    del seen["PATH"]
    assert seen == {
        "HOME": "/home/me",
        "LBCTL_POLICY": "random",
        "LBCTL_ENDPOINTS": "127.0.0.1:42379",
        "ETCDCTL_ENDPOINTS": "127.0.0.1:42379",
    }


def test_lbctl_is_on_the_path_of_the_command_without_an_activated_environment() -> None:
    path = guest_environment({"PATH": "/usr/bin"}, "")["PATH"]
    assert path.split(os.pathsep) == [str(Path(sys.executable).parent), "/usr/bin"]


def test_a_command_is_found_on_the_path_and_keeps_its_arguments() -> None:
    assert find_command(("sh", "-c", "exit 3"), os.environ)[1:] == ("-c", "exit 3")


def test_lbctl_runs_as_a_module_where_it_was_never_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert find_command(("lbctl", "ls"), {"PATH": str(tmp_path)}) == (sys.executable, "-m", "lbctl", "ls")


def test_a_missing_command_is_named_with_the_status_of_the_shell() -> None:
    with pytest.raises(CommandNotFound, match=r"^command not found: no-such-program$") as caught:
        find_command(("no-such-program",), os.environ)
    assert caught.value.exit_code == 127
    assert caught.value.hint == "usage: lbctl demo [OPTIONS] -- COMMAND [ARGS]..."
