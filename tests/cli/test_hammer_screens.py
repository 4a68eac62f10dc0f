"""What goes beside the screen of a run, as far as the environment says how."""

from __future__ import annotations

import pytest

from lbctl.cli.hammer_screens import collector_headers
from lbctl.errors import UsageError


def test_headers_for_a_collector_are_those_of_opentelemetrys_variable() -> None:
    assert collector_headers("") == {}
    assert collector_headers("api-key=se%20cret, x-team=a=b") == {"api-key": "se cret", "x-team": "a=b"}


@pytest.mark.parametrize("text", ["secret", "a b=secret", "=secret"])
def test_headers_that_are_none_are_refused_without_being_shown(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        collector_headers(text)
    assert "secret" not in str(raised.value)
