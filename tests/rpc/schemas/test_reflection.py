"""The happy paths: which version answers, how a method may be spelt, what stands in for a missing METHOD."""

from __future__ import annotations

import grpc
import pytest
from google.protobuf import descriptor_pool
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from lbctl.errors import CannotCall, NotFound, UsageError
from lbctl.model import Endpoint
from lbctl.rpc.messages.message import encode
from lbctl.rpc.schemas.asking import Versions
from lbctl.rpc.schemas.conversation import ReflectionFailed
from lbctl.rpc.schemas.described_files import DescribedFiles
from lbctl.rpc.schemas.reflection import load_method
from tests.rpc.schemas.written import written
from tests.rpc.servers import HEALTH, V1, V1ALPHA, Reflection, echo_files, failing, health_of, reflecting, serving

LISTING = ["test.Echo", "test.Admin", V1, HEALTH]
ECHO = Reflection(echo_files(), LISTING)


@pytest.mark.parametrize("wanted", ["test.Echo/Say", "/test.Echo/Say", "test.Echo.Say", "Echo/Say", "Echo.Say", "Say"])
async def test_a_method_is_found_by_every_spelling_that_is_not_ambiguous(wanted: str) -> None:
    async with serving(reflecting(ECHO, V1)) as endpoint:
        found = await load_method([endpoint], wanted, timeout_s=5)
    assert (found.method.full_name, found.method.path) == ("test.Echo/Say", "/test.Echo/Say")
    assert (found.backend, found.protocol, found.note) == (endpoint, "v1", "")


async def test_the_messages_of_a_method_come_with_it() -> None:
    async with serving(reflecting(ECHO, V1)) as endpoint:
        found = await load_method([endpoint], "Say", timeout_s=5)
    assert found.method.input_type.full_name == "test.Text"
    assert encode(found.method, '{"message": "hi", "count": 9007199254740993}') == bytes.fromhex(
        "0a026869108180808080808010"
    )


async def test_reflected_schemas_stay_out_of_the_default_pool() -> None:
    async with serving(reflecting(ECHO, V1)) as endpoint:
        found = await load_method([endpoint], "Say", timeout_s=5)
    default = descriptor_pool.Default()
    assert found.method.input_type.file.pool is not default
    with pytest.raises(KeyError):
        default.FindMessageTypeByName("test.Text")


async def test_a_server_with_v1alpha_only_is_asked_in_v1alpha() -> None:
    async with serving(reflecting(ECHO, V1ALPHA)) as endpoint:
        found = await load_method([endpoint], "Say", timeout_s=5)
    assert found.protocol == "v1alpha"


@pytest.mark.parametrize("code", ["UNIMPLEMENTED", "UNAVAILABLE", "UNKNOWN", "INTERNAL"])
async def test_whatever_a_proxy_answers_for_v1_v1alpha_is_tried(code: str) -> None:
    handlers = [failing(V1, grpc.StatusCode[code], "no such route"), *reflecting(ECHO, V1ALPHA)]
    async with serving(handlers) as endpoint:
        found = await load_method([endpoint], "Say", timeout_s=5)
    assert found.protocol == "v1alpha"


async def test_a_refusal_that_has_nothing_to_do_with_versions_is_final() -> None:
    handlers = [failing(V1, grpc.StatusCode.PERMISSION_DENIED, "who are you?"), *reflecting(ECHO, V1ALPHA)]
    async with serving(handlers) as endpoint:
        with pytest.raises(CannotCall, match=r"answered PERMISSION_DENIED: who are you\?"):
            await load_method([endpoint], "Say", timeout_s=5)


async def test_a_full_name_is_found_though_the_listing_leaves_it_out() -> None:
    async with serving(reflecting(Reflection(echo_files(), ["test.Echo"]), V1)) as endpoint:
        for spelt in ("test.Admin/Reset", "test.Admin.Reset"):
            found = await load_method([endpoint], spelt, timeout_s=5)
            assert found.method.full_name == "test.Admin/Reset"
        with pytest.raises(NotFound) as raised:
            await load_method([endpoint], "test.Admin/Reste", timeout_s=5)
        assert raised.value.hint == "did you mean test.Admin/Reset?"
        with pytest.raises(NotFound) as raised:
            await load_method([endpoint], "test.Amdin/Reset", timeout_s=5)
        assert raised.value.hint.startswith("methods: test.Echo/Say")


async def test_without_a_method_the_health_check_is_called_and_said() -> None:
    async with serving(reflecting(ECHO, V1)) as endpoint:
        found = await load_method([endpoint], None, timeout_s=5)
    assert found.method.full_name == "grpc.health.v1.Health/Check"
    assert found.note == "no METHOD given: calling grpc.health.v1.Health/Check, which changes nothing"
    assert encode(found.method, '{"service": "a"}') == b"\x0a\x01a"


async def test_without_a_method_and_without_health_the_methods_are_listed() -> None:
    async with serving(reflecting(Reflection(echo_files(), ["test.Echo", V1]), V1)) as endpoint:
        with pytest.raises(UsageError) as raised:
            await load_method([endpoint], None, timeout_s=5)
    assert str(raised.value) == f"no METHOD given, and {endpoint} does not offer grpc.health.v1.Health"
    assert raised.value.hint == (
        "give one of its methods: test.Echo/Say, test.Echo/Watch (server streaming), "
        "test.Echo/Push (client streaming), test.Echo/Chat (bidirectional streaming)"
    )
    assert raised.value.exit_code == 2


@pytest.mark.parametrize("wanted", [None, "grpc.health.v1.Health/Check"])
async def test_the_health_check_needs_no_reflection(wanted: str | None) -> None:
    async with serving(healthy=health_of(1)) as endpoint:
        found = await load_method([endpoint], wanted, timeout_s=5)
    assert (found.protocol, found.method.path) == ("builtin", "/grpc.health.v1.Health/Check")


@pytest.mark.parametrize(
    ("name", "client", "server"), [("Say", False, False), ("Watch", False, True), ("Push", True, False)]
)
async def test_which_sides_of_a_method_stream_comes_with_it(name: str, *, client: bool, server: bool) -> None:
    async with serving(reflecting(ECHO, V1)) as endpoint:
        found = await load_method([endpoint], f"Echo/{name}", timeout_s=5)
    assert (found.method.client_streaming, found.method.server_streaming) == (client, server)


async def test_an_unknown_method_is_answered_with_the_nearest() -> None:
    async with serving(reflecting(ECHO, V1)) as endpoint:
        with pytest.raises(NotFound) as raised:
            await load_method([endpoint], "Echo/Sya", timeout_s=5)
    assert str(raised.value) == 'no method "Echo/Sya"'
    assert raised.value.hint == "did you mean test.Echo/Say?"
    assert raised.value.exit_code == 4


async def test_no_backend_at_all_is_not_found() -> None:
    with pytest.raises(NotFound, match='"echo" has no backend to ask for its methods'):
        await load_method([], "Say", timeout_s=5, service="echo")


async def test_the_version_that_a_backend_knows_is_remembered() -> None:
    versions: Versions = {}
    async with serving(reflecting(ECHO, V1ALPHA)) as endpoint:
        await load_method([endpoint], "Say", timeout_s=5, versions=versions)
        assert versions == {endpoint: "v1alpha"}
        assert (await load_method([endpoint], "Say", timeout_s=5, versions=versions)).protocol == "v1alpha"


async def test_more_types_can_be_had_once_the_method_was_found() -> None:
    files = echo_files()
    files["late.proto"] = written("late.proto", 'message_type { name: "Comer" }')
    async with serving(reflecting(Reflection(files, LISTING), V1)) as endpoint:
        source = (await load_method([endpoint], "Say", timeout_s=5)).source
        assert [await source.symbol(name) for name in ("late.Comer", "late.Nobody")] == [True, False]
    assert "late.proto" in source.files


async def test_more_types_of_a_backend_that_is_gone_are_refused() -> None:
    async with serving(reflecting(ECHO, V1)) as endpoint:
        source = (await load_method([endpoint], "Say", timeout_s=5)).source
    with pytest.raises(ReflectionFailed):
        await source.symbol("late.Comer")


FILES = DescribedFiles([("--protoset echo.pb", list(echo_files().values()))])
NOBODY = Endpoint("127.0.0.1", 1)


@pytest.mark.parametrize("wanted", ["test.Echo/Say", "test.Echo.Say", "Echo/Say", "Say"])
async def test_a_method_is_found_in_files_and_nobody_is_asked(wanted: str) -> None:
    found = await load_method([NOBODY], wanted, timeout_s=5, source=FILES)
    assert (found.method.path, found.backend, found.protocol) == ("/test.Echo/Say", None, "files")
    assert encode(found.method, '{"message": "hi"}') == b"\x0a\x02hi"


async def test_what_files_do_not_describe_is_not_found() -> None:
    with pytest.raises(NotFound, match='no method "Echo/Sya"') as raised:
        await load_method([NOBODY], "Echo/Sya", timeout_s=5, source=FILES)
    assert raised.value.hint == "did you mean test.Echo/Say?"
    empty = DescribedFiles([("--protoset x.pb", [FileDescriptorProto(name="x.proto")])])
    with pytest.raises(NotFound, match=r'no method "Say": --protoset x\.pb lists no service of its own'):
        await load_method([NOBODY], "Say", timeout_s=5, source=empty)


async def test_files_without_a_method_given_list_theirs() -> None:
    with pytest.raises(UsageError, match=r"--protoset echo\.pb does not describe grpc\.health\.v1\.Health") as raised:
        await load_method([NOBODY], None, timeout_s=5, source=FILES)
    assert raised.value.hint.startswith("give one of its methods: test.Echo/Say, ")


async def test_the_health_check_needs_no_files() -> None:
    found = await load_method([NOBODY], "grpc.health.v1.Health/Check", timeout_s=5, source=FILES)
    assert (found.method.path, found.protocol) == ("/grpc.health.v1.Health/Check", "files")


async def test_files_that_leave_out_a_type_are_named() -> None:
    partial = DescribedFiles([("--protoset echo.pb", [echo_files()["test/echo.proto"]])])
    with pytest.raises(
        CannotCall, match=r"test\.Echo/Say needs test\.Text, which --protoset echo\.pb does not describe"
    ):
        await load_method([NOBODY], "Say", timeout_s=5, source=partial)
