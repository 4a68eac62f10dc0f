"""Server reflection as questions and answers, whatever carries them."""

from __future__ import annotations

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from grpc_reflection.v1alpha.reflection_pb2 import (
    ErrorResponse,
    FileDescriptorResponse,
    ListServiceResponse,
    ServerReflectionRequest,
    ServerReflectionResponse,
    ServiceResponse,
)

from lbctl.model import Code, Origin, Reply
from lbctl.rpc.schemas.conversation import MAX_FILES, PATHS, Conversation, ReflectionFailed, converse
from tests.rpc.schemas.written import written

LISTED = ServerReflectionResponse(
    list_services_response=ListServiceResponse(service=[ServiceResponse(name="a.S"), ServiceResponse(name="a.T")])
)


def answer(message: ServerReflectionResponse) -> Reply:
    return Reply(Code.OK, messages=(message.SerializeToString(),))


def files(*names: str) -> Reply:
    found = [FileDescriptorProto(name=name).SerializeToString() for name in names]
    return answer(
        ServerReflectionResponse(file_descriptor_response=FileDescriptorResponse(file_descriptor_proto=found))
    )


class Backend:
    """Answers what it was told to, in turn, and remembers what it was asked."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = list(replies)
        self.paths: list[str] = []
        self.questions: list[ServerReflectionRequest] = []

    async def ask(self, path: str, question: bytes) -> Reply:
        self.paths.append(path)
        self.questions.append(ServerReflectionRequest.FromString(question))
        return self.replies.pop(0)


async def refusal(*replies: Reply) -> Reply:
    with pytest.raises(ReflectionFailed) as raised:
        await converse(Backend(*replies).ask)
    return raised.value.reply


async def test_the_first_question_lists_the_services() -> None:
    backend = Backend(answer(LISTED))
    talk = await converse(backend.ask)
    assert (talk.protocol, talk.listing) == ("v1", ["a.S", "a.T"])
    assert backend.paths == [PATHS["v1"]]
    assert backend.questions[0].HasField("list_services")


async def test_the_other_version_is_asked_where_the_first_is_unknown() -> None:
    backend = Backend(Reply(Code.UNIMPLEMENTED), answer(LISTED))
    talk = await converse(backend.ask)
    assert (talk.protocol, backend.paths) == ("v1alpha", [PATHS["v1"], PATHS["v1alpha"]])


async def test_the_version_that_was_known_is_asked_first() -> None:
    backend = Backend(answer(LISTED))
    talk = await converse(backend.ask, "v1alpha")
    assert (talk.protocol, backend.paths) == ("v1alpha", [PATHS["v1alpha"]])


async def test_a_backend_that_changed_its_version_is_found_all_the_same() -> None:
    backend = Backend(Reply(Code.UNIMPLEMENTED), answer(LISTED))
    talk = await converse(backend.ask, "v1alpha")
    assert (talk.protocol, backend.paths) == ("v1", [PATHS["v1alpha"], PATHS["v1"]])


async def test_an_answer_counts_however_the_stream_ends() -> None:
    reply = Reply(Code.UNKNOWN, Origin.SERVER, "odd", messages=(LISTED.SerializeToString(),))
    assert (await converse(Backend(reply).ask)).listing == ["a.S", "a.T"]


async def test_of_two_refusals_the_one_that_says_more_is_told() -> None:
    busy, unknown = Reply(Code.UNAVAILABLE, Origin.SERVER, "busy"), Reply(Code.UNIMPLEMENTED)
    assert await refusal(busy, unknown) == busy
    assert await refusal(unknown, busy) == busy


@pytest.mark.parametrize("late", [Reply(Code.DEADLINE_EXCEEDED, Origin.CLIENT, "late"), Reply(Code.UNAUTHENTICATED)])
async def test_what_has_nothing_to_do_with_versions_is_final(late: Reply) -> None:
    assert await refusal(late) == late


@pytest.mark.parametrize(("number", "code", "raw"), [(7, Code.PERMISSION_DENIED, None), (99, Code.UNKNOWN, 99)])
async def test_a_refusal_may_come_as_an_answer(number: int, code: Code, raw: int | None) -> None:
    said = ServerReflectionResponse(error_response=ErrorResponse(error_code=number, error_message="no"))
    assert await refusal(answer(said), Reply(Code.UNIMPLEMENTED)) == Reply(code, Origin.SERVER, "no", raw_code=raw)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(Code.OK), "the stream ended without an answer"),
        (Reply(Code.OK, messages=(b"\xff",)), "its answer is not a reflection response"),
    ],
)
async def test_an_answer_that_is_none_is_refused_by_us(reply: Reply, reason: str) -> None:
    refused = await refusal(reply, Reply(Code.UNIMPLEMENTED))
    assert (refused.origin, refused.reason) == (Origin.CLIENT, reason)


async def test_a_descriptor_that_is_none_is_refused_by_us() -> None:
    broken = FileDescriptorResponse(file_descriptor_proto=[b"\xff"])
    talk = Conversation(Backend(answer(ServerReflectionResponse(file_descriptor_response=broken))).ask, "v1")
    with pytest.raises(ReflectionFailed, match="a descriptor file is not a protobuf message"):
        await talk.methods("a.S")


async def test_a_backend_that_sends_files_without_end_is_given_up() -> None:
    talk = Conversation(Backend(files(*(str(number) for number in range(MAX_FILES + 1)))).ask, "v1")
    with pytest.raises(ReflectionFailed, match=f"more than {MAX_FILES} descriptor files"):
        await talk.methods("a.S")


@pytest.mark.parametrize("code", [Code.NOT_FOUND, Code.UNIMPLEMENTED, Code.INVALID_ARGUMENT])
async def test_what_a_backend_does_not_have_may_end_the_stream(code: Code) -> None:
    no = Reply(code, Origin.SERVER, "symbol 'S' not found")
    found = FileDescriptorProto(name="main.proto", package="a", dependency=["gone.proto"])
    found.message_type.add(name="S")
    described = ServerReflectionResponse(
        file_descriptor_response=FileDescriptorResponse(file_descriptor_proto=[found.SerializeToString()])
    )
    talk = Conversation(Backend(no, no, no, answer(described), no).ask, "v1")
    assert not await talk.symbol("S")
    assert await talk.methods("S") == {}
    assert not await talk.extension("a.S", 100)
    assert await talk.symbol("a.S")
    await talk.complete()
    assert set(talk.files) == {"main.proto"}


@pytest.mark.parametrize(
    "reply",
    [
        Reply(Code.UNAVAILABLE, Origin.SERVER, "busy"),
        Reply(Code.PERMISSION_DENIED, Origin.SERVER, "no"),
        Reply(Code.UNIMPLEMENTED, Origin.CLIENT, "no"),
    ],
)
async def test_a_question_that_got_no_answer_is_not_one_that_was_answered_with_no(reply: Reply) -> None:
    talk = Conversation(Backend(reply).ask, "v1")
    with pytest.raises(ReflectionFailed) as raised:
        await talk.symbol("S")
    assert raised.value.reply == reply


async def test_imports_are_fetched_once_each_whether_they_come_or_not() -> None:
    main = FileDescriptorProto(name="main.proto", dependency=["gone.proto", "there.proto"])
    found = ServerReflectionResponse(
        file_descriptor_response=FileDescriptorResponse(file_descriptor_proto=[main.SerializeToString()])
    )
    backend = Backend(answer(found), files(), files("there.proto"))
    talk = Conversation(backend.ask, "v1")
    assert await talk.methods("a.S") == {}
    await talk.complete()
    assert [question.file_by_filename for question in backend.questions[1:]] == ["gone.proto", "there.proto"]
    assert set(talk.files) == {"main.proto", "there.proto"}


NOT_FOUND = answer(ServerReflectionResponse(error_response=ErrorResponse(error_code=5, error_message="not found")))


def described(file: FileDescriptorProto) -> Reply:
    sent = FileDescriptorResponse(file_descriptor_proto=[file.SerializeToString()])
    return answer(ServerReflectionResponse(file_descriptor_response=sent))


async def test_a_symbol_is_asked_for_once() -> None:
    backend = Backend(described(written("m.proto", 'message_type { name: "M" enum_type { name: "E" } }')))
    talk = Conversation(backend.ask, "v1")
    assert [await talk.symbol(name) for name in ("m.M", "m.M.E", "m.M")] == [True, True, True]
    assert [question.file_containing_symbol for question in backend.questions] == ["m.M"]


async def test_a_symbol_that_nobody_knows_is_not_there() -> None:
    talk = Conversation(Backend(NOT_FOUND, Reply(Code.OK, messages=(b"",))).ask, "v1")
    assert [await talk.symbol("m.M"), await talk.symbol("m.N")] == [False, False]


async def test_an_extension_is_asked_for_once() -> None:
    file = written("x.proto", 'extension { name: "size" number: 100 type: TYPE_INT32 extendee: ".m.M" }')
    backend = Backend(described(file), NOT_FOUND)
    talk = Conversation(backend.ask, "v1")
    assert [await talk.extension("m.M", number) for number in (100, 100, 101)] == [True, True, False]
    asked = [question.file_containing_extension for question in backend.questions]
    assert [(each.containing_type, each.extension_number) for each in asked] == [("m.M", 100), ("m.M", 101)]


async def test_an_extension_may_be_in_a_file_that_is_known_already() -> None:
    field = 'extension { name: "size" number: 7 type: TYPE_INT32 extendee: ".m.M" }'
    backend = Backend(described(written("x.proto", f'message_type {{ name: "Holder" {field} }}')))
    talk = Conversation(backend.ask, "v1")
    assert await talk.symbol("x.Holder")
    assert await talk.extension("m.M", 7)
    assert len(backend.questions) == 1


async def test_a_file_that_does_not_extend_what_was_asked_for_is_no_answer() -> None:
    talk = Conversation(Backend(described(FileDescriptorProto(name="other.proto"))).ask, "v1")
    assert not await talk.extension("m.M", 7)
