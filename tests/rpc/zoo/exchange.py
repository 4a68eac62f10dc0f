"""Messages to and fro: a server reads what we made of JSON, and we show what it answers, both as protobuf would."""

from __future__ import annotations

import json
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from lbctl.model import Code, Endpoint
from lbctl.rpc.access import Access
from lbctl.rpc.messages.kinds import ANY, contents, is_map
from lbctl.rpc.messages.message import encode_value, parse
from lbctl.rpc.messages.resolver import Resolver, resolver_of
from lbctl.rpc.quick import encode_plain
from lbctl.rpc.schemas.reflection import load_method
from lbctl.rpc.schemas.schema import Method
from tests.rpc.zoo.keeper import Keeper
from tests.rpc.zoo.spelling import respelt
from tests.rpc.zoo.values import Values

OWN: Final = tuple(
    f"google.protobuf.{name}"
    for name in ("Any", "Duration", "Empty", "FieldMask", "Int64Value", "BytesValue", "Struct", "Timestamp", "Value")
)
CONTENTS: Final = (*OWN, "zoo.unlinked.Egg", "zoo.unlinked.Egg", "zoo.modern.Animal", "zoo.old.Fossil.Nested")


@dataclass(frozen=True)
class Exchange:
    """A method of a server, by the server's own schema and by what its reflection told us."""

    keeper: Keeper
    endpoint: Endpoint
    method: Method
    resolver: Resolver
    values: Values
    sent: Descriptor  # by the server's schema
    received: Descriptor

    @classmethod
    async def begin(
        cls, keeper: Keeper, endpoint: Endpoint, name: str, rng: Random, contents: tuple[str, ...]
    ) -> Exchange:
        """Load a method by reflection; an Any may hold any of the ``contents``."""
        found = await load_method([endpoint], name, timeout_s=5)
        service, _, short = name.partition("/")
        own = keeper.pool.FindServiceByName(service).FindMethodByName(short)
        values = Values(rng, keeper.pool, contents)
        resolver = resolver_of(found.source, found.method)
        return cls(keeper, endpoint, found.method, resolver, values, own.input_type, own.output_type)

    async def run(self, count: int) -> None:
        """Send so many random messages, and have as many sent back."""
        async with Access().caller(self.endpoint) as caller:
            for _ in range(count):
                reply = self.values.message(self.received)
                other = self.values.rng.random() < 0.5
                self.keeper.replies.append(self.keeper.repacked(reply) if other else reply.SerializeToString())
                request = self.values.message(self.sent)
                value = self._as_json(request)
                spelt = json.dumps(respelt(value, self.sent, self.values.rng))
                read = parse(spelt, "request")
                await self.resolver.fill(read)
                octets = encode_value(self.method, read)
                assert encode_plain(self.method.input_type, read) in (None, octets)
                result = await caller.unary(f"/{self.method.full_name}", octets, timeout_s=5)
                assert result.reply.code is Code.OK, (result.reply.reason, spelt)
                heard, meant = self.keeper.heard.pop(), self._from_json(value) or request
                assert self._octets(heard) == self._octets(meant), spelt
                shown = await self.resolver.reveal(self.method.output_type, result.reply.message)
                assert _in_order(shown) == _in_order(self._as_json(reply))

    def _as_json(self, message: Message) -> Any:  # noqa: ANN401  # whatever JSON holds
        return json_format.MessageToDict(message, descriptor_pool=self.keeper.pool)

    def _from_json(self, value: Any) -> Message | None:  # noqa: ANN401
        """What protobuf makes of JSON; None for the little that it writes and does not read."""
        message: Message = GetMessageClass(self.sent)()
        try:
            json_format.ParseDict(value, message, descriptor_pool=self.keeper.pool)
        except json_format.ParseError as error:
            if "NoneType" in str(error) or "null" in str(error) or "Float value too" in str(error):
                return None
            raise
        return message

    def _octets(self, message: Any) -> bytes:  # noqa: ANN401  # of any type of protobuf
        """The one way to write a message, maps in the contents of an Any included."""
        if message.DESCRIPTOR.full_name == ANY:
            inner = contents(message, self.keeper.pool)
            return bytes(message.type_url.encode()) + (message.value if inner is None else self._octets(inner))
        bare = type(message)()
        bare.CopyFrom(message)
        parts = []
        for field, value in message.ListFields():
            if field.message_type is None:
                continue
            items = [value]
            if is_map(field):
                if field.message_type.fields_by_name["value"].message_type is None:
                    continue
                items = [value[key] for key in sorted(value)]
                parts.append(repr(sorted(value)).encode())
            elif field.is_repeated:
                items = value
            parts += [str(field.full_name).encode(), *map(self._octets, items)]
            bare.ClearExtension(field) if field.is_extension else bare.ClearField(field.name)
        return b"|".join([bare.SerializeToString(deterministic=True), *parts])


def _in_order(value: object) -> str:
    return json.dumps(value, sort_keys=True)  # of maps; text, since 0.0 == -0.0
