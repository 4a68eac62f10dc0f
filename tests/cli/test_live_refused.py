"""A live view that was asked for where none can be drawn."""

from __future__ import annotations

import socket

import pytest

from tests.cli.conftest import Lbctl

NOTE = "note: --ui live: standard error is not a terminal; progress is shown as lines\n"


@pytest.mark.parametrize(
    ("more", "notes"), [(("--ui", "live"), 1), (("--ui", "plain"), 0), ((), 0), (("--ui", "live", "-q"), 0)]
)
def test_it_is_told_once_that_there_is_no_live_view(lbctl: Lbctl, more: tuple[str, ...], notes: int) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        address = f"127.0.0.1:{nobody.getsockname()[1]}"
        said = lbctl("hammer", "--backends", address, "a.B/C", "--binary-file", "/dev/null", "-n", "1", *more)
    assert (said.status, said.out, said.err.count(NOTE)) == (5, "", notes)
