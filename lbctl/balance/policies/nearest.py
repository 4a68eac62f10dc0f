"""The policies that somebody may have meant who typed a name that does not exist."""

from __future__ import annotations

from difflib import get_close_matches

from lbctl.balance.policies.table import BY_NAME


def near_names(text: str, most: int = 2) -> list[str]:
    """Names of policies, the nearest first; underscores, dashes and case do not matter."""
    plain = {_plain(name): policy.name for name, policy in BY_NAME.items() if _is_grpc(name) == _is_grpc(text)}
    exact = plain.get(_plain(text))
    if exact is not None:
        return [exact]
    names = (plain[each] for each in get_close_matches(_plain(text), list(plain), n=3, cutoff=0.7))
    return list(dict.fromkeys(names))[:most]


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


def _is_grpc(name: str) -> bool:
    return name.lower().startswith("grpc")
