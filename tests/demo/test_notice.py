from pathlib import Path

from lbctl.demo.latency import Fixed
from lbctl.demo.notice import obituary, standing, summary
from lbctl.demo.scene import Backend, Death, Facts, Setup
from lbctl.model import Endpoint

BACKENDS = tuple(
    Backend(Endpoint("127.0.0.1", port), weight, pid, (f"/services/echo/127.0.0.1:{port}",))
    for port, weight, pid in ((50061, 5, 101), (50062, 1, 102))
)
SETUP = Setup((5, 1), (Fixed(0.002),) * 2, (0.0,) * 2)
FACTS = Facts("127.0.0.1:42379", 100, Path("/tmp/lbctl-etcd-8f2a"), BACKENDS, SETUP)


def test_a_waiting_demo_says_where_everything_is_and_what_to_try() -> None:
    assert standing(FACTS) == (
        "etcd      127.0.0.1:42379   data /tmp/lbctl-etcd-8f2a (removed at exit)\n"
        "backends  2\n"
        "  127.0.0.1:50061  weight 5  pid 101\n"
        "  127.0.0.1:50062  weight 1  pid 102\n"
        "try, in another terminal:\n"
        "  export LBCTL_ENDPOINTS=127.0.0.1:42379\n"
        "  lbctl watch echo\n"
        "  lbctl hammer echo Echo/Say --policy smooth_wrr -z 30s\n"
        "Ctrl-C stops everything."
    )


def test_a_demo_that_carries_a_command_says_it_in_one_line() -> None:
    assert summary(FACTS) == "demo: etcd 127.0.0.1:42379, 2 backends, weights 5,1"


def test_a_death_is_told_with_what_follows() -> None:
    assert obituary(Death(BACKENDS[0], "signal 9"), 10) == (
        "backend 127.0.0.1:50061 died (signal 9); etcd drops its key within 10s"
    )


def test_a_backend_that_was_told_to_stop_did_not_die() -> None:
    assert obituary(Death(BACKENDS[0], "exit status 0"), 10) == "backend 127.0.0.1:50061 ended (exit status 0)"
