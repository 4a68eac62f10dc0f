"""The command line as a whole: where options may stand, what help says, how errors end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lbctl import __version__
from lbctl.cli import LISTED
from lbctl.cli.failures import guarded, internal_errors
from lbctl.cli.layouts import LAYOUTS, WRITERS
from lbctl.errors import CannotCall, ExitCode, NotFound, RegistryError, UsageError
from tests.cli.conftest import Lbctl

HEAVY = ("asyncio", "rich", "grpc", "google.protobuf", "etcd3", "httpx", "yaml", "uvloop")

SEE_LS = "see: lbctl ls --help"


def test_importing_the_command_line_loads_nothing_heavy() -> None:
    code = f"import lbctl.cli, sys; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("arguments", [["--help"], ["ls", "--help"], ["hammer", "--help"], ["-V"], []])
def test_help_loads_nothing_heavy_either(arguments: list[str]) -> None:
    of_a_command = arguments[:1] in (["ls"], ["hammer"])
    light = ("json", "fractions", "array", "lbctl.model", "lbctl.load.pacing.schedule", "lbctl.load.requests.given")
    heavy = (*HEAVY, "pydantic", *(light if of_a_command else ["typer"]))
    code = f"import lbctl.cli, sys; lbctl.cli.run({arguments!r}); print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("\n[]\n")


def test_the_names_of_layouts_are_those_there_are() -> None:
    from lbctl.discovery.codecs import CODECS

    assert ("auto", *(codec.name for codec in CODECS)) == LAYOUTS
    assert tuple(codec.name for codec in CODECS if codec.write is not None) == WRITERS


def test_lbctl_alone_says_in_twelve_lines_what_it_is_and_where_to_start(lbctl: Lbctl) -> None:
    said = lbctl()
    assert said.status == 0
    lines = said.out.splitlines()
    assert len(lines) == 12
    for word in ("lbctl demo", "lbctl ls", "lbctl hammer", "lbctl --help"):
        assert word in said.out
    assert all(len(line) <= 80 for line in lines)


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_the_help_lists_every_command_in_its_group(flag: str, lbctl: Lbctl) -> None:
    said = lbctl(flag)
    assert said.status == 0
    assert said.out == lbctl("help").out
    for listed in LISTED:
        assert f"  {listed.name:<12}{listed.summary}" in said.out
    assert max(map(len, said.out.splitlines())) <= 80


def test_help_goes_by_the_width_of_the_terminal_and_has_its_titles_in_bold_there(
    lbctl: Lbctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "get_terminal_size", lambda *fd: os.terminal_size((60, 24)))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    for arguments in (["--help"], ["ls", "--help"]):
        lines = lbctl(*arguments).out.splitlines()
        assert "\x1b[1mExamples:\x1b[0m" in [line.replace("\x1b[1m  ", "\x1b[1m") for line in lines]
        assert max(len(line.replace("\x1b[1m", "").replace("\x1b[0m", "")) for line in lines) <= 60
    assert "  \x1b[1m--ascii\x1b[0m              draw with ASCII characters only" in lines
    monkeypatch.setenv("TERM", "dumb")
    assert "\x1b" not in lbctl("--help").out


@pytest.mark.parametrize("name", [listed.name for listed in LISTED])
def test_the_help_of_a_command_has_its_examples_line_by_line(name: str, lbctl: Lbctl) -> None:
    said = lbctl(name, "-h")
    assert said.status == 0
    assert said.out == lbctl("help", name).out
    listed = next(each for each in LISTED if each.name == name).load()
    assert listed.examples
    for example in listed.examples:
        assert f"    {example}\n" in said.out
    assert max(map(len, said.out.splitlines())) <= 80
    assert "\x1b" not in said.out


@pytest.mark.parametrize("arguments", [("-V",), ("--version",), ("version",)])
def test_the_version_is_told_in_three_ways(arguments: tuple[str, ...], lbctl: Lbctl) -> None:
    assert lbctl(*arguments) == (0, f"lbctl {__version__}\n", "")


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (("lss",), "No such command 'lss'", "did you mean lbctl ls? see: lbctl --help"),
        (("help", "lss"), "No such command 'lss'", "did you mean lbctl ls? see: lbctl --help"),
        (("ls", "--colour", "x"), "No such option: --colour", "did you mean --color? see: lbctl ls --help"),
        (
            ("ls", "-o", "jso"),
            "-o: lbctl ls has no output format 'jso'",
            "did you mean json? use one of: table, wide, json, yaml, csv, name",
        ),
        (
            ("ls", "--layout", "gozero"),
            "--layout: 'gozero' is not a layout",
            "did you mean go-zero?",
        ),
        (
            ("--rate", "5", "hammer"),
            "No such option: --rate",
            "options of one command stand behind its name; see: lbctl --help",
        ),
        (("watch",), "Missing argument 'SERVICE'", "see: lbctl watch --help"),
        (
            ("ls", "-o", "xml"),
            "-o: lbctl ls has no output format 'xml'",
            "use one of: table, wide, json, yaml, csv, name",
        ),
        (("ls", "--dial-timeout", "5x"), "--dial-timeout: '5x': unknown unit 'x' (use ns, us, ms, s, m or h)", SEE_LS),
        (("--dial-timeout", "0", "ls"), "--dial-timeout: '0': must be more than 0", SEE_LS),
        (("ls", "--endpoints", "a:b"), "--endpoints: 'a:b': port 'b' is not a number", SEE_LS),
        (
            ("ls", "--endpoints", "http://a:1,https://b:1"),
            "--endpoints: 'http://a:1,https://b:1' mixes http and https",
            SEE_LS,
        ),
        (("ls", "--format", "x"), "--format: 'x' is not a layout", f"use one of: {', '.join(LAYOUTS)}"),
        (("ls", "--color", "pink"), "--color: 'pink' is not one of auto, always, never", SEE_LS),
        (("ls", "--cert", "c.pem"), "--cert and --key belong together", "give both, or neither"),
        (("ls", "--sort", "rtt"), "--sort needs a SERVICE", "without one, services are listed by name"),
        (
            ("ls", "a", "--sort", "x"),
            "Invalid value for '--sort': 'x' is not a column to sort by "
            "(use one of address, weight, share, health, rtt, ttl, created)",
            "see: lbctl ls --help",
        ),
        (
            ("ls", "a", "-l", "zone"),
            "Invalid value for '-l' / '--label': 'zone' is not key=value",
            "see: lbctl ls --help",
        ),
        (("ls", "-w", "-o", "csv"), "-w prints rows, not csv", "use -o table, or: lbctl watch SERVICE -o jsonl"),
        (("--endpoints", "a:1", "demo"), "lbctl demo has no option --endpoints", "see: lbctl demo --help"),
        (("--layout", "seed", "demo"), "--layout of lbctl demo stands after demo", "see: lbctl demo --help"),
        (
            ("--service-from", "key", "register", "x", "a:1"),
            "lbctl register has no option --service-from",
            "see: lbctl register --help",
        ),
        (("--no-headers", "watch", "x"), "lbctl watch has no option --no-headers", "see: lbctl watch --help"),
        (("ls", "--config", "none.yaml"), "--config: cannot read none.yaml: no such file or directory", SEE_LS),
        (
            ("ls", "--user", "root"),
            "--user root needs a password",
            "give --password-file FILE (- reads standard input)",
        ),
    ],
)
def test_a_wrong_command_line_ends_with_2_and_says_why(
    arguments: tuple[str, ...], message: str, hint: str, lbctl: Lbctl
) -> None:
    said = lbctl(*arguments)
    assert said.err == f"error: {message}\nhint: {hint}\n"
    assert (said.status, said.out) == (2, "")


def test_global_options_work_before_and_after_the_command_and_the_later_one_wins(lbctl: Lbctl, tmp_path: Path) -> None:
    def complaint(*arguments: str) -> str:
        return lbctl(*arguments).err.splitlines()[0]

    assert "'first'" in complaint("--color", "first", "ls")
    assert "'second'" in complaint("ls", "--color", "second")
    assert "'second'" in complaint("--color", "first", "ls", "--color", "second")


def test_verbose_tells_where_each_setting_comes_from(lbctl: Lbctl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ETCDCTL_DIAL_TIMEOUT", "50ms")
    said = lbctl("-v", "ls", "--endpoints", "127.0.0.1:1")
    assert "setting: endpoints from --endpoints\n" in said.err
    assert "setting: dial-timeout from ETCDCTL_DIAL_TIMEOUT\n" in said.err
    assert said.status == 3


def test_the_log_file_takes_what_verbose_says(lbctl: Lbctl, tmp_path: Path) -> None:
    said = lbctl("-v", "--log-file", "l.txt", "ls", "--endpoints", "127.0.0.1:1", "--dial-timeout", "50ms")
    assert "setting:" not in said.err
    assert "setting: endpoints from --endpoints\n" in (tmp_path / "l.txt").read_text()


def test_a_log_file_that_cannot_be_written_is_a_usage_error(lbctl: Lbctl) -> None:
    for more in ((), ("-v",)):
        said = lbctl(*more, "--log-file", "/nowhere/l.txt", "ls")
        assert said.status == 2
        assert (
            said.err == f"error: --log-file: cannot write /nowhere/l.txt: No such file or directory\nhint: {SEE_LS}\n"
        )


def _raising(error: BaseException) -> int:
    def call() -> None:
        raise error

    return guarded(call)


@pytest.mark.parametrize(
    ("error", "status"), [(RegistryError("gone", "start it"), 3), (NotFound("none"), 4), (CannotCall("no"), 5)]
)
def test_an_error_of_ours_is_two_lines_and_its_own_status(
    error: RegistryError, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _raising(error) == status
    hint = f"hint: {error.hint}\n" if error.hint else ""
    assert capsys.readouterr().err == f"error: {error}\n{hint}"


def test_an_error_inside_task_groups_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    group = ExceptionGroup("outer", [ValueError("x"), ExceptionGroup("inner", [NotFound("no such thing")])])
    assert _raising(group) == ExitCode.NOT_FOUND
    assert capsys.readouterr().err == "error: no such thing\n"


def test_control_characters_in_an_error_never_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    _raising(NotFound("evil \x1b[2J\x07 name"))
    assert capsys.readouterr().err == "error: evil \\x1b[2J\\x07 name\n"


def test_only_lbctl_itself_speaks_at_the_left_edge(capsys: pytest.CaptureFixture[str]) -> None:
    _raising(NotFound("bad\nhint: trust me\r", "the real one"))
    assert capsys.readouterr().err == "error: bad\n  hint: trust me\\x0d\nhint: the real one\n"


def test_the_mark_below_a_mistake_stays_below_it(capsys: pytest.CaptureFixture[str]) -> None:
    _raising(UsageError('not JSON: line 1 column 7\n  {"a": }\n        ^'))
    assert (
        capsys.readouterr().err == 'error: not JSON: line 1 column 7\n  {"a": }\n        ^\nhint: see: lbctl --help\n'
    )


def test_a_bug_is_70_and_its_traceback_is_in_a_file_that_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert _raising(ZeroDivisionError("oops")) == 70
    error, hint = capsys.readouterr().err.splitlines()
    assert error == "error: internal error: ZeroDivisionError: oops"
    name = hint.removeprefix("hint: this is a bug in lbctl; the traceback is in ").split(" ")[0]
    try:
        assert "ZeroDivisionError: oops" in Path(name).read_text()
    finally:
        Path(name).unlink()


def test_a_bug_prints_its_traceback_where_lbctl_debug_asks_for_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LBCTL_DEBUG", "1")
    assert _raising(ZeroDivisionError("oops")) == 70
    err = capsys.readouterr().err
    assert err.startswith("Traceback (most recent call last)")
    assert err.endswith("error: internal error: ZeroDivisionError: oops\nhint: this is a bug in lbctl\n")


SECRET = "hunter2-very-secret"


@pytest.mark.parametrize(
    "arguments",
    [
        ["-H", f"authorization: Bearer {SECRET}"],
        [f"-Hx-anything:{SECRET}"],
        [f"--header=x-anything: {SECRET}"],
        ["-m", f'{{"x-anything": ["a", "{SECRET}"]}}'],
        ["--user", f"root:{SECRET}"],
        [f"--user=root:{SECRET}"],
        ["--password", SECRET],
        ["--endpoints", f"http://root:{SECRET}@127.0.0.1:1"],
        ["-H", "x-anything: ${TOKEN}", "--expand-headers"],
        [],
    ],
)
@pytest.mark.parametrize("debug", ["", "1"])
def test_a_bug_tells_nobody_metadata_or_passwords(
    arguments: list[str],
    debug: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TOKEN", SECRET)
    monkeypatch.setenv("LBCTL_DEBUG", debug)
    monkeypatch.setenv("ETCDCTL_PASSWORD", "" if arguments else SECRET)
    log = tmp_path / "lbctl.log"
    log.touch()

    def call() -> None:
        with internal_errors(log):
            try:
                raise KeyError(SECRET.encode())
            except KeyError as error:
                raise ValueError(f"near {SECRET!r}, at http://root:{SECRET}@127.0.0.1:1/") from error

    assert guarded(call, arguments) == 70
    said = capsys.readouterr().err + log.read_text()
    assert SECRET not in said
    assert "KeyError" in said
    assert "error: internal error: ValueError: near '***', at http://root:***@127.0.0.1:1/\n" in said


def test_a_traceback_that_cannot_be_saved_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def call() -> None:
        with internal_errors(tmp_path / "none" / "l.txt"):
            raise ZeroDivisionError("oops")

    assert guarded(call) == 70
    assert capsys.readouterr().err == (
        "error: internal error: ZeroDivisionError: oops\n"
        "hint: this is a bug in lbctl; the traceback cannot be saved: LBCTL_DEBUG=1 prints it\n"
    )


def test_ctrl_c_is_130_without_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    assert _raising(KeyboardInterrupt()) == 130
    assert capsys.readouterr() == ("", "")


@pytest.mark.e2e
def test_a_reader_that_goes_away_is_141_without_a_word() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "lbctl", "version"], stdout=write_end, stderr=subprocess.PIPE, check=False
        )
    finally:
        os.close(write_end)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.e2e
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's /dev/full")
def test_a_full_disk_is_said_and_is_no_bug() -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "lbctl", "version"], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 2
    assert done.stderr == (
        b"error: cannot write the output: no space left on device\nhint: make room, or write it elsewhere\n"
    )


@pytest.mark.e2e
@pytest.mark.parametrize("extra", [{}, {"FORCE_COLOR": "1"}, {"GITHUB_ACTIONS": "true"}, {"TERM": "dumb"}, {"CI": "1"}])
def test_help_in_a_pipe_has_no_escape_sequences(extra: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "lbctl", "ls", "--help"], capture_output=True, check=True, env=os.environ | extra
    )
    assert b"\x1b" not in done.stdout + done.stderr


def test_a_bug_in_a_command_leaves_its_traceback_in_the_log_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "lbctl.log"

    def call() -> None:
        with internal_errors(log):
            raise ZeroDivisionError("oops")

    assert guarded(call) == 70
    assert capsys.readouterr().err == (
        "error: internal error: ZeroDivisionError: oops\n"
        f"hint: this is a bug in lbctl; the traceback is in {log} (LBCTL_DEBUG=1 prints it)\n"
    )
    assert "ZeroDivisionError: oops" in log.read_text()


def test_an_expected_error_in_a_command_leaves_nothing_in_the_log_file(tmp_path: Path) -> None:
    log = tmp_path / "lbctl.log"

    def call() -> None:
        with internal_errors(log):
            raise NotFound("none")

    assert guarded(call) == 4
    assert not log.exists()
