"""``--check EXPR``: what must be true of every reply, a small language over the decoded message.

An expression is read once and its fields and types are checked against the reply's schema; what is left is a closure.
It has Python's spelling for literals, ``and or not``, comparisons (chains and ``in`` too), ``+ - * / %``, fields,
indices, ``len(x)`` and ``has(resp.field)``, and nothing else: no name but ``resp`` (also ``true false null``), no call
of anything, no loop. An enum is compared with the name of a value, or its number; messages of protobuf's own with what
JSON writes for them. ``resp["[pkg.name]"]`` is an extension; of an Any, ``resp.detail["[pkg.Type]"]`` is what it holds.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, Final

from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from lbctl.errors import UsageError
from lbctl.model import Code, Origin, Reply
from lbctl.rpc.messages.check_kinds import Mistake, OtherType
from lbctl.rpc.messages.check_terms import term
from lbctl.rpc.schemas.schema import Method

LONGEST: Final = 1000
OPTION: Final = "--check"

Judge = Callable[[Reply], Reply]


def compile_check(text: str, method: Method, option: str = OPTION) -> Judge:
    """Make an expression a function that turns an OK reply it is false of into an error.

    Such a reply keeps its code, OK, and gets the origin ``client``. A stream's every message is looked at. Raises
    UsageError that shows the place, of what it calls ``option``.
    """
    kind = method.output_type
    read = GetMessageClass(kind).FromString
    holds = _compiled(text, method, option)
    false = Reply(Code.OK, Origin.CLIENT, f"check failed: {text}")
    unreadable = Reply(Code.OK, Origin.CLIENT, f"check failed: the reply is not a {kind.full_name} message")

    def judge(reply: Reply) -> Reply:
        if reply.code is not Code.OK:
            return reply
        streaming = method.client_streaming or method.server_streaming
        try:
            for message in reply.messages if streaming else (reply.message,):
                if not holds(read(message)):
                    return _as(false, reply)
        except DecodeError:
            return _as(unreadable, reply)
        except (LookupError, ArithmeticError, TypeError) as error:
            return _as(false._replace(reason=f"{false.reason} ({_why(error)})"), reply)
        return reply

    return judge


def _as(verdict: Reply, reply: Reply) -> Reply:
    return verdict._replace(sent=reply.sent, received=reply.received)


def _why(error: Exception) -> str:
    match error:
        case OtherType():
            return str(error)
        case IndexError():
            return "no such index"
        case KeyError():
            return "no such key"
        case ZeroDivisionError():
            return "division by zero"
        case TypeError():
            return "text in it is not UTF-8"
    return "number too large"


def parse_check(text: str, option: str = OPTION) -> ast.expr:
    """Read an expression as far as that goes without a schema; raises UsageError as ``compile_check`` does."""
    if len(text) > LONGEST:
        raise UsageError(f"{option}: the expression is longer than {LONGEST} characters")
    if not text.strip():
        raise UsageError(f"{option}: the expression is empty", "for example: resp.code == 3")
    source, lead = _one_line(text)
    try:
        return ast.parse(source[lead:], mode="eval").body
    except SyntaxError as error:
        known = "(equal is ==)" if error.text and "=" in error.text.replace("==", "") else ""
        raise _refusal(
            option, source, (error.offset or 1) + lead, f"this is not an expression {known}".strip()
        ) from None
    except (RecursionError, MemoryError, ValueError):
        raise _unreadable(option) from None


def _compiled(text: str, method: Method, option: str) -> Callable[[Any], object]:
    body = parse_check(text, option)
    source, lead = _one_line(text)
    try:
        found = term(body, method.output_type)
    except Mistake as mistake:
        at = len(source[lead:].encode()[: mistake.at].decode()) + lead  # ast counts UTF-8
        raise _refusal(option, source, at + 1, str(mistake)) from None
    except RecursionError:
        raise _unreadable(option) from None
    if found.kind.name != "bool":
        raise _refusal(option, source, lead + 1, f"the whole must be true or false, and is {found.kind}")
    return found.value


def _unreadable(option: str) -> UsageError:
    return UsageError(f"{option}: the expression is nested too deeply, or has an odd character in it")


def _one_line(text: str) -> tuple[str, int]:
    """The text without line ends, and how much white space it begins with."""
    source = " ".join(text.split("\n"))
    return source, len(source) - len(source.lstrip())


def _refusal(option: str, text: str, column: int, what: str) -> UsageError:
    start = max(0, column - 41)
    line = "".join(char if char.isprintable() else " " for char in text[start : start + 80])
    return UsageError(f"{option}: column {column}: {what}\n  {line}\n  {' ' * (column - 1 - start)}^")
