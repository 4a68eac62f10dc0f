"""Real shells with the scripts as they are printed: Tab pressed, and what then stands on the line."""

from __future__ import annotations

from pathlib import Path

import pytest

from lbctl.cli.completion_scripts import SCRIPTS
from tests.cli.conftest import Keys
from tests.cli.shells import PROMPT, Shell, furnish, shell

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

KEYS = {
    "/services/echo/10.0.0.11:50051": "10.0.0.11:50051|5",
    "/services/echo/10.0.0.12:60061": "10.0.0.12:60061|1",
    "/services/echo/[2001:db8::1]:50051": "[2001:db8::1]:50051|1",
    "/services/echo/[2001:db8::1]:50061": "[2001:db8::1]:50061|1",
    "/services/shop.v1/10.1.0.1:9": "10.1.0.1:9|3",
}


@pytest.fixture
def home(tmp_path: Path, keys: Keys, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with this lbctl, an etcd with two services, and all the time a slow machine needs."""
    keys(KEYS)
    monkeypatch.setenv("LBCTL_COMPLETION_TIMEOUT", "20s")
    found = tmp_path / "home"
    found.mkdir()
    furnish(found)
    return found


def in_every_shell(user: Shell) -> None:
    """What is alike in all of them."""
    user.types("lbctl ham\t", "lbctl hammer")
    user.types("lbctl hammer sh\t", "lbctl hammer shop.v1")
    user.types("lbctl drain echo 10.0.0.12:6\t-y", "lbctl drain echo 10.0.0.12:60061 -y")
    user.types('lbctl drain echo "[2001:db8::1]:5006\t', '"[2001:db8::1]:50061"')
    user.types("lbctl weight echo 10.0.0.11:5\t7", "lbctl weight echo 10.0.0.11:50051=7")
    user.types("lbctl hammer sh -q<<<\t", "lbctl hammer shop.v1")
    user.types("lbctl hammer --policy=smo\t", "--policy=smooth_wrr")
    user.types("lbctl report run\\ \t", "lbctl report run\\ one.json")
    user.types("lbctl hammer -d @no\t", "-d @notes.txt")
    user.types("lbctl report ~/run2\t", "lbctl report ~/run2.json")
    user.types("lbctl demo -- lbctl hammer --engine gr\t", "--engine grpcio")
    user.types("lbctl demo -- cat run2\t", "cat run2.json")


@pytest.mark.usefixtures("at")
def test_bash(home: Path) -> None:
    (home / "rc").write_text(f"PS1='{PROMPT}'\nsource <(lbctl completion bash)\n")
    with shell(["bash", "--noprofile", "--rcfile", str(home / "rc"), "-i"], home) as user:
        in_every_shell(user)
        user.types("lbctl drain echo [\t", "lbctl drain echo \\[2001:db8::1\\]:500")
        user.types("lbctl drain echo [2001:db8::1]:5006\t-y", "[2001:db8::1]:50061 -y")
        user.types("lbctl drain echo [2001:db8::1]:500\t\t", "50051  50061")
        user.types("lbctl ls $HOM\t", "lbctl ls $HOME")


@pytest.mark.usefixtures("at")
def test_zsh(home: Path) -> None:
    (home / "functions").mkdir()
    (home / "functions" / "_lbctl").write_text(SCRIPTS["zsh"].text)
    (home / ".zshrc").write_text(f"PS1='{PROMPT}'\nfpath+=(~/functions)\nautoload -U compinit && compinit -u\n")
    with shell(["zsh", "-i"], home) as user:
        in_every_shell(user)
        user.types("lbctl drain echo \\[\t", "lbctl drain echo \\[2001:db8::1\\]:500")
        user.types("lbctl hammer --policy p2\t\t", "p2c       -- the less busy of two random backends")


@pytest.mark.usefixtures("at")
def test_fish(home: Path) -> None:
    folder = home / ".config" / "fish"
    (folder / "completions").mkdir(parents=True)
    (folder / "completions" / "lbctl.fish").write_text(SCRIPTS["fish"].text)
    (folder / "config.fish").write_text(f"set -g fish_greeting\nfunction fish_prompt; echo -n '{PROMPT}'; end\n")
    with shell(["fish", "-i"], home) as user:
        in_every_shell(user)
        user.types("lbctl drain echo \\[\t", "lbctl drain echo \\[2001:db8::1\\]:500")
        user.types("lbctl hammer --policy p2\t", "p2c  (the less busy of two random backends)")
