"""What may stand at the cursor of a line, without a shell and without etcd."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path

import pytest

from lbctl.balance.policies.table import POLICIES
from lbctl.cli import LISTED
from lbctl.cli.completion import told
from lbctl.cli.completion_answer import answer
from lbctl.cli.completion_shells import WORD_BREAKS, from_bash
from lbctl.cli.completion_table import commands, syntax_of, syntax_of_root
from lbctl.cli.completion_values import Typed, command_line, free
from lbctl.cli.layouts import LAYOUTS, WRITERS
from lbctl.doctor.table import CHECKS
from lbctl.stats.metrics import names_of_backends
from tests.cli.completions import scripts
from tests.cli.conftest import Lbctl


@pytest.fixture(autouse=True)
def no_etcd(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here is anybody's to answer."""
    monkeypatch.setenv("LBCTL_ENDPOINTS", "127.0.0.1:1")


def at(line: str) -> list[str]:
    """The candidates in full, where the cursor is at the bar, or at the end."""
    before, _, after = line.partition("|")
    words, _ = from_bash([before, after, ""])
    return [each.text for each in answer(words).candidates]


def about(line: str) -> dict[str, str]:
    words, _ = from_bash([line, "", ""])
    return {each.text: each.about for each in answer(words).candidates}


def bash(before: str, after: str = "") -> list[str]:
    """What bash is told: a line about the answer, and what is to be inserted."""
    return told(["bash", before, after, WORD_BREAKS])


def test_the_scripts_of_the_repository_are_those_that_are_printed(lbctl: Lbctl) -> None:
    for path, text in scripts().items():
        assert path.read_text(encoding="utf-8") == text, "run: python -m tests.cli.completions"
    assert lbctl("completion", "fish").out == next(text for path, text in scripts().items() if path.suffix == ".fish")


@pytest.mark.parametrize(
    ("shell", "hint"),
    [
        ("/bin/zsh", "one of: bash, zsh, fish, powershell; yours seems to be zsh: lbctl completion zsh"),
        ("/bin/tcsh", "one of: bash, zsh, fish, powershell"),
        ("", "one of: bash, zsh, fish, powershell"),
    ],
)
def test_without_a_shell_and_with_an_unknown_one_those_there_are_are_named(
    shell: str, hint: str, lbctl: Lbctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELL", shell)
    assert lbctl("completion") == (2, "", f"error: completion needs a SHELL\nhint: {hint}\n")
    assert lbctl("completion", "csh") == (2, "", f"error: there is no completion for 'csh'\nhint: {hint}\n")


@pytest.mark.parametrize("name", ["", *(name for name, _ in commands())])
def test_every_option_that_takes_a_value_completes_or_says_that_its_text_is_free(name: str) -> None:
    syntax = syntax_of(name) if name else syntax_of_root()
    assert syntax is not None
    for parameter in (*syntax.options.values(), *syntax.arguments):
        if parameter.hidden:
            continue
        assert (parameter.completes is not None) is parameter.takes_value, (name, parameter)
        if parameter.completes is not None:
            offered = list(parameter.completes(Typed(command=name)))
            assert not offered or parameter.completes not in (free, command_line)


@pytest.mark.parametrize("name", [listed.name for listed in LISTED])
def test_every_option_of_a_command_that_is_not_hidden_is_offered_with_what_it_does(name: str) -> None:
    syntax, offered = syntax_of(name), about(f"lbctl {name} --")
    assert syntax is not None
    for flag, option in syntax.options.items():
        if flag.startswith("--"):
            assert (flag in offered) is not option.hidden, flag
            assert offered.get(flag, "-"), flag


def test_commands_come_with_what_they_do() -> None:
    assert at("lbctl ") == [*(listed.name for listed in LISTED), "version", "help"]
    assert about("lbctl ha") == {"hammer": "load through a balancing policy, live per-backend view"}
    assert at("lbctl help wa") == ["watch"]
    assert at("lbctl completion ") == ["bash", "zsh", "fish", "powershell"]
    assert at("lbctl nothing ") == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("lbctl hammer --policy smo", ["smooth_wrr"]),
        ("lbctl hammer --policy=smo", ["--policy=smooth_wrr"]),
        ("lbctl hammer --policy wrr", ["wrr_plain", "wrr_lvs"]),
        ("lbctl hammer --policy grpc:r", ["grpc:round_robin", "grpc:ring_hash"]),
        ("lbctl compare --policy smooth_wrr --policy p2c,fai", ["p2c,failure-penalty="]),
        ("lbctl hammer --policy least_request --policy-opt mo", ["mode="]),
        ("lbctl hammer --policy-opt mo| --policy least_request", ["mode="]),
        ("lbctl hammer --policy weighted_random --policy-opt=form=al", ["--policy-opt=form=alias"]),
        ("lbctl hammer --policy least_request --policy-opt mode=p2c,ch", ["mode=p2c,choice-count="]),
        ("lbctl hammer --policy least_request --policy-opt choice-count=3,ch", []),
        ("lbctl hammer --policy nobody --policy-opt ", []),
        ("lbctl hammer --engine ", ["wire", "grpcio"]),
        ("lbctl hammer -oj", ["-ojson", "-ojsonl", "-ojunit"]),
        ("lbctl hammer -qvoj", ["-qvojson", "-qvojsonl", "-qvojunit"]),
        ("lbctl hammer --policy swr", ["swrr"]),
        ("lbctl hammer -n10 --sto", []),
        ("lbctl ls -o ", ["table", "wide", "json", "yaml", "csv", "name"]),
        ("lbctl -o | ls", ["table", "wide", "json", "yaml", "csv", "name"]),
        ("lbctl --output=| watch echo", ["--output=text", "--output=jsonl"]),
        ("lbctl ls -- -", []),
        ("lbctl --layout ", list(LAYOUTS)),
        ("lbctl demo --layout ", list(WRITERS)),
        ("lbctl hammer --color a", ["always", "auto"]),
        ("lbctl ls --service-from ", ["key", "value"]),
        ("lbctl hammer --ui pl", ["plain"]),
        ("lbctl hammer --arrival ", ["constant", "poisson", "bursts:"]),
        ("lbctl hammer --data-order r", ["random"]),
        ("lbctl hammer --hash-key me", ["meta:"]),
        ("lbctl hammer --hash-key uu", ["uuid"]),
        ("lbctl hammer -H 'Tenant: a' -m '{\"x-id\": \"1\"}' --hash-key meta:", ["meta:tenant", "meta:x-id"]),
        ('lbctl hammer -d \'[{"id": 1, "of": {}}]\' --hash-key field:', ["field:id", "field:of"]),
        ('lbctl hammer -d \'{"id": 1, "of\' --metadata-from ', []),
        ("lbctl hammer --metadata-from id=x-user -H 'a: b' --sensitive ", ["a", "x-user"]),
        (
            "lbctl hammer --threshold backen",
            ["backends", "backend[", *(f"backend.{name}" for name, _ in names_of_backends())],
        ),
        (
            "lbctl hammer --backends 1.1.1.1:1=2,[::1]:2 --threshold backend[",
            ["backend[1.1.1.1:1].", "backend[[::1]:2]."],
        ),
        ("lbctl hammer --abort-on method[Cart/Get].error", ["method[Cart/Get].errors", "method[Cart/Get].error_rate"]),
        ("lbctl hammer --when-all-out ", ["panic", "wait", "fail"]),
        ("lbctl hammer --breaker con", ["consecutive"]),
        ("lbctl hammer --breaker consecutive,fai", ["consecutive,failures="]),
        ("lbctl hammer --subset 5,kind=r", ["5,kind=random", "5,kind=ring"]),
        ("lbctl hammer --subset 5,si", []),
        ("lbctl hammer --outlier-detection interval=5s,dia", ["interval=5s,dialect="]),
        ("lbctl hammer --health-check mode=", ["mode=watch", "mode=check"]),
        ("lbctl hammer --threshold backend.p9", [f"backend.p{p}" for p in ("90", "95", "99", "99.9", "99.99")]),
        ("lbctl hammer --find-max error", ["errors", "error_rate"]),
        ("lbctl compare --fail-on-regression p99<5%,er", ["p99<5%,error_rate<"]),
        ("lbctl hammer --ci gi", ["github"]),
        ("lbctl doctor --select LB1", [check.code for check in CHECKS if check.code.startswith("LB1")]),
        ("lbctl doctor --ignore LB101,LB10", ["LB101,LB102", "LB101,LB103", "LB101,LB104"]),
        ("lbctl ls --sort ttl| echo", ["ttl"]),
        ("lbctl policies p2", ["p2c", "p2c_ewma"]),
        ("lbctl bench ", ["policies"]),
        ("lbctl bench policies ji", []),
        ("lbctl bench policies j", ["jump"]),
        ("lbctl register echo ", []),
        ("lbctl hammer --tls-server-name ", []),
        ("lbctl hammer -n ", []),
    ],
)
def test_what_may_stand_at_the_cursor(line: str, expected: list[str]) -> None:
    assert sorted(at(line)) == sorted(expected)


def test_policies_come_with_a_line_of_help() -> None:
    offered = about("lbctl hammer --policy ")
    assert offered == {name: policy.summary for name, policy in POLICIES.items()}
    assert about("lbctl doctor --select LB201") == {"LB201": "key without lease (warn)"}


def test_options_that_are_given_are_not_offered_again_unless_they_may_be() -> None:
    offered = at("lbctl hammer -n 10 --threshold p99<1s --q")
    assert offered == ["--quiet"]
    assert "--requests" not in at("lbctl hammer -n 10 --")
    assert "--requests" not in at("lbctl hammer --| -n 10")
    assert at("lbctl hammer --tls| --tls")[0] == "--tls"
    assert "--threshold" in at("lbctl hammer --threshold 'p99<1s' --")
    assert "-n" in at("lbctl hammer -")
    assert "-n" not in at("lbctl hammer --")


def test_a_value_that_may_be_left_out_is_offered_and_so_is_what_follows() -> None:
    assert "interval=" in at("lbctl hammer --outlier-detection ")
    assert "--policy" in at("lbctl hammer --outlier-detection --pol")
    assert at("lbctl hammer --outlier-detection --engine w") == ["wire"]


def test_what_follows_demo_is_lbctl_again_or_another_program() -> None:
    assert at("lbctl demo --tls -- lbctl hammer --engine w") == ["wire"]
    assert at("lbctl demo lbctl ls ") == ["echo"]
    assert at("lbctl demo --service shop --service=cart -- lbctl ls ") == ["shop", "cart"]
    assert "demo.echo.v1.Echo/Say" in at("lbctl demo -- lbctl hammer echo ")
    assert at("lbctl demo -- lbctl hammer echo Echo/S") == ["Echo/Say"]
    assert at("lbctl demo -- lbctl hammer echo Sa") == ["Say"]
    assert bash("lbctl demo -b 2 -- gr") == ["delegate 5 command"]
    assert bash("lbctl register shop 10.0.0.1:1 -- ./server --po") == ["delegate 5"]
    assert bash("lbctl register shop 10.0.0.1:1 -- lbctl demo -- ls -") == ["delegate 8"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where command lines run has some files."""
    for name in ("run.json", "run two.json", "page.html", "notes.txt", ".hidden.json", "ru$n.csv"):
        (tmp_path / name).touch()
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "old.json").touch()
    return tmp_path


def test_the_columns_of_a_file_of_requests_complete(folder: Path) -> None:
    (folder / "carts.csv").write_text('id,"user, name"\n1,a\n')
    (folder / "carts.ndjson").write_text('{"id": 1, "items": []}\n{"other": 2}\n')
    (folder / "empty.csv").touch()
    assert at("lbctl hammer shop Cart/Add -D carts.csv --metadata-from ") == ["id", "user, name"]
    assert at("lbctl hammer shop Cart/Add --data-file=carts.ndjson --hash-key field:i") == ["field:id", "field:items"]
    assert at("lbctl hammer shop Cart/Add -d @carts.ndjson --metadata-from it") == ["items"]
    assert at("lbctl hammer shop Cart/Add -D empty.csv --metadata-from ") == []
    assert at("lbctl hammer shop Cart/Add -D . --metadata-from ") == []


def test_profiles_of_the_settings_file_complete(folder: Path) -> None:
    (folder / "lbctl.yaml").write_text("profile: {staging: {}, stage: {}, prod: {}}")
    assert at("lbctl ls --profile st") == ["staging", "stage"]
    assert at("lbctl --profile ") == ["staging", "stage", "prod"]
    (folder / "lbctl.yaml").write_text("profile: [")
    assert at("lbctl ls --profile ") == []


@pytest.mark.usefixtures("folder")
def test_files_complete_where_one_is_read_or_written() -> None:
    assert at("lbctl report ") == ["page.html", "run two.json", "run.json", "runs/"]
    assert at("lbctl report .h") == [".hidden.json"]
    assert at("lbctl report runs/") == ["runs/old.json"]
    assert at("lbctl report nowhere/") == []
    assert at("lbctl hammer --save no") == ["notes.txt"]
    assert at("lbctl hammer -Dno") == ["-Dnotes.txt"]
    assert at("lbctl hammer -d @no") == ["@notes.txt"]
    assert at("lbctl hammer -d ") == ["@"]
    assert at("lbctl hammer --tls-ca=pa") == ["--tls-ca=page.html"]
    assert at("lbctl hammer --ci junit=no") == ["junit=notes.txt"]
    assert at("lbctl hammer --mix ") == ["run two.json", "run.json", "runs/"]


@pytest.mark.usefixtures("folder")
def test_bash_is_told_what_readline_is_to_insert() -> None:
    assert bash("lbctl report run") == ["filenames", "run two.json", "run.json", "runs"]
    assert bash("lbctl report runs") == ["nospace filenames", "runs"]
    assert bash("lbctl hammer --save=no") == ["filenames", "notes.txt"]
    assert bash("lbctl hammer -d @ru") == ["", "@ru\\$n.csv", "@run\\ two.json", "@run.json", "@runs/"]
    assert bash('lbctl report "run t') == ["filenames", "run two.json"]
    assert bash("lbctl report run\\ t") == ["filenames", "run two.json"]
    assert bash("lbctl hammer --policy-opt=sta") == ["nospace", "state="]
    assert bash("lbctl hammer --threshold 'p99.99") == ["nospace", "p99.99"]
    assert bash("lbctl compare --fail-on-regression rp") == ["nospace", "rps\\<"]


def test_powershell_gets_and_gives_words_in_its_own_way(folder: Path) -> None:
    packed = base64.b64encode("\n".join(["2", "run t", "lbctl", "report", "run t"]).encode()).decode()
    assert told(["powershell", packed]) == ["filenames", "-\trun two.json\t'run two.json'\t"]
    packed = base64.b64encode("\n".join(["2", "", "lbctl", "completion", ""]).encode()).decode()
    assert [line.split("\t")[2] for line in told(["powershell", packed])[1:]] == ["bash", "zsh", "fish", "powershell"]


def test_nothing_is_said_of_what_cannot_be_understood() -> None:
    assert told([]) == []
    assert told(["csh", "x"]) == []
    assert told(["bash"]) == []
    assert told(["zsh", "not a number", "", "lbctl"]) == []
    assert told(["powershell", "%"]) == []
    assert at('lbctl hammer --policy "smo') == ["smooth_wrr"]
    assert at("lbctl") == []


def test_commands_and_options_complete_without_anything_heavy() -> None:
    heavy = ("asyncio", "rich", "grpc", "google.protobuf", "etcd3", "httpx", "yaml", "lbctl.discovery.codecs")
    lines = ("lbctl ", "lbctl hammer --", "lbctl ls -o ")
    code = f"from lbctl.cli.completion import told; found = [len(told(['bash', line, '', ''])) for line in {lines!r}]\n"
    code += f"import sys, json; print(json.dumps([found, [m for m in {heavy!r} if m in sys.modules]]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    numbers, loaded = json.loads(done.stdout)
    assert min(numbers) > 5
    assert loaded == []
