"""Lines of protobuf source: statements and blocks with the comments that a file has for their places."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from lbctl.rpc.schemas.symbols import Path

if TYPE_CHECKING:
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

Lines = list[str]
_INDENT: Final = "  "


class Commented:
    """Statements and blocks of one file with their comments; an empty path has none."""

    def __init__(self, file: FileDescriptorProto) -> None:
        self._found = {tuple(each.path): each for each in file.source_code_info.location}

    def line(self, path: Path, statement: str) -> Lines:
        """A statement; a comment of one line stands behind it."""
        above, behind = self._comment(path)
        if len(behind) == 1:
            return [*above, f"{statement}  {behind[0]}"]
        return [*above, statement, *behind]

    def block(self, path: Path, head: str, parts: Iterable[Lines]) -> Lines:
        """A block with its parts, an empty line between those that are more than a line."""
        above, behind = self._comment(path)
        inside = apart([behind, *parts] if len(behind) > 1 else parts)
        first = f"{head} {{" + (f"  {behind[0]}" if len(behind) == 1 else "")
        if not inside and not behind:
            return [*above, f"{head} {{}}"]
        return [*above, first, *(f"{_INDENT}{line}" if line else "" for line in inside), "}"]

    def first_of(self, *paths: Path) -> Path:
        """The first of these places that has a comment, or else the first."""
        said = (path for path in paths if path and any(self._comment(path)))
        return next(said, paths[0])

    def _comment(self, path: Path) -> tuple[Lines, Lines]:
        """What stands above, and what behind."""
        found = self._found.get(path) if path else None
        if found is None:
            return [], []
        above: Lines = []
        for each in found.leading_detached_comments:
            above += [*_commented(each), ""]
        return [*above, *_commented(found.leading_comments)], _commented(found.trailing_comments)


def apart(parts: Iterable[Lines]) -> Lines:
    """The parts one below the other, an empty line between those that are more than a line, or of another kind."""
    found: Lines = []
    before: Lines = []
    for part in parts:
        if not part:
            continue
        if before and (len(part) > 1 or len(before) > 1 or before[0].split(" ")[0] != part[0].split(" ")[0]):
            found.append("")
        found += part
        before = part
    return found


def _commented(text: str) -> Lines:
    return [f"//{line}".rstrip() for line in text.removesuffix("\n").split("\n")] if text else []
