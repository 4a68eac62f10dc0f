"""Runs whose requests and checks name types that the method's own files do not import: reflection is asked for them."""

from __future__ import annotations

from pathlib import Path

import pytest
from google.protobuf import json_format

from tests.e2e.runs import hammer
from tests.rpc.zoo.keeper import keeping, zoo_files

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

EGG = "type.googleapis.com/zoo.unlinked.Egg"
MODERN, OLD = "zoo.modern.Keeper/Echo", "zoo.old.Keeper/Echo"


async def test_types_of_any_and_extensions_are_fetched_for_data_files_mixes_and_checks(tmp_path: Path) -> None:
    (tmp_path / "eggs.ndjson").write_text(f'{{"any": {{"@type": "{EGG}", "number": "{{{{seq 1}}}}"}}}}\n')
    (tmp_path / "any.csv").write_text(f'stringValue,any\na,"{{""@type"": ""{EGG}"", ""number"": 2}}"\n')
    (tmp_path / "mix.yaml").write_text(
        f'- {{method: {OLD}, data: {{name: x, "[zoo.unlinked.weight]": 7}},'
        " check: 'resp[\"[zoo.unlinked.weight]\"] == 7'}\n"
        f"- {{method: {MODERN}, data_file: eggs.ndjson, check: 'resp.any[\"[zoo.unlinked.Egg]\"].number > 0'}}\n"
    )
    async with keeping(zoo_files()) as (keeper, endpoint):
        for options, ends in (
            ((MODERN, "-d", f'{{"any": {{"@type": "{EGG}", "number": 9007199254740993}}}}'), 0),
            ((MODERN, "-D", "eggs.ndjson"), 0),
            ((MODERN, "-D", "any.csv", "--check", 'resp.any["[zoo.unlinked.Egg]"].number == 2'), 0),
            ((MODERN, "-D", "any.csv", "--check", 'has(resp.any["[zoo.old.Fossil]"])'), 1),
            (("--mix", "mix.yaml"), 0),
        ):
            done = await hammer(
                *("--backends", str(endpoint), "zoo", *options, "-n", "4", "-c", "1", "-o", "json"), cwd=tmp_path
            )
            assert done.status == ends, done.err
            assert done.document["requests"] == 4
        heard = [json_format.MessageToDict(each, descriptor_pool=keeper.pool) for each in keeper.heard]
    assert heard[0] == {"any": {"@type": EGG, "number": "9007199254740993"}}
    assert [each["any"]["number"] for each in heard[4:8]] == ["1", "2", "3", "4"]
    assert heard[8] == {"stringValue": "a", "any": {"@type": EGG, "number": "2"}}
    assert all(each == {"name": "x", "[zoo.unlinked.weight]": "7"} or "any" in each for each in heard[16:])


async def test_a_type_that_nobody_describes_is_said_with_the_accepted_form(tmp_path: Path) -> None:
    async with keeping(zoo_files()) as (_, endpoint):
        done = await hammer("--backends", str(endpoint), "zoo", MODERN, "-d", '{"any": {"@type": "x/no.Such"}}')
    assert done.status == 2
    assert 'field "any" holds the type "x/no.Such", which nobody describes' in done.err
    assert "--protoset FILE" in done.err
