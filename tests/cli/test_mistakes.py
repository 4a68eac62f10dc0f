"""What wrong command lines may have meant."""

from __future__ import annotations

import pytest
from typer.main import get_group

from lbctl.cli import LISTED
from lbctl.cli.app import OTHERS, build
from lbctl.cli.mistakes import _COMMANDS, _OPTIONS
from tests.cli.conftest import Lbctl


def test_every_option_that_is_suggested_is_one() -> None:
    group = get_group(build(["not a command"]))
    shown = {
        name
        for command in group.commands.values()
        for parameter in command.params
        if not getattr(parameter, "hidden", False)
        for name in (*parameter.opts, *parameter.secondary_opts)
    }
    targets = {target.partition(" ")[0] for targets in _OPTIONS.values() for target in targets}
    assert targets <= shown
    assert not {f"--{word}" for word in _OPTIONS} & shown
    commands = {listed.name for listed in LISTED} | set(OTHERS)
    assert {target.partition(" ")[0] for target in _COMMANDS.values()} <= commands
    assert not set(_COMMANDS) & commands


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("hammer echo --rate 5", "did you mean --rps?"),
        ("hammer echo --qps 5", "did you mean --rps?"),
        ("hammer echo --total 5", "did you mean --requests?"),
        ("hammer echo --iterations 5", "did you mean --requests?"),
        ("hammer echo --vus 5", "did you mean --concurrency?"),
        ("hammer echo --threads 5", "did you mean --concurrency?"),
        ("hammer echo --conns 5", "did you mean --connections?"),
        ("hammer echo --durtion 5s", "did you mean --duration?"),
        ("hammer echo --body {}", "did you mean --data?"),
        ("hammer echo --lb-strategy round_robin", "did you mean --policy?"),
        ("hammer echo --maxOutstanding 5", "did you mean --max-outstanding?"),
        ("hammer echo --max_errors 5", "did you mean --max-errors?"),
        ("hammer echo --thresh p99<1s", "did you mean --threshold?"),
        ("hammer echo --call a.B/C", "the method stands behind the service: SERVICE METHOD;"),
        ("hammer echo --insecure", "did you mean --plaintext (no TLS) or --tls-skip-verify?"),
        ("hammer echo --json", "did you mean --output json?"),
        ("hammer echo -insecure", "did you mean --plaintext (no TLS) or --tls-skip-verify?"),
        ("hammer echo -total 5", "did you mean --requests?"),
        ("hammer echo -rps 5", "did you mean --rps? long options have two dashes;"),
        ("hammer echo --ui lve", "did you mean live?"),
        ("hammer echo --threshold p98x<5ms", "did you mean p99?"),
        ("compare echo --qps 5", "did you mean --rps?"),
        ("ls --namespace x", "did you mean --prefix?"),
        ("ls --server x", "did you mean --endpoints?"),
        ("ls --endpoint x", "did you mean --endpoints?"),
        ("doctor --fail-on warning", "did you mean warn?"),
        ("demo --delay 2ms", "did you mean --latency?"),
        ("hammer echo --zzz", ""),
        ("hammer echo -n many", ""),
        ("hammer echo --ui", ""),
    ],
)
def test_an_option_that_there_is_not_is_said_with_the_one_that_may_be_meant(
    line: str, meant: str, lbctl: Lbctl
) -> None:
    words = line.split()
    said = lbctl(*words)
    error, hint = said.err.splitlines()
    assert (said.status, said.out) == (2, "")
    assert error.startswith("error: ")
    assert "Possible options" not in error
    see = f"see: lbctl {words[0]} --help"
    if meant.endswith((";", "?")):
        assert hint == f"hint: {meant} {see}".replace("?;", "?")
    else:
        assert hint == f"hint: {see}"


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("list", "ls"),
        ("LS", "ls"),
        ("attack", "hammer"),
        ("hamer", "hammer"),
        ("delete", "deregister"),
        ("invoke", "call"),
        ("zzz", ""),
    ],
)
def test_a_command_that_there_is_not_is_said_with_the_one_that_may_be_meant(
    word: str, meant: str, lbctl: Lbctl
) -> None:
    hint = f"did you mean lbctl {meant}? " if meant else ""
    assert lbctl(word) == (2, "", f"error: No such command '{word}'\nhint: {hint}see: lbctl --help\n")
