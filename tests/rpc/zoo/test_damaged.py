"""Octets that were damaged: they are shown or refused, and what is shown without a complaint is read back the same."""

from __future__ import annotations

import json
from random import Random

import pytest

from lbctl.errors import CannotCall
from lbctl.rpc.messages.as_text import as_text
from lbctl.rpc.messages.message import decode, decoded, encode
from lbctl.rpc.messages.resolver import lacking
from lbctl.rpc.schemas.schema import Method
from tests.rpc.zoo.exchange import CONTENTS
from tests.rpc.zoo.keeper import pool_of, zoo_files
from tests.rpc.zoo.values import Values


def damaged(octets: bytes, rng: Random) -> bytes:
    found = bytearray(octets)
    for _ in range(rng.randint(0, 3)):
        place = rng.randrange(len(found) or 1)
        found[place : place + rng.randint(0, 1)] = rng.randbytes(rng.randint(0, 1))
    return bytes(found)


@pytest.mark.parametrize("name", ["zoo.modern.Animal", "zoo.old.Fossil", "zoo.newest.Chimera", "zoo.unlinked.Egg"])
def test_whatever_a_server_sends_is_shown_or_refused(name: str) -> None:
    rng, pool = Random(name), pool_of(zoo_files())
    kind = pool.FindMessageTypeByName(name)
    method = Method("s.S/M", "/s.S/M", kind, kind, client_streaming=False, server_streaming=False)
    values = Values(rng, pool, CONTENTS)
    same = 0
    for _ in range(400):
        octets = damaged(values.message(kind).SerializeToString(), rng)
        try:
            message = decoded(kind, octets)
        except CannotCall:
            continue
        text = json.dumps(decode(method, octets))
        assert "\n" not in as_text(kind, octets)
        lacking(message, pool)
        if "@error" not in text and message.IsInitialized():
            assert json.dumps(decode(method, encode(method, text))) == text
            same += 1
    assert same > 40
