"""The choice of a method by name, apart from any server."""

from __future__ import annotations

import pytest
from google.protobuf.descriptor_pb2 import MethodDescriptorProto

from lbctl.errors import NotFound, UsageError
from lbctl.rpc.schemas.lookup import Catalog, Name, choose, described, listed, parse, places


def catalog(*names: str) -> Catalog:
    built: dict[str, dict[str, MethodDescriptorProto]] = {}
    for name in names:
        service, _, method = name.partition("/")
        built.setdefault(service, {})[method] = MethodDescriptorProto(name=method)
    return built


def test_an_ambiguous_name_lists_the_candidates() -> None:
    with pytest.raises(NotFound) as raised:
        choose(parse("Get"), catalog("a.Users/Get", "b.Orders/Get", "b.Orders/Put"))
    assert str(raised.value) == '"Get" is ambiguous: a.Users/Get, b.Orders/Get'
    assert raised.value.hint == "give the full name, for example a.Users/Get"


def test_a_full_name_beats_a_longer_one_that_ends_the_same() -> None:
    assert choose(parse("a.S/Get"), catalog("x.a.S/Get", "a.S/Get")) == Name("a.S", "Get")


def test_a_service_name_ends_at_a_dot() -> None:
    with pytest.raises(NotFound):
        choose(parse("ers/Get"), catalog("a.Users/Get"))


def test_a_service_is_not_a_method() -> None:
    with pytest.raises(NotFound) as raised:
        choose(parse("a.Users"), catalog("a.Users/Get", "a.Users/Put"))
    assert str(raised.value) == '"a.Users" is a service, not a method'
    assert raised.value.hint == "its methods: a.Users/Get, a.Users/Put"


@pytest.mark.parametrize("text", ["Gte", "users/get", "User/Get", "a.User.Get", "b.Users/Get"])
def test_the_nearest_method_is_suggested(text: str) -> None:
    with pytest.raises(NotFound) as raised:
        choose(parse(text), catalog("a.Users/Get", "a.Users/Remove", "b.Orders/Place"))
    assert raised.value.hint == "did you mean a.Users/Get?"


def test_names_with_nothing_near_list_what_there_is() -> None:
    with pytest.raises(NotFound) as raised:
        choose(parse("Zzzz"), catalog("a.Users/Get"))
    assert raised.value.hint == "methods: a.Users/Get"


@pytest.mark.parametrize("text", ["Users/Zzzz", "a.Users/Zzzz", "Users.Zzzz"])
def test_where_the_service_is_right_its_methods_are_listed_and_none_that_looks_alike_as_a_whole(text: str) -> None:
    with pytest.raises(NotFound) as raised:
        choose(parse(text), catalog("a.Users/Gets", "a.Users/Put", "b.Orders/Place"))
    assert raised.value.hint == "methods: a.Users/Gets, a.Users/Put"


def test_a_backend_without_services_says_so() -> None:
    with pytest.raises(NotFound, match="the backend lists no service of its own"):
        choose(parse("Get"), {})


def test_grpc_itself_is_meant_only_where_its_service_is_named() -> None:
    listing = ["grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection", "a.S"]
    assert places(parse("Check"), listing) == ["a.S"]
    assert places(parse("Health/Check"), listing) == ["grpc.health.v1.Health"]
    assert places(parse("Health/Check"), [*listing, "a.Health"]) == ["a.Health"]
    assert places(parse("grpc.health.v1.Health/Check"), listing) == ["grpc.health.v1.Health"]


def test_a_listed_name_that_no_compiler_would_write_is_left_out() -> None:
    assert places(parse("Get"), ["a.S", "\x1b[2J", "a..b", ""]) == ["a.S"]


def test_a_method_name_that_no_compiler_would_write_is_never_shown() -> None:
    with pytest.raises(NotFound) as raised:
        choose(parse("Zzzz"), catalog("a.S/Get", "a.S/\x1b[2J"))
    assert raised.value.hint == "methods: a.S/Get"


@pytest.mark.parametrize("text", ["", "/", "//", "a.S/", "."])
def test_half_a_name_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="is not a method name"):
        parse(text)


def test_long_lists_are_cut() -> None:
    assert listed([Name("a.S", f"M{i}") for i in range(12)]).endswith("a.S/M9 and 2 more")


def test_the_methods_of_a_backend_are_listed_with_what_streams_and_without_grpcs_own() -> None:
    methods = {
        "Get": MethodDescriptorProto(name="Get"),
        "Push": MethodDescriptorProto(name="Push", client_streaming=True),
        "Watch": MethodDescriptorProto(name="Watch", server_streaming=True),
        "Chat": MethodDescriptorProto(name="Chat", client_streaming=True, server_streaming=True),
    }
    found = described({"a.S": methods, **catalog("grpc.health.v1.Health/Check")})
    assert found == (
        "a.S/Get, a.S/Push (client streaming), a.S/Watch (server streaming), a.S/Chat (bidirectional streaming)"
    )
