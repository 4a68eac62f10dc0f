from __future__ import annotations

from collections.abc import Callable

import pytest

from lbctl.cli.values import (
    parse_count,
    parse_count_or_none,
    parse_duration,
    parse_label,
    parse_percent,
    parse_positive_duration,
    parse_positive_timeout,
    parse_rate,
    parse_size,
    parse_timeout,
)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("500ms", 0.5),
        ("10s", 10.0),
        ("3m", 180.0),
        ("1h30m", 5400.0),
        ("1m30s", 90.0),
        ("1.5s", 1.5),
        (".5s", 0.5),
        ("2", 2.0),
        ("0.25", 0.25),
        ("250us", 0.00025),
        ("250µs", 0.00025),
        ("0", 0.0),
        (" 2s ", 2.0),
        ("1e3", 1000.0),
        ("1.5e-3s", 0.0015),
        ("1e-3h2E3ms", 5.6),
    ],
)
def test_a_duration_is_read_as_go_writes_it(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a duration is missing (for example 500ms, 10s, 1m30s)"),
        ("-5s", "'-5s': a duration cannot be negative"),
        ("5x", "'5x': unknown unit 'x' (use ns, us, ms, s, m or h)"),
        ("5S", "'5S': unknown unit 'S' (use ns, us, ms, s, m or h)"),
        ("1m30", "'1m30': the last part has no unit (use ns, us, ms, s, m or h)"),
        ("soon", "'soon' is not a duration (for example 500ms, 10s, 1m30s)"),
        ("1 s", "'1 s': the last part has no unit (use ns, us, ms, s, m or h)"),
        ("9999h", "'9999h' is longer than a year"),
        ("1e12s", "'1e12s' is longer than a year"),
        ("1e", "'1e': unknown unit 'e' (use ns, us, ms, s, m or h)"),
    ],
)
def test_a_wrong_duration_is_refused_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r".+") as refused:
        parse_duration(text)
    assert str(refused.value) == message


@pytest.mark.parametrize("parse", [parse_positive_duration, parse_positive_timeout])
def test_a_time_limit_of_nothing_is_refused(parse: Callable[[str], float]) -> None:
    with pytest.raises(ValueError, match="'0s': must be more than 0"):
        parse("0s")


@pytest.mark.parametrize("text", ["1e12s", "8785h", "9" * 400 + "s", "1e999", "1e999ns"])
def test_a_timeout_of_over_a_year_is_one_of_a_year(text: str) -> None:
    assert parse_timeout(text) == parse_positive_timeout(text) == 366 * 86400


def test_any_other_timeout_is_what_it_says() -> None:
    assert (parse_timeout("0"), parse_timeout("250ms"), parse_positive_timeout("8784h")) == (0.0, 0.25, 366 * 86400)


@pytest.mark.parametrize(
    ("text", "count"),
    [("200", 200), ("10k", 10_000), ("10K", 10_000), ("1m", 1_000_000), ("1.5k", 1500), ("0.001m", 1000)],
)
def test_a_count_may_end_in_k_or_m(text: str, count: int) -> None:
    assert parse_count(text) == count


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0", "'0': must be 1 or more"),
        ("-3", "'-3' is not a count (for example 200, 10k, 1m)"),
        ("1.5", "'1.5' is not a whole number"),
        ("1,000", "'1,000' is not a count (for example 200, 10k, 1m)"),
        ("3g", "'3g': unknown multiple 'g' (use k for thousand, m for million)"),
        ("", "'' is not a count (for example 200, 10k, 1m)"),
        ("9999999m", "'9999999m': must be 1000000m or less"),
    ],
)
def test_a_wrong_count_is_refused_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r".+") as refused:
        parse_count(text)
    assert str(refused.value) == message


@pytest.mark.parametrize(("text", "share"), [("2%", 0.02), ("0.5%", 0.005), ("100%", 1.0), ("0", 0.0), ("0%", 0.0)])
def test_a_percentage_becomes_a_share(text: str, share: float) -> None:
    assert parse_percent(text) == share


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2", "'2': write 2% for per cent"),
        ("101%", "'101%': must be 100% or less"),
        ("-1%", "'-1%' is not a percentage (for example 0.5%)"),
        ("half", "'half' is not a percentage (for example 0.5%)"),
    ],
)
def test_a_wrong_percentage_is_refused_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r".+") as refused:
        parse_percent(text)
    assert str(refused.value) == message


def test_a_label_is_a_key_and_a_value() -> None:
    assert parse_label("zone=az1=b") == ("zone", "az1=b")
    with pytest.raises(ValueError, match="'zone' is not key=value"):
        parse_label("zone")


def test_a_count_that_may_be_none_is_0_or_a_count() -> None:
    assert (parse_count_or_none("0"), parse_count_or_none("2k")) == (0, 2000)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4MiB", 4 << 20),
        ("512 KiB", 512 << 10),
        ("64k", 64 << 10),
        ("1.5m", 3 << 19),
        ("2GiB", 2 << 30),
        ("4MB", 4_000_000),
        ("10kb", 10_000),
        ("1048576", 1 << 20),
        ("1b", 1),
    ],
)
def test_a_size_is_in_bytes_with_or_without_a_unit(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'' is not a size (for example 4MiB, 512KiB, 1048576)"),
        ("-1", "'-1' is not a size (for example 4MiB, 512KiB, 1048576)"),
        ("4 tons", "'4 tons': unknown unit 'tons' (use KiB, MiB or GiB)"),
        ("0", "'0' is not a whole number of bytes, 1 or more"),
        ("1.5", "'1.5' is not a whole number of bytes, 1 or more"),
        ("3GiB", "'3GiB': must be 2GiB or less"),
    ],
)
def test_a_wrong_size_is_refused_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r".+") as refused:
        parse_size(text)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("500", 500.0),
        ("10k", 10_000.0),
        ("500/s", 500.0),
        ("30/m", 0.5),
        ("1k/h", 1000 / 3600),
        ("0.5", 0.5),
        ("0", 0.0),
    ],
)
def test_a_rate_is_calls_a_second(text: str, rate: float) -> None:
    assert parse_rate(text) == pytest.approx(rate)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fast", "'fast' is not a rate (for example 500, 10k, 500/s, 30/m)"),
        ("5/d", "'5/d' is not a rate (for example 500, 10k, 500/s, 30/m)"),
        ("-5", "'-5' is not a rate (for example 500, 10k, 500/s, 30/m)"),
        ("11m", "'11m': must be 10m a second or less"),
    ],
)
def test_a_wrong_rate_is_refused_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r".+") as refused:
        parse_rate(text)
    assert str(refused.value) == message
