from __future__ import annotations

from collections.abc import Mapping

import pytest

from lbctl.cli.metadata import headers, parse_header, parse_metadata, parse_name
from lbctl.cli.redaction import without_secrets
from lbctl.errors import UsageError
from lbctl.redaction import is_secret


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("x-id: 7", ("x-id", "7")),
        ("Authorization: Bearer a:b", ("authorization", "Bearer a:b")),
        ("x:", ("x", "")),
        ("x:\t padded \t", ("x", "padded")),
        ("a.b_c-9:1", ("a.b_c-9", "1")),
    ],
)
def test_a_header_is_a_name_in_any_case_and_a_value(text: str, pair: tuple[str, str]) -> None:
    assert parse_header(text) == pair


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x-id", "write 'name: value'"),
        (": v", "write 'name: value'"),
        (" : v", "the name is missing"),
        ("a b: v", "'a b' is not a metadata name (letters, digits, '-', '_' and '.')"),
        ("ä: v", "'ä' is not a metadata name (letters, digits, '-', '_' and '.')"),
        (":path: /x", "':path' is not free to be set: it belongs to HTTP/2 or gRPC"),
        ("grpc-timeout: 1S", "'grpc-timeout' is not free to be set: it belongs to HTTP/2 or gRPC"),
        ("Content-Type: x", "'content-type' is not free to be set: it belongs to HTTP/2 or gRPC"),
    ],
)
def test_a_header_that_cannot_be_sent_is_refused_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r".+") as refused:
        parse_header(text)
    assert str(refused.value) == message


RESERVED = "te content-type connection content-length transfer-encoding keep-alive proxy-connection upgrade"


@pytest.mark.parametrize("name", RESERVED.split())
def test_names_that_http_2_keeps_for_itself_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is not free to be set"):
        parse_name(name)


@pytest.mark.parametrize("name", ["Host", ":authority"])
def test_the_authority_is_set_by_its_option(name: str) -> None:
    with pytest.raises(ValueError, match="is the authority of a call: --authority sets it"):
        parse_name(name)


def test_metadata_in_json_has_strings_or_lists_of_them() -> None:
    assert parse_metadata('{"X-Id": " 7 ", "tag": ["a", "b"], "none": []}') == (
        ("x-id", "7"),
        ("tag", "a"),
        ("tag", "b"),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON: line 1 column 2: expecting property name enclosed in double quotes"),
        ('["a"]', 'not a JSON object (write {"name": "value"})'),
        ('{"a": 5}', "the value of 'a' must be a string or a list of strings"),
        ('{"a": ["b", null]}', "the value of 'a' must be a string or a list of strings"),
        ('{"a": "1", "a": "2"}', "the name 'a' appears twice (give one list of values)"),
        ('{"te": "x"}', "'te' is not free to be set: it belongs to HTTP/2 or gRPC"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_wrong_metadata_in_json_is_refused_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r".+") as refused:
        parse_metadata(text)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        ("AQI=", b"AQI"),  # base64 with padding
        ("AQI", b"AQI"),  # without
        ("-_8", b"+/8"),  # in its other alphabet
        ("", b""),
    ],
)
def test_a_binary_value_is_base64_and_sent_without_padding(value: str, sent: bytes) -> None:
    assert headers([("k-bin", value)], None) == ((b"k-bin", sent),)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("a\nb", "metadata x: character 2 of the value is a control character"),
        ("a\0", "metadata x: character 2 of the value is a control character"),
        ("é", "metadata x: character 1 of the value is not ASCII"),
    ],
)
def test_a_value_that_cannot_be_sent_is_refused_without_being_shown(value: str, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        headers([("x", value)], None)
    assert (str(refused.value), refused.value.hint) == (
        message,
        "send it in base64 as x-bin, or percent-encode it",
    )


def test_binary_values_that_are_joined_are_sent_as_fields_of_their_own() -> None:
    assert headers([("k-bin", "AQI, AwQ=,")], None) == ((b"k-bin", b"AQI"), (b"k-bin", b"AwQ"), (b"k-bin", b""))


@pytest.mark.parametrize("value", ["hello", "hello, world", "é", "AQI==", "AQ=I", "A", "AQI,A", "AQI!", "=", "AQI=,é"])
def test_a_binary_value_that_is_not_base64_is_refused_without_being_shown(value: str) -> None:
    with pytest.raises(UsageError) as refused:
        headers([("k-bin", value)], None)
    assert (str(refused.value), refused.value.hint) == (
        "metadata k-bin: the value is not base64, as those of -bin names are",
        "text is made base64 by: printf %s TEXT | base64",
    )


ENVIRON: Mapping[str, str] = {"TOKEN": "abc", "EMPTY": "", "LINES": "a\nb"}


def test_variables_are_replaced_only_where_that_is_asked_for() -> None:
    assert headers([("x", "Bearer ${TOKEN}${EMPTY}!")], ENVIRON) == ((b"x", b"Bearer abc!"),)
    assert headers([("x", "Bearer ${TOKEN} $TOKEN")], None) == ((b"x", b"Bearer ${TOKEN} $TOKEN"),)


def test_a_variable_that_is_not_set_is_named() -> None:
    with pytest.raises(UsageError) as refused:
        headers([("x", "${TOKEN}${TOKNE}")], ENVIRON)
    assert str(refused.value) == "--expand-headers: x needs the environment variable TOKNE, which is not set"


def test_what_a_variable_holds_is_checked_as_what_is_typed() -> None:
    with pytest.raises(UsageError, match="character 2 of the value is a control character"):
        headers([("x", "${LINES}")], ENVIRON)


@pytest.mark.parametrize("name", ["authorization", "x-api-key", "Cookie", "my-token", "client-secret", "mine"])
def test_secret_names_are_known_by_their_words_or_told(name: str) -> None:
    assert is_secret(name, {"mine"})
    assert not is_secret("x-request-id", {"mine"})


def test_a_command_line_is_shown_without_its_secrets() -> None:
    given = [
        "hammer",
        "echo",
        "-H",
        "authorization: Bearer s3cr3t",
        "-Hx-id: 7",
        "--header=Cookie: s3cr3t",
        "-H",
        "mine: s3cr3t",
        "--sensitive",
        "mine",
        "-m",
        '{"x-api-key": "s3cr3t", "x": "y"}',
        '--metadata={"a": "b"}',
        "-m",
        "s3cr3t",
        "--password",
        "s3cr3t",
        "--user=root:s3cr3t",
        "--otlp",
        "http://me:s3cr3t@host:1",
        "--otlp=https://host/x?token=s3cr3t",
        "--user",
        "root",
    ]
    shown = without_secrets(given)
    assert "s3cr3t" not in " ".join(shown)
    assert shown == [
        "hammer",
        "echo",
        "-H",
        "authorization: ***",
        "-Hx-id: 7",
        "--header=Cookie: ***",
        "-H",
        "mine: ***",
        "--sensitive",
        "mine",
        "-m",
        '{"x-api-key": "***", "x": "y"}',
        '--metadata={"a": "b"}',
        "-m",
        "***",
        "--password",
        "***",
        "--user=root:***",
        "--otlp",
        "http://me:***@host:1",
        "--otlp=https://host/x?token=***",
        "--user",
        "root",
    ]
