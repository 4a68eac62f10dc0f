"""A row of CSV as the JSON of a message: each column is a field, whose type says how a cell is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from typing import Any, Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from lbctl.errors import UsageError
from lbctl.load.requests.forms import quoted
from lbctl.load.requests.templates import has_action
from lbctl.rpc.messages.kinds import is_special
from lbctl.rpc.messages.message import parse
from lbctl.rpc.quick import INTEGERS

F: Final = FieldDescriptor
_TEXTUAL: Final = frozenset({"Timestamp", "Duration", "FieldMask", "StringValue", "BytesValue"})
_NUMBER: Final = re.compile(r"-?\d{1,20}(\.\d+)?([eE][+-]?\d{1,3})?")
_NUMBERS: Final[dict[int, Callable[[str], float]]] = {
    **dict.fromkeys(INTEGERS, int),
    F.TYPE_DOUBLE: float,
    F.TYPE_FLOAT: float,
}
_BOOLS: Final = {"true": True, "false": False, "1": True, "0": False}

Convert = Callable[[str], Any]


class Columns:
    """The fields that the columns of a file are; ``free`` columns need not be fields, and are none then."""

    def __init__(
        self, names: Sequence[str], kind: Descriptor, source: str, *, free: Collection[str] = (), templates: bool = True
    ) -> None:
        """Raises UsageError for a column that is no field of the message."""
        self._source = source
        self._templates = templates
        self._steps: dict[str, tuple[tuple[str, ...], FieldDescriptor]] = {}
        for name in names:
            found = _at(kind, name)
            if isinstance(found, FieldDescriptor):
                self._steps[name] = tuple(name.split(".")), found
            elif name not in free:
                raise UsageError(f'{source}: line 1: column "{name}": {found}', _HINT)

    def value(self, cells: Mapping[str, str], line: int) -> dict[str, Any]:
        """The JSON of a row; an empty cell leaves its field unset. Raises UsageError with line and column."""
        value: dict[str, Any] = {}
        for name, (steps, field) in self._steps.items():
            cell = cells[name]
            if not cell:
                continue
            holder = value
            for step in steps[:-1]:
                holder = holder.setdefault(step, {})
            holder[steps[-1]] = self._cell(cell, field, f'{self._source}: line {line}, column "{name}"')
        return value

    def _cell(self, cell: str, field: FieldDescriptor, place: str) -> Any:  # noqa: ANN401  # whatever JSON holds
        drawn = self._templates and has_action(cell)
        if _is_json(field):
            return parse(quoted(cell) if drawn else cell, place)
        if drawn:
            # Bare, where what is drawn is not to be a string.
            bare = field.type != F.TYPE_STRING and cell.startswith("{{") and cell.endswith("}}")
            return "\x00" + cell if bare else cell
        if field.type == F.TYPE_BOOL:
            if cell.lower() not in _BOOLS:
                raise UsageError(f"{place}: must be true or false, not {cell[:40]!r}")
            return _BOOLS[cell.lower()]
        convert = _NUMBERS.get(field.type)
        if convert is not None and _NUMBER.fullmatch(cell):
            with suppress(ValueError):  # what is no whole number is told as what the field wants
                return convert(cell)
        if field.enum_type is not None and cell.lstrip("-").isdigit():
            return int(cell)
        return cell


_HINT: Final = "the first line names the fields of the message, as id,user.name; --metadata-from takes other columns"


def _at(kind: Descriptor, path: str) -> FieldDescriptor | str:
    """The field at a path, or why there is none."""
    *parents, last = path.split(".")
    for step in parents:
        field = _named(kind, step)
        if field is None:
            return _unknown(kind, step)
        if field.message_type is None or field.is_repeated or is_special(field.message_type):
            return f"{step} is not a single message, so there is no field in it"
        kind = field.message_type
    field = _named(kind, last)
    return _unknown(kind, last) if field is None else field


def _named(kind: Descriptor, name: str) -> FieldDescriptor | None:
    return next((field for field in kind.fields if name in (field.name, field.json_name)), None)


def _unknown(kind: Descriptor, name: str) -> str:
    names = [field.name for field in kind.fields]
    near = get_close_matches(name, names, 1)
    return f'{kind.full_name} has no field "{name}"; ' + (
        f"did you mean {near[0]}?" if near else f"it has {', '.join(names[:10]) or 'none'}"
    )


def _is_json(field: FieldDescriptor) -> bool:
    """Whether a cell is JSON: of lists, maps and messages, those apart whose JSON is a string."""
    if field.is_repeated:
        return True
    kind = field.message_type
    return kind is not None and not (is_special(kind) and kind.name in _TEXTUAL)
