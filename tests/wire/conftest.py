"""The two ways into the engine: a test module that uses ``door`` runs through both."""

from __future__ import annotations

import pytest

from tests.wire import harness


@pytest.fixture(params=harness.doors())
def door(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(harness.DOOR, request.param)
    return str(request.param)
