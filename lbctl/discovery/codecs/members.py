"""Members of JSON objects by their types: null is the same as nothing, and another type is a defect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lbctl.discovery.flaws import Unusable

_MOST_WEIGHT: Final = 999_999_999


def text_of(document: Mapping[str, Any], name: str) -> str:
    """A string, empty where there is none."""
    found = document.get(name)
    if found is not None and not isinstance(found, str):
        raise Unusable("wrong_type", f"{name} is not a string")
    return found or ""


def texts_of(document: Mapping[str, Any], name: str) -> dict[str, str]:
    """An object of strings, empty where there is none."""
    found = object_of(document, name)
    for inner, value in found.items():
        if not isinstance(value, str):
            raise Unusable("wrong_type", f"{name}.{inner[:40]} is not a string")
    return dict(found)


def object_of(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """An object, empty where there is none."""
    found = document.get(name)
    if found is not None and not isinstance(found, dict):
        raise Unusable("wrong_type", f"{name} is not an object")
    return found or {}


def flag_of(document: Mapping[str, Any], name: str, default: bool) -> bool:  # noqa: FBT001
    """A truth value, the default where there is none."""
    found = document.get(name)
    if found is not None and not isinstance(found, bool):
        raise Unusable("wrong_type", f"{name} is neither true nor false")
    return default if found is None else found


def whole_of(document: Mapping[str, Any], name: str) -> int | None:
    """An integer, None where there is none."""
    found = document.get(name)
    if found is not None and (isinstance(found, bool) or not isinstance(found, int)):
        raise Unusable("wrong_type", f"{name} is not an integer")
    return found


def weight_of(document: Mapping[str, Any]) -> int | None:
    """The member ``weight``, an integer from 0 to nine digits; None where there is none."""
    found = document.get("weight")
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise Unusable("wrong_type", "weight is not a number")
    if isinstance(found, float) or not 0 <= found <= _MOST_WEIGHT:
        raise Unusable("bad_weight", "weight is not an integer from 0 to 999,999,999")
    return found
