"""An end at once: what was changed outside of this process is put back, and nothing else is waited for."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

Act = Callable[[], object]
_acts: list[Act] = []


def put_back(act: Act) -> None:
    """Have this done, quickly and before what was given earlier, if the process leaves at once."""
    _acts.append(act)


def forget(act: Act) -> None:
    """It has been done, or nothing is to be done any more."""
    if act in _acts:
        _acts.remove(act)


def leave_at_once(status: int) -> NoReturn:
    """End the process with this exit status; callable in a signal handler."""
    for act in reversed(_acts):
        with suppress(Exception):
            act()
    os._exit(status)
