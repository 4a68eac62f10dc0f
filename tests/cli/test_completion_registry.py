"""What etcd and backends know, asked while a line is being typed."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet

from lbctl.cli.completion import told
from lbctl.cli.completion_answer import answer
from lbctl.cli.completion_cache import LIFE_S, MOST_FILES
from lbctl.cli.completion_registry import budget
from lbctl.cli.completion_shells import WORD_BREAKS, from_bash
from lbctl.demo.etcd_server import EtcdServer
from tests.cli.conftest import Keys
from tests.rpc.servers import V1, Reflection, echo_files, reflecting, serving

ECHO_KEYS = {
    "/services/echo/10.0.0.11:50051": "10.0.0.11:50051|5",
    "/services/echo/10.0.0.12:50051": "10.0.0.12:50051|0",
    "/services/echo/[2001:db8::1]:50051": "[2001:db8::1]:50051|2",
}
SHOP_KEYS = {"/services/shop/10.1.0.1:9": "10.1.0.1:9|3"}


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """These machines may be slow; how long is waited has a test of its own."""
    monkeypatch.setenv("LBCTL_COMPLETION_TIMEOUT", "20s")
    budget.cache_clear()
    yield
    budget.cache_clear()


def at(line: str) -> dict[str, str]:
    """What may stand where the line ends, or has a bar."""
    before, _, after = line.partition("|")
    words, _ = from_bash([before, after, ""])
    return {each.text: each.about for each in answer(words).candidates}


def cached(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache" / "lbctl").iterdir())


@pytest.mark.usefixtures("at_etcd")
class TestServices:
    """Names, keys and addresses."""

    def test_services_complete_by_name_and_by_key(self) -> None:
        assert at("lbctl ls ") == {"echo": "3 instances, seed", "shop": "1 instance, seed"}
        assert list(at("lbctl hammer /services/e")) == ["/services/echo/"]
        assert list(at("lbctl --prefix /services/s")) == ["/services/shop/"]
        assert list(at("lbctl ls --explain /services/shop/")) == ["/services/shop/10.1.0.1:9"]
        assert at("lbctl ls --layout kratos ") == {}
        assert list(at("lbctl ls --prefix /services/shop/ ")) == ["shop"]

    def test_instances_complete_by_what_becomes_of_them(self) -> None:
        assert at("lbctl deregister echo ") == {
            "10.0.0.11:50051": "weight 5",
            "10.0.0.12:50051": "weight 0",
            "[2001:db8::1]:50051": "weight 2",
        }
        assert list(at("lbctl drain echo ")) == ["10.0.0.11:50051", "[2001:db8::1]:50051"]
        assert list(at("lbctl drain echo 10.0.0.11:50051 ")) == ["[2001:db8::1]:50051"]
        assert list(at("lbctl drain echo | 10.0.0.11:50051")) == ["[2001:db8::1]:50051"]
        assert list(at("lbctl undrain echo ")) == ["10.0.0.12:50051"]
        assert list(at("lbctl undrain echo /services/echo/")) == ["/services/echo/10.0.0.12:50051"]
        assert at("lbctl weight echo 10.0.0.11") == {"10.0.0.11:50051=": "weight 5"}
        assert list(at("lbctl weight echo 10.0.0.11:50051=")) == ["10.0.0.11:50051=5"]
        assert list(at("lbctl weight echo --auto --base [2")) == ["[2001:db8::1]:50051="]
        assert list(at("lbctl hammer --backends 10.1.0.1:9=2,10.0.0.11")) == ["10.1.0.1:9=2,10.0.0.11:50051"]
        assert at("lbctl drain nobody ") == {}

    def test_figures_of_one_backend_complete_by_its_address(self) -> None:
        begins = ["backend[10.0.0.11:50051].", "backend[10.0.0.12:50051].", "backend[[2001:db8::1]:50051]."]
        assert list(at("lbctl hammer echo --threshold backend[")) == begins
        assert list(at("lbctl hammer echo --threshold backend[[2001:db8::1]:50051].del")) == [f"{begins[2]}delta"]
        assert list(at("lbctl hammer --threshold backend[")) == []
        split = told(["bash", "lbctl hammer echo --threshold backend[[2001:db8", "", WORD_BREAKS])
        assert split == ["nospace", "db8::1\\]:50051\\]."]

    def test_labels_complete_as_they_are_now_and_secrets_do_not(self, put: Keys, tmp_path: Path) -> None:
        one = '{"id": "1", "name": "cart", "metadata": {"token": "hunter2", "zone": "a"}, "endpoints": ["grpc://10.0.0.1:1"]}'
        two = one.replace('"1"', '"2"').replace('"a"', '"b c"')
        put(
            {
                "/microservices/cart/1": one,
                "/microservices/cart/2": two,
                "/microservices/paid/1": two.replace("cart", "paid"),
            }
        )
        assert at("lbctl ls cart -l ")["zone="] == "2 instances"
        assert at("lbctl ls cart -l zo") == {"zone=": "2 instances"}
        assert at("lbctl ls cart -l zone=") == {"zone=a": "1 instance", "zone=b c": "1 instance"}
        assert list(at("lbctl ls paid --label=zone=")) == ["--label=zone=b c"]
        assert at("lbctl ls -l zone=b") == {"zone=b c": "2 instances"}
        assert list(at("lbctl ls cart -l to")) == ["token="]
        assert at("lbctl ls cart -l token=") == at("lbctl ls nobody -l zone=") == {}
        assert list(at("lbctl register cart 10.0.0.15:1 --metadata zone=a")) == ["zone=a"]
        assert not (tmp_path / "cache" / "lbctl").exists()

    def test_readline_is_told_what_follows_its_own_word_break(self) -> None:
        assert told(["bash", "lbctl drain echo 10.0.0.11:5", "", WORD_BREAKS]) == ["", "50051"]
        assert told(["bash", "lbctl drain echo 10.0.0.11:5", "", " \t\n"]) == ["", "10.0.0.11:50051"]
        assert told(["bash", "lbctl drain echo [", "", WORD_BREAKS]) == ["", "\\[2001:db8::1\\]:50051"]
        assert told(["bash", "lbctl drain echo [2001:db8", "", WORD_BREAKS]) == ["", "db8::1\\]:50051"]
        assert told(["bash", 'lbctl drain echo "[2001:', "", WORD_BREAKS]) == ["", "[2001:db8::1]:50051"]

    def test_settings_count_wherever_they_come_from(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        etcd = os.environ["LBCTL_ENDPOINTS"]
        nowhere = "127.0.0.1:1 --dial-timeout 50ms"
        assert at(f"lbctl ls --endpoints {nowhere} ") == {}
        assert at(f"lbctl --endpoints {nowhere} ls ") == {}
        assert at(f"lbctl ls | --endpoints {nowhere}") == {}
        monkeypatch.setenv("LBCTL_ENDPOINTS", "127.0.0.1:1")
        assert at("lbctl ls --dial-timeout 50ms ") == {}
        assert list(at(f"lbctl ls --endpoints {etcd} ")) == ["echo", "shop"]
        monkeypatch.setenv("WHERE", etcd)
        assert list(at('lbctl ls --endpoints "$WHERE" ')) == ["echo", "shop"]
        monkeypatch.delenv("LBCTL_ENDPOINTS")
        (tmp_path / "lbctl.yaml").write_text(f"etcd: {{endpoints: '{etcd}'}}\nprefix: /services/shop/\n")
        assert list(at("lbctl ls ")) == ["shop"]
        assert list(at("lbctl ls --prefix /services/ ")) == ["echo", "shop"]

    def test_what_etcd_said_counts_for_a_while_and_is_nobody_elses(self, tmp_path: Path, put: Keys) -> None:
        assert "shop" in at("lbctl ls ")
        (kept,) = cached(tmp_path)
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
        assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700
        put({"/services/cart/10.2.0.1:9": "10.2.0.1:9|3"})
        assert list(at("lbctl ls ")) == ["echo", "shop"]
        over = kept.stat().st_mtime - LIFE_S
        os.utime(kept, (over, over))
        assert list(at("lbctl ls ")) == ["cart", "echo", "shop"]

    def test_the_cache_stays_small_and_a_broken_one_is_none(self, tmp_path: Path) -> None:
        for number in range(MOST_FILES + 3):
            assert at(f"lbctl ls --prefix /services/{'/' * number} ") is not None
        assert len(cached(tmp_path)) == MOST_FILES
        for path in cached(tmp_path):
            path.write_text("[[1")
        assert "shop" in at("lbctl ls ")

    def test_a_cache_that_is_a_link_is_left_alone(self, tmp_path: Path) -> None:
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "cache").mkdir()
        (tmp_path / "cache" / "lbctl").symlink_to(tmp_path / "elsewhere")
        assert "shop" in at("lbctl ls ")
        assert list((tmp_path / "elsewhere").iterdir()) == []

    def test_no_secret_is_kept(self, tmp_path: Path, put: Keys) -> None:
        put({"/services/echo/10.0.0.13:1": '{"addr": "10.0.0.13:1", "metadata": {"token": "hunter2"}}'})
        put({"/dubbo/x.Y/providers/tri%3A%2F%2F10.9.9.9%3A1%2Fx.Y%3Fpassword%3Dhunter2%26side%3Dprovider": ""})
        assert "10.9.9.9:1" in at("lbctl drain x.Y ")
        assert "hunter2" not in "".join(path.read_text() for path in cached(tmp_path))
        assert not any("hunter2" in each for each in at("lbctl ls --explain /dubbo"))

    def test_names_that_a_terminal_would_obey_are_not_offered_and_the_others_are_quoted(self, put: Keys) -> None:
        put({"/services/a\x1b[2Jb/10.0.0.1:1": "10.0.0.1:1|1", "/services/$(reboot) x/10.0.0.1:1": "10.0.0.1:1|1"})
        assert list(at("lbctl ls ")) == ["$(reboot) x", "echo", "shop"]
        assert told(["bash", "lbctl ls $", "", ""]) == ["", "\\$\\(reboot\\)\\ x"]

    def test_nobody_is_asked_for_a_password(self, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
        assert at("lbctl ls --user root ") == {}
        assert at("lbctl ls --user root --password-file - ") == {}
        assert at("lbctl ls --cacert nowhere.pem ") == {}
        (tmp_path / "lbctl.yaml").write_text("nonsense: 1\n")
        assert at("lbctl ls ") == {}
        assert capfd.readouterr() == ("", "")


@pytest.fixture
def at_etcd(at: EtcdServer, keys: Keys) -> EtcdServer:
    """The session's etcd with two services, and where it is."""
    keys(ECHO_KEYS | SHOP_KEYS)
    return at


def test_an_etcd_that_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LBCTL_COMPLETION_TIMEOUT")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("LBCTL_ENDPOINTS", f"127.0.0.1:{silent.getsockname()[1]}")
        assert told(["bash", "lbctl ls ", "", WORD_BREAKS]) == [""]


async def test_methods_come_from_reflection_of_a_backend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LBCTL_ENDPOINTS", "127.0.0.1:1")

    def asked(line: str) -> list[str]:
        return list(at(line))

    async with serving(reflecting(Reflection(echo_files(), ["test.Echo"]), V1)) as endpoint:
        line = f"lbctl hammer --backends {endpoint} echo "
        found = await asyncio.to_thread(asked, line)
        assert found
        assert all("/" in name for name in found)
    first = found[0]
    service, _, method = first.partition("/")
    assert asked(line + first[:-1]) == [name for name in found if name.startswith(first[:-1])]  # out of the cache
    assert f"{service.rpartition('.')[2]}/{method}" in asked(line + service.rpartition(".")[2])
    assert asked(f"lbctl health --backends {endpoint} --service ") == [service]
    assert len(cached(tmp_path)) == 1


async def test_what_can_be_described_comes_from_reflection_or_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(reflecting(Reflection(echo_files(), ["test.Echo", V1]), V1)) as endpoint:
        line = f"lbctl describe --backends {endpoint} "
        symbols = await asyncio.to_thread(at, line)
        assert symbols["test.Text"] == "message"
        assert symbols["test.Echo/Say"] == "method"
        assert await asyncio.to_thread(at, f"{line}Te") == {"Text": "message test.Text"}
        assert "test.Echo/Say" in await asyncio.to_thread(at, f"lbctl methods --backends {endpoint} ")
    (tmp_path / "echo.pb").write_bytes(FileDescriptorSet(file=echo_files().values()).SerializeToString())
    monkeypatch.chdir(tmp_path)
    assert at("lbctl describe --protoset echo.pb test.T") == {"test.Text": "message"}
    assert at("lbctl methods --protoset echo.pb Echo/W") == {"Echo/Watch": "test.Echo/Watch"}
    assert at("lbctl hammer x --protoset echo.pb test.Echo/P") == {"test.Echo/Push": "client"}
    assert at("lbctl hammer x --protoset gone.pb ") == {}
    (tmp_path / "protos").mkdir()
    (tmp_path / "protos" / "late.proto").write_text(
        'syntax = "proto3"; package late; message M {} service S { rpc One(M) returns (stream M); }'
    )
    monkeypatch.setenv("LBCTL_COMPLETION_TIMEOUT", "20s")  # so long for a machine that has much else to do
    assert at("lbctl call x --proto late.proto --import-path protos late.S/") == {"late.S/One": "server"}
    assert at("lbctl describe --proto protos/late.proto --protoset echo.pb late.") == {
        "late.M": "message", "late.S": "service", "late.S/One": "method",
    }  # fmt: skip
    assert at("lbctl call x --proto gone.proto late.S/") == {}
    assert list(at("lbctl hammer x --protoset ec")) == ["echo.pb"]
