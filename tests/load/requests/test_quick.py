"""Plain requests encoded the quick way come to the same octets as by protobuf's JSON mapping, or are left to it."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lbctl.errors import UsageError
from lbctl.rpc.messages.message import encode_value
from lbctl.rpc.quick import encode_plain
from tests.rpc.protos import KITCHEN_SINK, REQUIRED

SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=4) | st.just("GREEN")
)
ITEMS = st.fixed_dictionaries({}, optional={"number": SCALARS})
NAMES = ("name", "big", "unsigned", "small", "ratio", "raw", "flag", "colour", "when", "snake_name", "snakeName")
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    **dict.fromkeys((*NAMES, "maybe", "free", "left", "right", "nothing"), SCALARS),
    "tags": st.lists(SCALARS, max_size=2),
    "items": st.lists(ITEMS, max_size=2) | SCALARS,
    "by_flag": st.dictionaries(st.text(max_size=3), SCALARS, max_size=1),
}


@given(st.fixed_dictionaries({}, optional=FIELDS))
def test_the_quick_way_is_the_whole_way_or_none(value: dict[str, Any]) -> None:
    quick = encode_plain(KITCHEN_SINK.input_type, value)
    if quick is None:
        return
    try:
        whole = encode_value(KITCHEN_SINK, value)
    except UsageError as error:
        raise AssertionError(f"{value} is refused: {error}") from None
    assert quick == whole


def test_what_is_common_is_plain() -> None:
    value = {
        "name": "a",
        "big": 5,
        "ratio": 1,
        "flag": False,
        "colour": "GREEN",
        "tags": ["x"],
        "items": [{"number": 3}],
    }
    assert encode_plain(KITCHEN_SINK.input_type, value) == encode_value(KITCHEN_SINK, value)


def test_a_missing_required_field_is_left_to_who_can_tell() -> None:
    assert encode_plain(REQUIRED.input_type, {"id": 1}) is None
