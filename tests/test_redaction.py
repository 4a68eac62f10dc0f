"""What is hidden of what is shown, and what is not."""

from __future__ import annotations

import pytest

from lbctl.redaction import is_secret, masked, masked_text


@pytest.mark.parametrize(
    "name",
    [
        *("password", "db_passwd", "PWD", "pass", "passphrase", "clientSecret", "token", "authToken", "x-api-key"),
        *("apiKey", "access_key_id", "privateKey", "Authorization", "proxy-auth", "cookie", "credentials", "jwt"),
        *("dsn", "key", "routing-key"),
    ],
)
def test_names_of_secrets(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize(
    "name", ["author", "authority", "zone", "version", "keyspace", "monkey", "compass", "user", "weight"]
)
def test_names_of_no_secrets(name: str) -> None:
    assert not is_secret(name)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("grpc://bob:s3@10.0.0.1:80?token=abc&weight=1", "grpc://bob:***@10.0.0.1:80?token=***&weight=1"),
        ("grpc://s3cret@10.0.0.1:80/x", "grpc://***@10.0.0.1:80/x"),
        ("bob:p@ss@tcp(h:3306)/db", "bob:***@tcp(h:3306)/db"),
        ("tri%3A%2F%2Fbob%3As3%40h%3Fpass%3Dq%26weight%3D5", "tri%3A%2F%2Fbob%3A***%40h%3Fpass%3D***%26weight%3D5"),
        ("%252F%252Fb%253As3%2540h%253Ftoken%253Dabc%2526x", "%252F%252Fb%253A***%2540h%253Ftoken%253D***%2526x"),
        ('{"a":{"password":"x"},"n":1}', '{"a": {"password": "***"}, "n": 1}'),
        ('not JSON: "password": "abc', 'not JSON: "password": "***'),
        ("authorization Bearer abc.def", "authorization Bearer ***"),
    ],
)  # fmt: skip
def test_a_text_is_shown_without_its_secrets(text: str, shown: str) -> None:
    assert masked_text(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "tcp@10.0.0.1:80",
        "[::1]:80",
        "10.0.0.1:1|5",
        "owner=a@b.c&author=me",
        "/services/echo/10.0.0.1:80",
        "tri%3A%2F%2Fh%3A1%3Fowner%3Da%40b.c",
        '{"zone":"az1", "auth":true}',
        "{" * 2_000,
    ],
)
def test_a_text_without_secrets_stays_as_it_is(text: str) -> None:
    assert masked_text(text) == text


def test_members_with_secret_names_are_hidden_however_deep_they_stand() -> None:
    found = {"zone": "a", "db": [{"password": "x", "tls": 1}], "token": {"a": 1}, "auth": True, "pass": None, "key": ""}
    assert masked(found) == {
        "zone": "a",
        "db": [{"password": "***", "tls": 1}],
        "token": "***",
        "auth": True,
        "pass": None,
        "key": "",
    }


@pytest.mark.parametrize("part", ["a=b&", "%2F", "//", '"a":', "@", "a:@", "%25", "Basic ", "\\", "a%40"])
def test_long_texts_take_no_longer_than_they_are_long(part: str) -> None:
    assert masked_text(part * 20_000)
