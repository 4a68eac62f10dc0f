"""Messages of every type, between us and a real server: what it reads is what protobuf's own mapping makes of JSON."""

from __future__ import annotations

from random import Random

import pytest

from tests.rpc.zoo.exchange import CONTENTS, Exchange
from tests.rpc.zoo.keeper import keeping, zoo_files
from tests.rpc.zoo.schemas import Schema

METHODS = ("zoo.modern.Keeper/Echo", "zoo.modern.Keeper/Own", "zoo.old.Keeper/Echo", "zoo.newest.Keeper/Echo")


@pytest.mark.parametrize("method", METHODS)
async def test_messages_of_the_zoo_are_what_protobuf_makes_of_them_in_both_directions(method: str) -> None:
    async with keeping(zoo_files()) as (keeper, endpoint):
        exchange = await Exchange.begin(keeper, endpoint, method, Random(method), CONTENTS)
        await exchange.run(40)


@pytest.mark.parametrize("seed", range(12))
async def test_messages_of_random_schemas_are_what_protobuf_makes_of_them_in_both_directions(seed: int) -> None:
    await exchanged(seed, messages=12)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 200))
async def test_messages_of_many_random_schemas_are_what_protobuf_makes_of_them(seed: int) -> None:
    await exchanged(seed, messages=60)


async def exchanged(seed: int, *, messages: int) -> None:
    rng = Random(seed)
    schema = Schema(rng)
    async with keeping(schema.files) as (keeper, endpoint):
        exchange = await Exchange.begin(keeper, endpoint, "m.S/M", rng, schema.contents)
        await exchange.run(messages)
