"""--check of what a reply holds beside its own fields: extensions, and the contents of Any."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.message_factory import GetMessageClass

from lbctl.errors import UsageError
from lbctl.model import Code, Reply
from lbctl.rpc.messages.check import compile_check
from lbctl.rpc.messages.message import encode_value
from lbctl.rpc.messages.resolver import names_in_check, resolver_of
from lbctl.rpc.schemas.described_files import DescribedFiles
from tests.rpc.messages.envelopes import envelope, letters
from tests.rpc.protos import method_of

TYPE = "type.googleapis.com"
LETTER = {"@type": f"{TYPE}/x.Letter", "paper": {"weight": 5}}


async def judged(text: str, value: dict[str, Any]) -> Reply:
    method = method_of(envelope())
    await resolver_of(DescribedFiles([("--proto", letters())]), method).learn(
        [*names_in_check(text), "x.Letter", "x.price"]
    )
    return compile_check(text, method)(Reply(Code.OK, message=encode_value(method, value)))


@pytest.mark.parametrize(
    "text",
    [
        'resp["[x.price]"] == 7',
        'has(resp["[x.price]"]) and not has(resp["[x.made_of]"])',
        '"b" in resp["[x.seals]"] and len(resp["[x.seals]"]) == 2',
        "resp.content['[x.Letter]'].paper.weight == 5",
        f'resp.content["[{TYPE}/x.Letter]"].paper.weight == 5',
        'has(resp.content["[x.Letter]"]) and not has(resp.content["[x.Paper]"])',
        f'resp.content.type_url == "{TYPE}/x.Letter"',
    ],
)
async def test_what_a_reply_holds_of_other_files_can_be_checked(text: str) -> None:
    value = {"content": LETTER, "[x.price]": 7, "[x.seals]": ["a", "b"]}
    assert (await judged(text, value)).reason == ""


async def test_an_any_of_another_type_fails_the_check_and_says_so() -> None:
    failed = await judged('resp.content["[x.Paper]"].weight == 5', {"content": LETTER})
    assert failed.reason == 'check failed: resp.content["[x.Paper]"].weight == 5 (no x.Paper in the Any)'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('resp["[x.no]"] == 7', "nobody describes an extension [x.no]"),
        ('has(resp.content["[x.No]"])', "nobody describes x.No"),
        ('resp.content["[x.Letter]"]["[x.price]"] == 7', "[x.price] extends e.Envelope, not x.Letter"),
        ('has(resp["[x.seals]"])', "has() takes a field that can be told to be absent"),
    ],
)
async def test_names_that_nobody_describes_are_said(text: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        await judged(text, {})
    assert said in str(refused.value)


def test_the_contents_of_an_any_that_are_cut_off_are_none() -> None:
    method = method_of(envelope())
    message: Any = GetMessageClass(method.output_type)()
    message.content.type_url, message.content.value = "x/e.Envelope", b"\xff"
    check = compile_check('has(resp.content["[e.Envelope]"])', method)
    assert check(Reply(Code.OK, message=message.SerializeToString())).reason.startswith("check failed: ")
