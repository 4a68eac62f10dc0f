"""Signals that come while ``lbctl register`` starts its command: it ends all the same, and nothing stays behind."""

from __future__ import annotations

import os
import signal

import pytest

from lbctl.commands.register import Register, Stands, Talk, run
from lbctl.demo import guest
from lbctl.discovery.codecs.registration import Wanted
from lbctl.etcd.client import Etcd
from lbctl.model import Endpoint

pytestmark = pytest.mark.e2e


async def test_a_ctrl_c_between_the_registration_and_the_command_ends_the_command(
    etcd: Etcd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guest, "_on_terminal", lambda: True)  # which gave the Ctrl-C to those that were there

    def stands(what: Stands) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    request = Register("seed", Wanted("echo", Endpoint("127.0.0.1", 1)), command=("sleep", "60"))
    assert await run(etcd, request, 0, Talk(stands, pytest.fail)) == 128 + signal.SIGINT
    assert not (await etcd.range(b"/services/echo/")).entries
