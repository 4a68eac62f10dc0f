"""``lbctl weight`` on a real etcd: what it prints, what it refuses, and that a refusal writes nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from tests.cli.conftest import Keys, Lbctl, Values

SCHEMA = Path(__file__).parents[2] / "docs" / "reference" / "weights.schema.json"
A, B = "127.0.0.1:50061", "127.0.0.1:50062"
ECHO = {f"/services/echo/{A}": f"{A}|3", f"/services/echo/{B}": f"{B}|1"}

pytestmark = pytest.mark.usefixtures("at")


def document(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8"))).validate(found)
    return found


def test_a_written_weight_is_shown_with_what_it_was(lbctl: Lbctl, keys: Keys, values: Values) -> None:
    keys(ECHO)
    said = lbctl("weight", "echo", f"{A}=1", "-y")
    assert [line.split("  ") for line in said.out.splitlines()][1][0:1] == [f"/services/echo/{A}"]
    assert "3 -> 1  75.0% -> 50.0%  127.0.0.1:50061|3  127.0.0.1:50061|1  none" in said.out
    assert said.status == 0
    assert said.err.startswith("1 weight written at revision ")
    told = f"; who registers again writes a weight of its own\nundo: lbctl weight echo {A}=3\n"
    assert said.err.endswith(told)
    assert values() == [f"{A}|1", f"{B}|1"]


def test_a_dry_run_shows_and_writes_nothing(lbctl: Lbctl, keys: Keys, values: Values) -> None:
    keys(ECHO)
    said = lbctl("weight", "echo", f"{A}=1", "--dry-run", "--no-headers")
    assert (said.status, said.err) == (0, "1 weight would change; nothing was written\n")
    assert said.out == f"/services/echo/{A}  3 -> 1  75.0% -> 50.0%  {A}|3  {A}|1  none\n"
    assert values() == list(ECHO.values())


def test_the_documents_fit_their_schema_and_tell_what_became_of_it(lbctl: Lbctl, keys: Keys) -> None:
    keys(ECHO)
    dry = document(lbctl("weight", "echo", f"{A}=1", f"{B}=1", "--dry-run", "-o", "json").out)
    written = document(lbctl("weight", "echo", f"{A}=1", f"{B}=1", "-y", "-o", "jsonl").out)
    unchanged = yaml.safe_load(lbctl("weight", "echo", f"{A}=1", "-y", "-o", "yaml").out)
    assert [each["state"] for each in (dry, written, unchanged)] == ["dry_run", "written", "unchanged"]
    assert [each["written"] for each in written["instances"]] == [True, False]
    assert [each["written"] for each in dry["instances"]] == [False, False]
    assert written["revision"] == dry["revision"] + 1 == unchanged["revision"]
    assert written["instances"][0] == {
        "key": f"/services/echo/{A}",
        "address": A,
        "lease": None,
        "weight": 3,
        "proposed": 1,
        "written": True,
        "share": 0.75,
        "share_proposed": 0.5,
        "value": f"{A}|3",
        "new_value": f"{A}|1",
        **dict.fromkeys(("base", "requests", "errors", "error_rate", "mean_ms", "why")),
    }


def test_taking_the_last_instance_out_is_warned_of(lbctl: Lbctl, keys: Keys) -> None:
    keys(ECHO)
    assert (
        "warning: no instance of echo is left in the rotation"
        in lbctl("weight", "echo", f"{A}=0", f"{B}=0", "-y").err.splitlines()
    )


@pytest.mark.parametrize(
    ("arguments", "status", "message", "hint"),
    [
        ((f"{A}=1",), 2, "standard input is no terminal, so nobody can be asked", "give -y to write, or --dry-run"),
        ((f"{A}=1", "--no-input"), 2, "--no-input, so nobody can be asked", "give -y to write, or --dry-run"),
        ((), 2, "which weight? give ADDRESS=WEIGHT", "or let it be found: --auto"),
        ((A, "-y"), 2, f"'{A}' is not ADDRESS=WEIGHT (for example 10.0.0.11:50051=3)", ""),
        ((f"{A}=-1", "-y"), 2, "weight -1 is negative (0 keeps an instance listed and never picked)", ""),
        ((f"{A}=1.5", "-y"), 2, "weight '1.5' is not a whole number from 0 to 999999999", ""),
        ((f"{A}=1000000000", "-y"), 2, "weight '1000000000' is not a whole number from 0 to 999999999", ""),
        ((f"{A}=", "-y"), 2, "weight '' is not a whole number from 0 to 999999999", ""),
        (("1.2.3.4:5=1", f"{A}=1", "-y"), 4, '1.2.3.4:5 is not an instance of "echo"', f"there are {A}, {B}"),
        ((f"{A}=1", f"{A}=2", "-y"), 2, f"/services/echo/{A} is given two weights", "give one"),
        ((f"{A}=1", "-y", "--dry-run"), 2, "--dry-run and -y contradict each other", ""),
        ((f"{A}=1", "-y", "--read-only"), 2, "--read-only: nothing is written to etcd", "use --dry-run"),
        ((f"{A}=1", "--apply"), 2, "--apply is for --auto", "give --auto, or leave it out"),
        ((f"{A}=1", "--every", "5s"), 2, "--every is for --auto", "give --auto, or leave it out"),
        (
            (f"{A}=1", "--max", "5"),
            2,
            "options of the rule and of calls are for --auto",
            "give --auto, or leave them out",
        ),
        (
            (f"{A}=1", "--protoset", "x.pb"),
            2,
            "options of the rule and of calls are for --auto",
            "give --auto, or leave them out",
        ),
        (
            ("--auto", f"{A}=1"),
            2,
            "--auto finds the weights: give no ADDRESS=WEIGHT",
            "say what they start from with --base",
        ),
        (("--auto", "--apply", "--read-only"), 2, "--read-only: nothing is written to etcd", "use --dry-run"),
        (("--auto", "--apply", "--dry-run"), 2, "--dry-run and --apply contradict each other", ""),
        (
            ("--auto", "--confirm", "2"),
            2,
            "--confirm counts looks, and without --every there is one",
            "give --every 60s",
        ),
        (
            ("--auto", "--every", "5s", "-o", "json"),
            2,
            "-o json is one document, and --every makes many",
            "use -o jsonl, or --once",
        ),
        (
            ("--auto", "--every", "5s", "--once"),
            2,
            "--once and --every contradict each other",
            "leave one of them out",
        ),
        (("--auto", "--error-high", "1%", "--error-low", "2%"), 2, "the rule: error-low is above error-high", ""),
        (("--auto", "--from", "no.json"), 4, "--from: there is no file no.json", None),
        (
            ("--auto", "--from", "no.json", "--every", "5s"),
            2,
            "--from has measured already: --every cannot be used with it",
            "",
        ),
        (("--auto", "--base", "1.2.3.4:5=1"), 4, '1.2.3.4:5 is not an instance of "echo"', f"there are {A}, {B}"),
    ],
)
def test_what_is_wrong_is_told_and_nothing_is_written(
    lbctl: Lbctl,
    keys: Keys,
    values: Values,
    arguments: tuple[str, ...],
    status: int,
    message: str,
    hint: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keys(ECHO)
    said = lbctl("weight", "echo", *arguments, "-q")
    assert (said.status, said.out) == (status, "")
    if hint is None:
        assert said.err.splitlines()[0] == f"error: {message}"
    else:
        assert said.err == f"error: {message}\nhint: {hint or 'see: lbctl weight --help'}\n"
    assert values() == list(ECHO.values())


def test_read_only_may_stand_in_the_environment_and_allows_a_dry_run(
    lbctl: Lbctl, keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys(ECHO)
    monkeypatch.setenv("LBCTL_READ_ONLY", "1")
    assert lbctl("weight", "echo", f"{A}=1", "-y").err.startswith("error: LBCTL_READ_ONLY: nothing is written to etcd")
    assert lbctl("weight", "echo", f"{A}=1", "--dry-run").status == 0


def saved(path: Path, *rows: dict[str, object], **fields: object) -> str:
    whole = {"schema": "lbctl.run/v1", "service": "echo", "method": "pkg.Svc/Call", "backends": list(rows)}
    path.write_text(json.dumps(whole | fields), encoding="utf-8")
    return str(path)


def row(address: str, ok: int, errors: int, mean_ms: float | None) -> dict[str, object]:
    latency = None if mean_ms is None else {"mean": mean_ms}
    key = f"/services/echo/{address}"
    return {"key": key, "ok": ok, "errors": errors, "latency_ms": latency, "state": "ready", "reason": ""}


def test_the_figures_of_a_saved_run_make_weights(lbctl: Lbctl, keys: Keys, values: Values, tmp_path: Path) -> None:
    keys({f"/services/echo/{A}": f"{A}|5", f"/services/echo/{B}": f"{B}|5"})
    run = saved(tmp_path / "run.json", row(A, 80, 20, 150.0), row(B, 100, 0, 50.0))

    dry = lbctl("weight", "echo", "--auto", "--from", run, "-o", "json")
    found = document(dry.out)

    figures = ("address", "base", "proposed", "requests", "errors", "error_rate", "mean_ms", "why")
    assert [[each[name] for name in figures] for each in found["instances"]] == [
        [A, 5, 1, 100, 20, 0.2, 150.0, "errors 20% above 10%: halved, mean 150ms above 100ms: -1"],
        [B, 5, 10, 100, 0, 0.0, 50.0, "errors 0% below 1%: doubled"],
    ]
    assert (found["state"], found["method"]) == ("dry_run", "pkg.Svc/Call")
    assert dry.err == "2 weights would change; nothing was written\n"
    assert values() == [f"{A}|5", f"{B}|5"]

    assert lbctl("weight", "echo", "--auto", "--from", run, "--apply").status == 0
    assert values() == [f"{A}|1", f"{B}|10"]


def test_the_rule_and_the_base_can_be_set(lbctl: Lbctl, keys: Keys, tmp_path: Path) -> None:
    keys({f"/services/echo/{A}": f"{A}|5", f"/services/echo/{B}": f"{B}|5"})
    run = saved(tmp_path / "run.json", row(A, 80, 20, 150.0), row(B, 100, 0, 50.0))
    rule = ("--error-high", "30%", "--latency-high", "140ms", "--max", "40", "--min", "2", "--base", f"{B}=15")
    found = document(lbctl("weight", "echo", "--auto", "--from", run, "-o", "json", *rule).out)
    assert [(each["base"], each["proposed"]) for each in found["instances"]] == [(5, 4), (15, 30)]


def test_a_change_below_min_change_is_left(lbctl: Lbctl, keys: Keys, tmp_path: Path) -> None:
    keys({f"/services/echo/{A}": f"{A}|5"})
    run = saved(tmp_path / "run.json", row(A, 95, 5, 150.0))
    found = document(lbctl("weight", "echo", "--auto", "--from", run, "-o", "json", "--min-change", "2").out)
    assert (found["state"], found["instances"][0]["proposed"]) == ("unchanged", 5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "is not a run document"),
        ('{"schema": "lbctl.services/v1"}', "is not a run document"),
        ('{"schema": "lbctl.run/v1"}', "is not a whole run document: KeyError('service')"),
        (
            '{"schema": "lbctl.run/v1", "service": "order", "method": "m", "backends": []}',
            'is a run of "order", and not of "echo"',
        ),
        (
            '{"schema": "lbctl.run/v1", "service": "echo", "method": "m", "backends": [{"key": "a", "ok": null}]}',
            "is not a whole run document: ",
        ),
    ],
)
def test_a_file_that_is_no_run_is_refused(lbctl: Lbctl, keys: Keys, tmp_path: Path, text: str, message: str) -> None:
    keys(ECHO)
    path = tmp_path / "run.json"
    path.write_text(text, encoding="utf-8")
    said = lbctl("weight", "echo", "--auto", "--from", str(path))
    assert (said.status, said.out) == (2, "")
    assert f"error: --from: {path} {message}" in said.err


def test_it_is_said_beforehand_that_clients_heed_no_weight_or_its_owner_writes_another(
    lbctl: Lbctl, keys: Keys
) -> None:
    keys(
        {
            f"grpc:pay:v1:live/{A}": json.dumps({"Op": 0, "Addr": A, "MetadataX": {"name": "pay", "weight": 3}}),
            "/kratos_etcd/shop/n1": json.dumps({"appid": "shop", "hostname": "n1", "addrs": [f"grpc://{B}"]}),
        }
    )
    unheeded = lbctl("weight", "pay", f"{A}=1", "--dry-run").err.splitlines()
    assert unheeded[-2:] == [
        "1 weight would change; nothing was written",
        "clients of Jupiter go by the address, and heed no weight",
    ]
    assert "heed no weight" in lbctl("weight", "pay", f"{A}=1", "-y").err
    owned = lbctl("weight", "shop", f"{B}=1", "--dry-run").err.splitlines()
    assert owned[-1] == (
        "1 weight would change; nothing was written; Kratos v1 registers anew every 30s, and writes its own value"
    )
