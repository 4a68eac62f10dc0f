"""Sends the metrics of a run to an OpenTelemetry collector while it goes on: OTLP over HTTP, in a thread of its own.

What cannot be sent is told and costs the run nothing: every push has all of it, so the next one makes up for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import datetime
from queue import Empty, Full, Queue
from threading import Thread
from typing import TYPE_CHECKING, Final

from lbctl.load.controls import Controls
from lbctl.redaction import masked_text
from lbctl.stats.report import Report
from lbctl.view.otlp import otlp_document
from lbctl.view.output import as_json_line
from lbctl.view.prometheus import Snapshot, snapshot
from lbctl.view.turns import quick_turns

if TYPE_CHECKING:
    import httpx

EVERY_S: Final = 10.0
_FIRST_S: Final = 1.0  # a wrong address is told soon
_TIMEOUT_S: Final = 5.0
_LOOK_S: Final = 0.02


class OtlpPush:
    """Pushes to ``url`` every ``every_s`` seconds, and once more at the end; ``tell`` gets what went wrong."""

    def __init__(
        self,
        url: str,
        tell: Callable[[str], None],
        wall: Callable[[], datetime],
        *,
        headers: Mapping[str, str] | None = None,
        every_s: float = EVERY_S,
    ) -> None:
        self._url = url
        self._tell = tell
        self._wall = wall
        self._headers = {"Content-Type": "application/json", **(headers or {})}
        self._every_s = every_s
        self._due: Queue[tuple[Snapshot, int] | None] = Queue(maxsize=1)
        self._sent = 0
        self._failed = 0
        self._why = ""

    @contextlib.asynccontextmanager
    async def showing(self, report: Callable[[], Report], controls: Controls) -> AsyncIterator[None]:
        """Push until the block ends; then wait until the last push is through, or has failed."""
        thread = Thread(target=self._run, name="otlp", daemon=True)
        with quick_turns():
            thread.start()
            task = asyncio.create_task(self._keep_up(report))
            try:
                yield
            finally:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
                self._push(report())
                await self._ended(thread)
        if self._failed:
            self._tell(f"warning: --otlp: {self._failed} of {self._failed + self._sent} pushes failed: {self._why}")

    async def _keep_up(self, report: Callable[[], Report]) -> None:
        wait_s, told = min(_FIRST_S, self._every_s), False
        while True:
            await asyncio.sleep(wait_s)
            if self._failed and not told:
                self._tell(f"warning: --otlp: {self._why}")
                told = True
            now = report()
            if not now.warming:  # nothing of it is counted in the end
                self._push(now)
                wait_s = self._every_s

    def _push(self, report: Report) -> None:
        """Have this sent next; one that still waits is out of date."""
        with contextlib.suppress(Empty):
            self._due.get_nowait()
        with contextlib.suppress(Full):
            self._due.put_nowait((snapshot(report), int(self._wall().timestamp() * 1e9)))

    async def _ended(self, thread: Thread) -> None:
        while thread.is_alive():
            with contextlib.suppress(Full):
                self._due.put_nowait(None)
            await asyncio.sleep(_LOOK_S)

    def _run(self) -> None:
        import httpx

        with httpx.Client(timeout=_TIMEOUT_S) as http:
            while (due := self._due.get()) is not None:
                try:
                    self._post(http, as_json_line(otlp_document(*due)))
                except (httpx.HTTPError, httpx.InvalidURL) as error:
                    self._fail(_words(error))

    def _post(self, http: httpx.Client, body: str) -> None:
        answer = http.post(self._url, content=body.encode(), headers=self._headers)
        if answer.is_success:
            self._sent += 1
        else:
            self._fail(f"{self._url} answered {answer.status_code} {answer.reason_phrase}".rstrip())

    def _fail(self, why: str) -> None:
        self._why = masked_text(why)  # the URL may say who logs in
        self._failed += 1


def _words(error: Exception) -> str:
    """What went wrong, without the number that Python puts in front of a system's words."""
    text = re.sub(r"^\[Errno -?\d+\] ", "", str(error))
    return text[:1].lower() + text[1:] if text else type(error).__name__
