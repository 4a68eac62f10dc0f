"""``lbctl`` as a user starts it: a process with pipes, alone in its session, judged when it has ended."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from jsonschema import Draft202012Validator

from tests import warm
from tests.warm import Forked, Process

ROOT = Path(__file__).parents[2]
PATIENCE_S = 60.0
STRICT = {"PYTHONDEVMODE": "1", "PYTHONWARNINGS": "error"}

_RUN = json.loads((ROOT / "docs" / "reference" / "run.schema.json").read_text(encoding="utf-8"))


class Ended(NamedTuple):
    """What a run left behind."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """Standard output as the one document that it must be, valid and with its sums right."""
        found: dict[str, Any] = json.loads(self.out)
        check(found)
        return found


def check(document: dict[str, Any]) -> None:
    """Hold a run document to its schema, and to the promise that every call is accounted for."""
    Draft202012Validator(_RUN).validate(document)
    assert document["in_flight"] == 0
    assert document["requests"] == document["ok"] + document["errors"] + document["cancelled"]
    assert sum(document["codes"].values()) == document["ok"] + document["errors"]
    assert sum(group["count"] for group in document["error_groups"]) == document["errors"]
    for name in ("ok", "errors", "cancelled"):
        assert sum(row[name] for row in document["backends"]) <= document[name]
    for row in document["backends"]:
        assert row["in_flight"] == 0
        assert sum(row["codes"].values()) == row["ok"] + row["errors"]
    assert document["ok"] == sum(row["ok"] for row in document["backends"])
    timed = document["histograms"]["latency"]["count"]
    if document["load"]["count_errors"]:
        assert document["ok"] <= timed <= document["ok"] + document["errors"]
    else:
        assert document["ok"] == timed
    assert timed == sum(bucket["count"] for bucket in document["histogram"])
    for name in ("requests", "ok", "errors", "cancelled", "dropped", "retries"):
        assert sum(sample[name] for sample in document["samples"]) == document[name]


def picks_by_weight(document: Mapping[str, Any]) -> list[tuple[int, int]]:
    return sorted((row["weight"], row["picks"]) for row in document["backends"])


def row_of(document: Mapping[str, Any], address: str) -> dict[str, Any]:
    """The one row of an address."""
    (found,) = (row for row in document["backends"] if row["address"] == address)
    return dict(found)


def events_of(document: Mapping[str, Any], kind: str) -> list[tuple[str | None, str]]:
    return [(event["backend"], event["text"]) for event in document["events"] if event["kind"] == kind]


class Running:
    """A process that has not ended yet; its standard error is read all the time."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.said: list[str] = []
        self._heard = 0
        self._news = asyncio.Event()
        self._reading = asyncio.gather(self._listen(), self._collect())

    async def hears(self, *words: str) -> str:
        """The next line of standard error that has all these words in it."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                while True:
                    while self._heard < len(self.said):
                        line = self.said[self._heard]
                        self._heard += 1
                        if all(word in line for word in words):
                            return line
                    assert not self._reading.done(), f"ended without {words}: {self.said[-30:]}"
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise AssertionError(f"never said {words}: {self.said[-30:]}") from None

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    async def ended(self, patience_s: float = PATIENCE_S) -> Ended:
        """Wait for its end, bounded."""
        try:
            async with asyncio.timeout(patience_s):
                _, out = await self._reading
                status = await self.process.wait()
        except TimeoutError:
            raise AssertionError(f"never ended; it said {self.said[-30:]}") from None
        return Ended(status, out, "".join(self.said))

    async def hang_up(self) -> None:
        """Close our ends of its standard output and error, as a terminal that goes away does."""
        self._reading.cancel()
        assert isinstance(self.process, Forked)
        for number in (1, 2):
            self.process.close_pipe(number)
        self._reading = asyncio.gather(asyncio.sleep(0), asyncio.sleep(0, ""))

    async def kill(self) -> None:
        if self.process.returncode is None:
            self.process.kill()
        self._reading.cancel()
        with suppress(asyncio.CancelledError):
            await self._reading
        await self.process.communicate()

    async def _listen(self) -> None:
        assert self.process.stderr is not None
        async for line in self.process.stderr:
            self.said.append(line.decode())
            self._news.set()
        self._news.set()

    async def _collect(self) -> str:
        if self.process.stdout is None:
            return ""
        return (await self.process.stdout.read()).decode()


@asynccontextmanager
async def running(
    *arguments: str,
    etcd: str | None = None,
    stdin: bytes | None = None,
    stdout: int = PIPE,
    cwd: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> AsyncIterator[Running]:
    """Start lbctl, end it with the block, and see that it leaves no process behind.

    With variables of its own it starts as users start it, with Python; without, from one that has imported it already.
    """
    start = warm.started if environ is None else warm.cold
    variables = environment(etcd) | dict(environ or {})
    process = await start(arguments, variables, cwd=cwd, stdin=stdin is not None, stdout=stdout)
    if stdin is not None:
        assert process.stdin is not None
        process.stdin.write(stdin)
        process.stdin.close()
    run = Running(process)
    try:
        yield run
    finally:
        await run.kill()
    assert session_of(process.pid) == []


async def lbctl(
    *arguments: str,
    etcd: str | None = None,
    stdin: bytes | None = None,
    cwd: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Ended:
    """Run lbctl to its end."""
    async with running(*arguments, etcd=etcd, stdin=stdin, cwd=cwd, environ=environ) as run:
        return await run.ended()


async def hammer(
    *arguments: str,
    etcd: str | None = None,
    stdin: bytes | None = None,
    cwd: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Ended:
    """Run ``lbctl hammer`` to its end."""
    return await lbctl("hammer", *arguments, etcd=etcd, stdin=stdin, cwd=cwd, environ=environ)


def session_of(leader: int) -> list[int]:
    """The processes that are still in a session, corpses aside."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[3]) == leader and fields[0] != "Z":
                found.append(int(stat.parent.name))
    return found


def environment(etcd: str | None) -> dict[str, str]:
    """The tester's own settings must not reach a run."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("LBCTL_", "ETCDCTL_")) and name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "CI")
    }
    kept |= {"PYTHONPATH": str(ROOT), "XDG_CONFIG_HOME": os.devnull}
    return kept | ({"LBCTL_ENDPOINTS": etcd} if etcd else {})
