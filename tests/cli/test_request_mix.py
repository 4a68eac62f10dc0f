"""The file of --mix: read strictly, each mistake with its entry, every share with what all have in common."""

from __future__ import annotations

from pathlib import Path

import pytest

from lbctl.cli.request_data_options import DataFlags, parse_column
from lbctl.cli.request_mix import read_mix
from lbctl.cli.request_options import RequestFlags
from lbctl.cli.request_payload import payload_of
from lbctl.commands.calling import Payload, Streaming
from lbctl.errors import UsageError
from lbctl.load.requests.given import Given, Order, Written

COMMON = Payload(metadata=((b"all", b"1"),), check="resp.all", given=Given(order=Order.ONCE))


def mix(folder: Path, text: str, name: str = "m.yaml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_share_has_what_its_entry_says(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a\n1\n")
    (tmp_path / "x.bin").write_bytes(b"\x01a")
    text = """
    methods:
    - {method: A/B, weight: 2.5, name: first, data: {n: 1, t: "{{uuid}}"}, timeout: 250ms}
    - {method: A/C, data: '{"n": {{seq}}}', metadata: {x: "1", y: "{{hex 3}}", z: [a, b]}}
    - {method: A/D, data_file: x.csv, data_format: csv}
    - {method: A/E, binary_file: x.bin}
    - {method: A/F, binary_file: x.bin, binary_series: true}
    - {method: A/G, check: resp.n == 2}
    """
    b, c, d, e, f, g = read_mix(mix(tmp_path, text), COMMON, None)
    assert (b.name, b.method, b.weight, b.timeout_s) == ("first", "A/B", 2.5, 0.25)
    assert b.payload.data == '{"n": 1, "t": "{{uuid}}"}'
    assert b.payload.source.endswith("m.yaml: entry 1: data")
    assert (c.weight, c.timeout_s, c.payload.data) == (1.0, None, '{"n": {{seq}}}')
    assert c.payload.metadata == ((b"x", b"1"), (b"z", b"a"), (b"z", b"b"))
    assert c.payload.given.drawn == ((b"y", "{{hex 3}}"),)
    assert d.payload.given.file is not None
    assert (d.payload.given.file.name, d.payload.given.written) == (str(tmp_path / "x.csv"), Written.CSV)
    assert (e.payload.raw, e.payload.given.file) == (b"\x01a", None)
    assert (f.payload.raw, f.payload.given.written) == (None, Written.SERIES)
    assert (g.payload.data, g.payload.given.order) == (None, Order.ONCE)
    assert g.payload.check == "resp.n == 2"
    assert {share.payload.check for share in (b, c, d, e, f)} == {"resp.all"}


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("{}", "is not a list of methods"),
        ("[]", "is not a list of methods"),
        ("- A/B", "entry 1 is not an object with a method"),
        ("- {weight: 1}", "entry 1: the method is missing"),
        ("- {method: A/B}\n- {method: A/B, wieght: 1}", "entry 2: unknown key 'wieght'"),
        ("- {method: A/B, weight: 0}", "entry 1: weight is not a number above 0"),
        ("- {method: A/B, weight: true}", "entry 1: weight is not a number above 0"),
        ("- {method: A/B, data: {}, data_file: x}", "entry 1: data and data_file are two requests"),
        ("- {method: A/B, timeout: soon}", "entry 1: timeout: "),
        ("- {method: A/B, metadata: {grpc-x: a}}", "entry 1: metadata: 'grpc-x' is not free to be set"),
        ("- {method: A/B, metadata: {x: 1}}", "entry 1: metadata: the value of 'x' must be a string"),
        ("- {method: 5}", "entry 1: method is not a text"),
        ("- {method: A/B, check: true}", "entry 1: check is not a text"),
        ("- {method: A/B, check: resp.n = 2}", "entry 1: check: column 8: this is not an expression (equal is ==)"),
        ("- {method: A/B, data_file: none}", "entry 1: data_file: cannot read"),
        ("- {method: A/B, data_file: x, data_format: xml}", "entry 1: data_file: cannot read"),
        ("- {method: [", "is not YAML: line 1: "),
    ],
)
def test_a_mistake_is_told_with_its_entry(tmp_path: Path, text: str, mistake: str) -> None:
    with pytest.raises(UsageError) as raised:
        read_mix(mix(tmp_path, text), COMMON, None)
    assert mistake in str(raised.value)


def test_a_file_that_is_not_there_or_no_json_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--mix: cannot read .*: no such file"):
        read_mix(tmp_path / "none", COMMON, None)
    with pytest.raises(UsageError, match="is not JSON: line 2: "):
        read_mix(mix(tmp_path, "[\n{", "m.json"), COMMON, None)


@pytest.mark.parametrize(
    ("request_flags", "data", "mistake"),
    [
        (RequestFlags(data="{}"), DataFlags(mix=Path("m")), "-d and --mix are two requests"),
        (RequestFlags(), DataFlags(data_format="csv"), "--data-format is for a file: -D FILE"),
        (RequestFlags(), DataFlags(binary_series=True), "--binary-series is for a file: --binary-file FILE"),
        (RequestFlags(), DataFlags(metadata_from=[("a", "b")]), "--metadata-from takes from requests"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    request_flags: RequestFlags, data: DataFlags, mistake: str
) -> None:
    with pytest.raises(UsageError, match=mistake):
        payload_of(request_flags, data, Streaming(), {})


def test_metadata_with_actions_is_told_apart_and_binary_is_left_alone() -> None:
    flags = RequestFlags(header=[("a", "{{uuid}}"), ("b", "c"), ("d-bin", "AAE=")])
    payload = payload_of(flags, DataFlags(), Streaming(), {})
    assert [name for name, _ in payload.metadata] == [b"b", b"d-bin"]
    assert payload.given.drawn == ((b"a", "{{uuid}}"),)
    payload = payload_of(flags, DataFlags(no_template=True), Streaming(), {})
    assert payload.metadata[0] == (b"a", b"{{uuid}}")


def test_a_column_has_the_name_of_its_metadata_or_its_own() -> None:
    assert parse_column("user.id=X-User") == ("user.id", "x-user")
    assert parse_column("tenant") == ("tenant", "tenant")
    for wrong in ("", "=x", "a b", "a=te"):
        with pytest.raises(ValueError, match=r"missing|not a metadata name|not free"):
            parse_column(wrong)
