"""Binary metadata: what a grpcio server gets of ``-bin`` values, what is refused, what is shown of replies."""

from __future__ import annotations

import json
from typing import Any

import grpc.aio
import pytest

from tests.e2e.calls import Server, called, document, text
from tests.e2e.runs import hammer, lbctl
from tests.rpc.servers import V1, Reflection, echo_files, reflecting, serving

pytestmark = pytest.mark.e2e

SAY = "test.Echo/Say"
WRITTEN = ("k-bin: AAE=", "K-Bin: AAE", "k-bin: -_8", "k-bin: +/8=", "k-bin: AAE=,-_8=", "k-bin:")
HEARD = [b"\x00\x01", b"\x00\x01", b"\xfb\xff", b"\xfb\xff", b"\x00\x01", b"\xfb\xff", b""]


class Hearing(Server):
    """Remembers every value of ``k-bin``, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.values: list[bytes] = []

    async def _began(self, request: bytes, context: Any) -> str:  # noqa: ANN401 # grpc's context has no public type
        self.values = [value for name, value in context.invocation_metadata() if name == "k-bin"]
        return await super()._began(request, context)


@pytest.mark.parametrize(
    "command",
    [
        ("call",),
        ("hammer", "-n", "2", "-c", "1"),
        ("hammer", "-n", "2", "--engine", "grpcio"),
        ("call", "-m"),
        ("hammer", "-m"),
    ],
)
async def test_a_server_gets_the_octets_that_base64_stands_for(command: tuple[str, ...]) -> None:
    server = Hearing()
    words = [word for each in WRITTEN for word in ("-H", each)]
    if "-m" in command:
        values = [each.partition(": ")[2] for each in WRITTEN]
        words = ["-m", json.dumps({"k-bin": values}), *(("-n", "1") if command[0] == "hammer" else ())]
    rest = [word for word in command[1:] if word != "-m"]
    async with called(server) as address:
        ended = await lbctl(command[0], "--backends", address, SAY, *rest, *words)
    assert (ended.status, server.values) == (0, HEARD), ended.err


@pytest.mark.parametrize("value", ["AAE!", "AAE==", "A", "some text", "AAE=,x"])
async def test_what_is_not_base64_is_refused_before_anything_is_sent(value: str) -> None:
    called_ = await lbctl("call", "--backends", "127.0.0.1:1", SAY, "-H", f"k-bin: {value}")
    loaded = await hammer("--backends", "127.0.0.1:1", SAY, "-H", f"k-bin: {value}")
    for ended in (called_, loaded):
        assert (ended.status, ended.out) == (2, "")
        assert "metadata k-bin: the value is not base64, as those of -bin names are\nhint: text is made" in ended.err


async def _say(request: bytes, context: Any) -> bytes:  # noqa: ANN401
    await context.send_initial_metadata((("x-id-bin", b"\x00\x01"),))
    context.set_trailing_metadata((("x-end-bin", b"\xff\xfe\xfd\xfc"),))
    return text("hi")


async def test_binary_values_of_replies_are_shown_in_base64() -> None:
    own = grpc.method_handlers_generic_handler("test.Echo", {"Say": grpc.unary_unary_rpc_method_handler(_say)})
    reflection = reflecting(Reflection(echo_files(), ["test.Echo", V1]), V1)
    async with serving([own, *reflection]) as endpoint:
        told = await lbctl("call", "--backends", str(endpoint), SAY, "-v")
        found = document(await lbctl("call", "--backends", str(endpoint), SAY, "-o", "json"))
    assert {"< x-id-bin: AAE", "< trailer x-end-bin: //79/A"} <= {line.rstrip("=") for line in told.err.splitlines()}
    (call,) = found["calls"]
    assert {"name": "x-id-bin", "value": "AAE"} in _bare(call["headers"])
    assert {"name": "x-end-bin", "value": "//79/A"} in _bare(call["trailers"])


def _bare(fields: list[dict[str, str]]) -> list[dict[str, str]]:
    return [{**each, "value": each["value"].rstrip("=")} for each in fields]
