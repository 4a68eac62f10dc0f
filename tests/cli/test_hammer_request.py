"""From what was typed to the request: what is told of what does not fit together, and is no error."""

from __future__ import annotations

from pathlib import Path

import pytest

from lbctl.cli.hammer_options import LoadFlags
from lbctl.cli.hammer_request import Asked, build
from lbctl.cli.request_options import RequestFlags
from lbctl.cli.settings import resolve
from tests.cli.conftest import Lbctl


@pytest.mark.parametrize(
    ("load", "in_flight", "notes"),
    [
        (LoadFlags(requests=49, concurrency=50), 49, ["-c 50 is more than there are calls: 49 are in flight"]),
        (LoadFlags(requests=49), 49, []),  # nobody asked for 50
        (LoadFlags(requests=50, concurrency=50), 50, []),
        (LoadFlags(duration=1.0, concurrency=5000), 5000, []),
        (LoadFlags(requests=5, concurrency=50, rps=10.0), 50, []),  # a bound, which is not reached
    ],
)
def test_more_in_flight_than_there_are_calls_is_capped_and_told(
    load: LoadFlags, in_flight: int, notes: list[str]
) -> None:
    found = build("echo", None, Asked(load, RequestFlags()), resolve({}, {}, {}), {})
    assert (found.plan.concurrency, list(found.notes)) == (in_flight, notes)


@pytest.mark.parametrize("command", ["hammer echo Echo/Say", "compare echo Echo/Say --policy p2c --policy random"])
@pytest.mark.parametrize(
    ("option", "value", "text", "message"),
    [
        ("-d", "{", "", "-d: request is not valid JSON: line 1 column 2"),
        ("-d", '{"a": "{{nope}}"}', "", "-d: request: {{nope}}: there is no nope"),
        ("-d", "@x", "[1", "-d: x is not valid JSON: line 1 column 3"),
        ("-D", "x", '{"a": 1}\n{"b" 2}', "-D: x is not valid JSON: line 2 column 6"),
        ("-D", "x", "", "-D: x is empty: there is no request in it"),
        ("-D", "x.csv", "a,b\n1\n", "-D: x.csv: line 2 has 1 cell for 2 columns"),
        ("-D", "x", "\xff", "-D: x is not UTF-8 text (byte 0)"),
        ("-D", ".", "", "-D: cannot read .: is a directory"),
        ("-H", "a: {{nope}}", "", "metadata a: {{nope}}: there is no nope"),
        ("-m", "{", "", "Invalid value for '-m' / '--metadata': not JSON: line 1 column 2"),
    ],
)
def test_requests_that_are_wrong_whatever_the_method_is_are_told_before_anybody_is_asked(
    command: str, option: str, value: str, text: str, message: str, lbctl: Lbctl, tmp_path: Path
) -> None:
    for name in ("x", "x.csv"):
        (tmp_path / name).write_bytes(text.encode("latin-1"))
    said = lbctl(*command.split(), option, value, "--endpoints", "127.0.0.1:1")
    assert (said.status, said.out) == (2, "")
    assert said.err.startswith(f"error: {message}")
    assert "\nhint: " in said.err


def test_a_mix_that_is_not_there_or_has_a_request_that_is_none_is_told_so_too(lbctl: Lbctl, tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text("- {method: a.B/C, data: '{'}")
    said = lbctl("hammer", "echo", "--mix", "m.yaml", "--endpoints", "127.0.0.1:1")
    assert said.err.startswith("error: --mix: m.yaml: entry 1: data is not valid JSON: line 1 column 2")
    said = lbctl("hammer", "echo", "--mix", "none.yaml", "--endpoints", "127.0.0.1:1")
    message = "error: --mix: cannot read none.yaml: no such file or directory\n"
    assert (said.status, said.err) == (2, f"{message}hint: see: lbctl hammer --help\n")
