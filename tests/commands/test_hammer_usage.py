"""Command lines of hammer that are refused before anything is looked for or sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from lbctl.cli import run
from tests.rpc.servers import refused_port


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No setting of the person who runs the tests may reach them; no etcd is there to be asked."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("LBCTL_ENDPOINTS", "127.0.0.1:1")
    for name in ("LBCTL_CONFIG", "LBCTL_POLICY", "LBCTL_OUTPUT", "ETCDCTL_ENDPOINTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-n", "0"], "Invalid value for '-n' / '--requests': '0': must be 1 or more"),
        (["-n", "ten"], "Invalid value for '-n' / '--requests': 'ten' is not a count (for example 200, 10k, 1m)"),
        (["-c", "0"], "Invalid value for '-c' / '--concurrency': '0': must be 1 or more"),
        (["-z", "0"], "Invalid value for '-z' / '--duration': '0': must be more than 0"),
        (["-z", "-1s"], "Invalid value for '-z' / '--duration': '-1s': a duration cannot be negative"),
        (["-z", "5parsecs"], "Invalid value for '-z' / '--duration': '5parsecs': unknown unit 'parsecs'"),
        (["-t", "x"], "Invalid value for '-t' / '--timeout': 'x' is not a duration"),
        (["--grace", "-1s"], "Invalid value for '--grace': '-1s': a duration cannot be negative"),
        (["--interval", "0"], "Invalid value for '--interval': '0': must be more than 0"),
        (["--connect-timeout", "0"], "--connect-timeout: '0': must be more than 0"),
        (["--seed", "-1"], "Invalid value for '--seed': '-1' is not a whole number of at most 18 digits"),
        (["--fps", "0"], "Invalid value for '--fps': '0' is not a number from 0.1 to 60"),
        (["--window", "90s"], "Invalid value for '--window': '90s' is neither total nor a time from 1s to 60s"),
        (["--window", "all"], "Invalid value for '--window': 'all' is neither total nor a time from 1s to 60s"),
        (["--fps", "nan"], "Invalid value for '--fps': 'nan' is not a number from 0.1 to 60"),
        (["--ui", "curses"], "Invalid value for '--ui': 'curses' is not one of auto, live, plain, none"),
        (
            ["--policy", "roundrobin"],
            "Invalid value for '--policy': 'roundrobin' is not a policy "
            "(did you mean round_robin? lbctl policies lists them)",
        ),
        (["--policy", "zz"], "Invalid value for '--policy': 'zz' is not a policy (lbctl policies lists them)"),
        (
            ["--policy-opt", "fast"],
            "Invalid value for '--policy-opt': 'fast' is not NAME=VALUE",
        ),
        (["--policy-opt", "a=1", "--policy-opt", "a=2"], "--policy-opt: a is given twice, as '1' and '2'"),
        (["--policy-opt", "a=1"], "policy smooth_wrr has no option 'a'"),
        (
            ["--authority", "a b"],
            "--authority: 'a b' is not a host name, or a host name and a port",
        ),
        (["--backends", "a"], "Invalid value for '--backends': 'a' has no port (write host:port)"),
        (["--backends", ","], "Invalid value for '--backends': no backend given"),
        (["--backends", "a:1=x"], "Invalid value for '--backends': 'a:1=x': weight 'x' is not a whole number"),
        (["--backends", "a:1=-1"], "Invalid value for '--backends': 'a:1=-1': weight '-1' is not a whole number"),
        (["-o", "xml"], "-o: lbctl hammer has no output format 'xml'"),
        (["-d", "{}", "--binary-file", "/dev/null"], "-d and --binary-file are two requests"),
        (["-d", "@", "--binary-file", "/dev/null"], "-d and --binary-file are two requests"),
        (["-d", "@nowhere"], "-d: cannot read nowhere: no such file or directory"),
        (["-d", "@."], "-d: cannot read .: is a directory"),
        (["-d", "@latin"], "-d: latin is not UTF-8 text (byte 1)"),
        (["--binary-file", "nowhere"], "--binary-file: cannot read nowhere: no such file or directory"),
        (["--binary-file", "."], "--binary-file: cannot read .: is a directory"),
        (["--save", "nowhere/run.json"], "--save: cannot write nowhere/run.json: no such file or directory"),
        (["--save", "."], "--save: cannot write .: is a directory"),
        (["Say", "Again"], "Got unexpected extra argument(s) (Again)"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_the_reason(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "latin").write_bytes("né".encode("latin-1"))
    assert run(["hammer", "echo", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: {message}")
    assert [path.name for path in tmp_path.iterdir()] == ["latin"]


def test_a_service_is_needed_unless_backends_are_given(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["hammer"]) == 2
    assert capsys.readouterr().err == "error: hammer needs a SERVICE\nhint: see what there is: lbctl ls\n"


def test_a_bad_policy_in_a_settings_file_is_told_with_where_it_stands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LBCTL_POLICY", "roundrobin")
    assert run(["hammer", "echo"]) == 2
    err = capsys.readouterr().err
    assert "LBCTL_POLICY" in err
    assert "did you mean round_robin?" in err


def test_a_run_that_never_began_leaves_no_file_behind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with refused_port() as endpoint:
        arguments = ["--backends", str(endpoint), "p.S/M", "--binary-file", "/dev/null", "--save", "run.json"]
        assert run(["hammer", *arguments]) == 5
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_was_there_keeps_what_it_holds_when_nothing_came_of_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "run.json").write_text("precious")
    with refused_port() as endpoint:
        arguments = ["--backends", str(endpoint), "p.S/M", "--binary-file", "/dev/null", "--save", "run.json"]
        assert run(["hammer", *arguments]) == 5
    assert (tmp_path / "run.json").read_text() == "precious"
