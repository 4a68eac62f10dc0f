"""One request with actions in it: a message of which only the drawn fields are set anew for each call.

A value is put into a JSON object and encoded once with every extreme it can have, before anything is sent; after that
the field is set in the message that was made, which takes a tenth of the time. Where that is not possible, or would
not come to the same, as in maps and times, the whole message is made anew from JSON.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Callable, Iterator
from typing import Any, Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message_factory import GetMessageClass

from lbctl.errors import UsageError
from lbctl.load.requests.templates import Drawing, Names, Template, has_action, parse_template
from lbctl.rpc.messages.message import encode_value
from lbctl.rpc.quick import INTEGERS, encode_plain
from lbctl.rpc.schemas.schema import Method

MOST_TRIALS: Final = 256
_BARE: Final = "\x00"  # in front of an action that stood outside quotes
_BARE_ACTION: Final = re.compile(r'"(?:[^"\\]|\\.)*"|\{\{.*?\}\}', re.DOTALL)
_LITERAL: Final = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?|true|false|null")
F: Final = FieldDescriptor

Path = tuple[str | int, ...]
Convert = Callable[[str], Any]
Put = Callable[[str], None]


def quoted(text: str) -> str:
    """JSON in which actions outside of strings are strings, that say so: ``{"n": {{seq}}}`` is no JSON yet."""
    if not has_action(text):
        return text
    return _BARE_ACTION.sub(lambda found: json.dumps(_BARE + found[0]) if found[0][0] == "{" else found[0], text)


def templated(value: Any, names: Names) -> Any:  # noqa: ANN401  # whatever JSON holds
    """The value with a Template for each string that has actions; raises ValueError."""
    if isinstance(value, str):
        if value.startswith(_BARE):
            return parse_template(value[1:], names, bare=True)
        return parse_template(value, names) if has_action(value) else value
    if isinstance(value, dict):
        return {name: templated(item, names) for name, item in value.items()}
    if isinstance(value, list):
        return [templated(item, names) for item in value]
    return value


def filled(value: Any, text_of: Callable[[Template], str]) -> Any:  # noqa: ANN401  # whatever JSON holds
    """The value with a text, or what a bare one stands for, for each Template."""
    if isinstance(value, Template):
        text = text_of(value)
        return json.loads(text) if value.bare and _LITERAL.fullmatch(text) else text
    if isinstance(value, dict):
        return {name: filled(item, text_of) for name, item in value.items()}
    if isinstance(value, list):
        return [filled(item, text_of) for item in value]
    return value


def templates_in(value: Any, path: Path = ()) -> Iterator[tuple[Path, Template]]:  # noqa: ANN401  # whatever JSON holds
    """Every Template and where it is, in the order of the text."""
    if isinstance(value, Template):
        yield path, value
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from templates_in(item, (*path, name))
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from templates_in(item, (*path, at))


class Form:
    """A message with Templates in it; ``draw`` encodes the next one."""

    def __init__(self, method: Method, value: Any, source: str) -> None:  # noqa: ANN401  # whatever JSON holds
        """Raises UsageError, which names ``source``, where a value that may be drawn does not fit."""
        self._method, self._value, self._source = method, value, source
        found = list(templates_in(value))
        self._templates = [template for _, template in found]
        for number in range(min(MOST_TRIALS, max(template.trials for template in self._templates))):
            self._trial(number)
        self._message, self._setters = self._made(found)

    def draw(self, drawing: Drawing) -> bytes:
        """The octets of one more message."""
        if self._message is None:
            value = filled(self._value, lambda template: template.text(drawing))
            return encode_value(self._method, value, source=self._source)
        for template, put in self._setters:
            put(template.text(drawing))
        octets: bytes = self._message.SerializeToString(deterministic=True)
        return octets

    def _trial(self, number: int) -> bytes:
        return encode_value(
            self._method, filled(self._value, lambda template: template.trial(number)), source=self._source
        )

    def _made(self, found: list[tuple[Path, Template]]) -> tuple[Any, list[tuple[Template, Put]]]:
        """A message and what sets its fields; none where setting them is not the same as encoding JSON."""
        message = GetMessageClass(self._method.input_type).FromString(self._trial(0))
        setters = [(template, _setter(message, path)) for path, template in found]
        usable = [(template, put) for template, put in setters if put is not None]
        if len(usable) < len(setters):
            return None, []
        for number in (1, 0):
            try:
                for template, put in usable:
                    put(template.trial(number))
            except (ValueError, TypeError, KeyError):
                return None, []
            if message.SerializeToString(deterministic=True) != self._trial(number):
                return None, []
        return message, usable


class Fresh:
    """A message with Templates in it that is drawn only a few times: nothing is made ready, nor tried."""

    def __init__(self, method: Method, value: Any, source: str) -> None:  # noqa: ANN401  # whatever JSON holds
        self._method, self._value, self._source = method, value, source

    def draw(self, drawing: Drawing) -> bytes:
        """The octets of one more message; raises UsageError where what was drawn does not fit."""
        value = filled(self._value, lambda template: template.text(drawing))
        octets = encode_plain(self._method.input_type, value)
        return encode_value(self._method, value, source=self._source) if octets is None else octets


def _setter(message: Any, path: Path) -> Put | None:  # noqa: ANN401  # of any type of protobuf
    """What sets the field at that path, from text as JSON has it; None where that is not so simple."""
    *parents, last = path
    holder = message
    for step in parents:
        if isinstance(step, int):
            holder = holder[step]
            continue
        field = _field(holder.DESCRIPTOR, step) if hasattr(holder, "DESCRIPTOR") else None
        if field is None or _is_map(field):
            return None
        holder = getattr(holder, field.name)
    if isinstance(last, int):
        field = _field_of_list(message, path)
        convert = _conversion(field) if field is not None else None
        return None if convert is None else _item_setter(holder, last, convert)
    field = _field(holder.DESCRIPTOR, last) if hasattr(holder, "DESCRIPTOR") else None
    convert = None if field is None or field.is_repeated else _conversion(field)
    if field is None or convert is None:
        return None
    return _field_setter(holder, field.name, convert)


def _item_setter(holder: Any, at: int, convert: Convert) -> Put:  # noqa: ANN401  # a list of any type of protobuf
    def put(text: str) -> None:
        holder[at] = convert(text)

    return put


def _field_setter(holder: Any, name: str, convert: Convert) -> Put:  # noqa: ANN401  # of any type of protobuf
    def put(text: str) -> None:
        setattr(holder, name, convert(text))

    return put


def _field_of_list(message: Any, path: Path) -> FieldDescriptor | None:  # noqa: ANN401  # of any type of protobuf
    """The repeated field that the last step of a path is a place in."""
    kind: Descriptor | None = message.DESCRIPTOR
    field: FieldDescriptor | None = None
    for step in path:
        if isinstance(step, str):
            field = None if kind is None else _field(kind, step)
            kind = None if field is None else field.message_type
    return field


def _field(kind: Descriptor, name: str) -> FieldDescriptor | None:
    if kind.full_name.startswith("google.protobuf."):
        return None  # its JSON is not an object of its fields
    return kind.fields_by_name.get(name) or {field.json_name: field for field in kind.fields}.get(name)


def _is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def _conversion(field: FieldDescriptor) -> Convert | None:
    if field.type in INTEGERS:
        return int
    if field.type in (F.TYPE_DOUBLE, F.TYPE_FLOAT):
        return float
    if field.type == F.TYPE_STRING:
        return str
    if field.type == F.TYPE_BYTES:
        return b64decode
    if field.type == F.TYPE_BOOL:
        return {"true": True, "false": False}.__getitem__
    if field.enum_type is not None:
        values = {value.name: value.number for value in field.enum_type.values}
        return lambda text: values[text] if text in values else int(text)
    return None


def understood(value: Any, names: Names, source: str) -> Any:  # noqa: ANN401  # whatever JSON holds
    """``templated``, with what is wrong told as a UsageError."""
    try:
        return templated(value, names)
    except ValueError as error:
        raise UsageError(f"{source}: {error}", "--no-template sends {{...}} as it stands") from None
