"""lbctl as its users start it: a process, and the lines it prints."""

from __future__ import annotations

import asyncio
import json
import os
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from jsonschema import Draft202012Validator

from tests import warm
from tests.warm import Process

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


def schema(name: str) -> Draft202012Validator:
    return Draft202012Validator(json.loads((REFERENCE / f"{name}.schema.json").read_text(encoding="utf-8")))


@asynccontextmanager
async def lbctl(*arguments: str, stdout: int = PIPE) -> AsyncIterator[Process]:
    """Start lbctl, and end it with the block."""
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    process = await warm.started(arguments, environ, stdout=stdout)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def line(process: Process) -> str:
    assert process.stdout is not None
    async with asyncio.timeout(20):
        return (await process.stdout.readline()).decode()


async def line_with(process: Process, text: str) -> str:
    """Read lines up to the first that has this text in it."""
    while text not in (read := await line(process)):
        assert read, f"output ended before {text!r}"
    return read


async def end(process: Process) -> int:
    async with asyncio.timeout(20):
        return await process.wait()
