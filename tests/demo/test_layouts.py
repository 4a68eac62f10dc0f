from lbctl.demo.layouts import LAYOUTS
from lbctl.model import Endpoint

ENDPOINT = Endpoint("127.0.0.1", 50061)


def test_the_seed_layout_is_written_by_its_rule() -> None:
    assert LAYOUTS["seed"]("echo", ENDPOINT, 5) == (b"/services/echo/127.0.0.1:50061", b"127.0.0.1:50061|5")


def test_the_layout_of_etcds_go_client_is_written_by_its_rule() -> None:
    assert LAYOUTS["etcd-naming"]("echo", ENDPOINT, 5) == (
        b"echo/127.0.0.1:50061",
        b'{"Op":0,"Addr":"127.0.0.1:50061","Metadata":{"weight":5}}',
    )
