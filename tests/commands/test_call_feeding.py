"""Messages as somebody writes them: lines are put together until they are whole JSON values."""

from __future__ import annotations

import pytest

from lbctl.commands.call_feeding import Pieces


def pieces(text: str) -> list[tuple[int, str]]:
    """The line that each piece begins in, and the piece."""
    found, made = [], Pieces()
    for line in text.splitlines(keepends=True):
        whole = made.add(line)
        if whole is not None:
            found.append((made.first, whole))
    rest = made.rest()
    return [*found, *([(made.first, rest)] if rest is not None else [])]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": 1}\n{"a": 2}\n', [(1, '{"a": 1}\n'), (2, '{"a": 2}\n')]),
        ('\n\n{"a": 1}', [(3, '{"a": 1}')]),
        ('{"a":\n 1}\n\n{}\n', [(1, '{"a":\n 1}\n'), (4, "{}\n")]),
        ('[{"a": 1},\n{"a": 2}]\n', [(1, '[{"a": 1},\n{"a": 2}]\n')]),
        ('{"a": "}"}\n{"a": "\\"{"}\n', [(1, '{"a": "}"}\n'), (2, '{"a": "\\"{"}\n')]),
        ('{"a": {{int 1 9}}}\n', [(1, '{"a": {{int 1 9}}}\n')]),
        ("nonsense\n}\n", [(1, "nonsense\n"), (2, "}\n")]),
        ('{"a":\n', [(1, '{"a":\n')]),
        ("", []),
    ],
)
def test_lines_become_whole_values(text: str, found: list[tuple[int, str]]) -> None:
    assert pieces(text) == found
