"""--check: what may be said of a reply, and how a mistake in it is told."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf import struct_pb2
from google.protobuf.descriptor_pb2 import FieldDescriptorProto
from google.protobuf.message import Message

from lbctl.demo.protos import echo_pb2
from lbctl.errors import UsageError
from lbctl.model import Code, Origin, Reply
from lbctl.rpc.messages.check import compile_check
from lbctl.rpc.schemas.schema import Method

SAID = echo_pb2.SayReply(message="hi", backend="x:1", sequence=5, index=2)
FIELD = FieldDescriptorProto(name="x", type=FieldDescriptorProto.TYPE_STRING)
STRUCT = struct_pb2.Struct(fields={"a": struct_pb2.Value(string_value="b")})


def judged(text: str, reply: Message = SAID) -> Reply:
    return compile_check(text, method(reply))(Reply(Code.OK, message=reply.SerializeToString()))


def method(reply: Message, *, server_streaming: bool = False) -> Method:
    kind: Any = reply.DESCRIPTOR
    return Method("test.Echo/Say", "/test.Echo/Say", kind, kind, server_streaming=server_streaming)


@pytest.mark.parametrize(
    "text",
    [
        'resp.message == "hi"',
        "resp.sequence > 4 and resp.index == 2",
        "3 < resp.sequence <= 5",
        "resp.index == 7 or not resp.index == 3",
        '"h" in resp.message and "z" not in resp.message',
        "resp.sequence % 5 == 0 and resp.sequence / 2 == 2.5 and -resp.index < 0",
        "len(resp.message) == 2",
        "resp.index in [1, 2]",
        'resp["message"] == "hi"',
        "resp.index == 2.0",
        "  resp.index\n== 2",
        "true",
    ],
)
def test_a_true_check_leaves_the_reply_as_it_is(text: str) -> None:
    assert judged(text) == Reply(Code.OK, message=SAID.SerializeToString())


@pytest.mark.parametrize(
    "text",
    [
        'resp.type == "TYPE_STRING"',
        'resp.type != "TYPE_BOOL"',
        'resp.type in ["TYPE_STRING", "TYPE_BOOL"]',
        "resp.type == 9",
        "not has(resp.options) and has(resp.name)",
        "resp.options.packed == false",
        'resp.typeName == ""',
        "len(resp.options.uninterpreted_option) == 0",
    ],
)
def test_enums_presence_and_nested_messages_can_be_asked_for(text: str) -> None:
    assert judged(text, FIELD).origin is Origin.SERVER


@pytest.mark.parametrize(
    "text", ['resp.fields["a"].string_value == "b"', '"a" in resp.fields', "len(resp.fields) == 1"]
)
def test_maps_can_be_asked_for(text: str) -> None:
    assert judged(text, STRUCT).origin is Origin.SERVER


@pytest.mark.parametrize(
    ("text", "reply", "why"),
    [
        ("resp.index == 3", SAID, ""),
        ("1 / (resp.sequence - 5) > 0", SAID, " (division by zero)"),
        ("resp.options.uninterpreted_option[0].double_value == 1.0", FIELD, " (no such index)"),
        ('resp.fields["x"].string_value == ""', STRUCT, " (no such key)"),
    ],
)
def test_a_false_check_makes_an_error_whose_code_stays_ok(text: str, reply: Message, why: str) -> None:
    assert judged(text, reply) == Reply(Code.OK, Origin.CLIENT, f"check failed: {text}{why}")


def test_a_reply_that_cannot_be_decoded_fails_its_check() -> None:
    judge = compile_check("resp.index == 2", method(SAID))
    reason = "check failed: the reply is not a demo.echo.v1.SayReply message"
    assert judge(Reply(Code.OK, message=b"\xff\xff")) == Reply(Code.OK, Origin.CLIENT, reason)


def test_an_error_of_the_server_is_not_looked_at() -> None:
    reply = Reply(Code.NOT_FOUND, reason="nope")
    assert compile_check("resp.index == 2", method(SAID))(reply) is reply


def test_of_a_stream_every_message_is_looked_at() -> None:
    judge = compile_check("resp.index < 2", method(SAID, server_streaming=True))
    first, second, wrong = (echo_pb2.SayReply(index=index).SerializeToString() for index in range(3))
    good = Reply(Code.OK, messages=(first, second), sent=1, received=2)
    assert judge(good) is good
    for messages in ((wrong, first, second), (first, wrong, second), (first, second, wrong)):
        bad = judge(Reply(Code.OK, messages=messages, sent=1, received=3))
        assert bad == Reply(Code.OK, Origin.CLIENT, "check failed: resp.index < 2", sent=1, received=3)


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ('resp.mesage == "a"', 6, "demo.echo.v1.SayReply has no field 'mesage'; did you mean 'message'?"),
        (
            'resp.message == "ä" and resp.q == 1',
            30,
            "demo.echo.v1.SayReply has no field 'q'; it has message, backend, sequence, index",
        ),
        ("resp.message", 1, "the whole must be true or false, and is str"),
        ("resp.message > 3", 16, "str cannot be compared with int (numbers, true and false stand without quotes)"),
        ("resp.message == null", 17, "str is never null: nobody can tell whether it is set"),
        ("resp == 1", 9, "demo.echo.v1.SayReply cannot be compared with int (compare its fields)"),
        ("resp.message.x == 1", 14, "str has no fields, so no 'x'"),
        ("resp.message[0] == 1", 1, "str has no parts to pick by index"),
        ("resp.message[0:1] == 1", 14, "slices are not known, only one index"),
        ("message == 1", 1, "unknown name 'message' (the reply is resp; text needs quotes)"),
        ("resp.index = 2", 12, "this is not an expression (equal is ==)"),
        ("(", 1, "this is not an expression"),
        ("resp.index and true", 6, "this must be true or false, and is int: compare it"),
        ("-resp.message == 1", 1, "str has no sign"),
        ("resp.message + 1 == 1", 6, "str cannot be calculated with"),
        ("2 ** 3 == 8", 1, "only + - * / % can be calculated with"),
        ("resp.index is 2", 15, "compare with == or !="),
        ("true < false", 8, "bool is neither more nor less than another"),
        ("1 in resp.index", 11, "nothing can be in int"),
        ("1 in resp.message", 11, "int cannot be in str"),
        ("resp.index in [1, 'a']", 19, "a list of int cannot hold str"),
        ("len(resp.index) == 1", 10, "int has no length"),
        ("has(resp.index)", 10, "has() takes a field that can be told to be absent: a message, optional or oneof"),
        ("__import__('os')", 1, "only len(x) and has(resp.field) can be called"),
        (
            "[x for x in resp.message]",
            1,
            "only resp.field, literals, comparisons, and, or, not, len() and has() are known",
        ),
        ("resp.index == 2j", 15, "2j is nothing a reply could hold"),
    ],
)
def test_a_mistake_is_told_with_its_place(text: str, column: int, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        compile_check(text, method(SAID))
    assert str(refused.value).split("\n") == [
        f"--check: column {column}: {message}",
        f"  {text}",
        " " * (column + 1) + "^",
    ]


def test_a_value_that_an_enum_does_not_have_is_told_with_the_nearest() -> None:
    with pytest.raises(UsageError) as refused:
        judged('resp.type == "TYPE_STRNG"', FIELD)
    expected = "google.protobuf.FieldDescriptorProto.Type has no value 'TYPE_STRNG'; did you mean 'TYPE_STRING'?"
    assert str(refused.value).split("\n")[0] == f"--check: column 14: {expected}"


@pytest.mark.parametrize("text", ["(" * 400 + "1" + ")" * 400, '"\0" == ""', "9" * 999 + "=", "-" * 900 + "1 == 1"])
def test_no_expression_makes_a_bug(text: str) -> None:
    with pytest.raises(UsageError):
        judged(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "--check: the expression is empty"),
        (" ", "--check: the expression is empty"),
        ("1" * 1001, "--check: the expression is longer than 1000 characters"),
    ],
)
def test_an_expression_has_a_length(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        judged(text)
