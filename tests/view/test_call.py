"""Single calls in lines: replies as text, which hold nothing that a terminal obeys."""

from __future__ import annotations

import pytest
from google.protobuf import text_format
from google.protobuf.wrappers_pb2 import StringValue

from lbctl.load.single import Answer
from lbctl.view.call import reply_text


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("naïve 価格", 'value: "naïve 価格"'),
        ("\x1b[2J\n", r'value: "\033[2J\n"'),
        ("\u009b2J \u202egnp", r'value: "\302\2332J \342\200\256gnp"'),
    ],
)
def test_text_format_is_harmless_and_means_the_same(said: str, shown: str) -> None:
    octets = StringValue(value=said).SerializeToString()
    text = reply_text(Answer(octets, said, StringValue.DESCRIPTOR), "text", None)
    assert text == shown
    assert text_format.Parse(text, StringValue()).value == said
