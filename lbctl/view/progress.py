"""A run without a screen: one line every few seconds and one per event; or nothing at all."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, nullcontext

from lbctl.load.controls import Controls
from lbctl.stats.report import Report
from lbctl.view.digest import digest
from lbctl.view.event_panel import event_mark, event_words
from lbctl.view.header import fraction, progress_words
from lbctl.view.series import Messages, messages
from lbctl.view.stream_lines import stream_rates
from lbctl.view.text import clean, clock, count, duration, error_rate
from lbctl.view.theme import ASCII, PLAIN, Glyphs, Look

_LOOK_S = 0.25  # how often events are looked for
_EVENTS = 20  # written at a look: a storm must not bury the progress


def progress_line(report: Report, finished_before: int, seconds: float, messages_before: Messages = (0, 0)) -> str:
    """One line in a fixed order; rates are those of the time since the line before."""
    done = fraction(report)
    found = digest(report.latency)
    rate = count((report.completed - finished_before) / seconds, 9) if seconds > 0 else "-"
    words = [f"hammer {clock(report.elapsed_s)} {progress_words(report, done).replace('  ', ' ')}"]
    words += [f"{int(done * 100)}%"] if done is not None else []
    words += [f"{rate} rps", *_stream_words(report, messages_before, seconds)]
    words += [
        f"ok {report.ok:,}",
        f"err {report.errors:,} ({error_rate(report.errors, report.ended)})",
    ]
    words += [f"dropped {report.dropped:,}"] if report.dropped else []
    words += [f"p50 {duration(found.p50 if found else None)}", f"p99 {duration(found.p99 if found else None)}"]
    if report.balance.max_delta is not None and report.balance.verdict != "not_applicable":
        words.append(f"maxd {report.balance.max_delta * 100:.1f}pp")
    present = [row for row in report.backends if row.state != "left"]
    words.append(f"backends {sum(row.state == 'ready' for row in present)}/{len(present)}")
    words += ["warm-up"] if report.warming else []
    words += ["paused"] if report.paused else []
    return " ".join(words)


def _stream_words(report: Report, before: Messages, seconds: float) -> list[str]:
    if report.streams is None:
        return []
    rates = (
        (now - then) / seconds if seconds > 0 else None for now, then in zip(messages(report), before, strict=True)
    )
    return [stream_rates(*rates).replace("  ", " ")]


class PlainScreen:
    """Writes progress lines and events; ``write`` gets whole lines without their end."""

    def __init__(self, write: Callable[[str], None], interval_s: float = 5.0, glyphs: Glyphs = ASCII) -> None:
        self._write = write
        self._interval_s = interval_s
        self._look = Look(PLAIN, glyphs)
        self._events = 0

    @contextlib.asynccontextmanager
    async def showing(self, report: Callable[[], Report], controls: Controls) -> AsyncIterator[None]:
        """Write lines until the block ends, and the events that are left then."""
        self._events = 0
        task = asyncio.create_task(self._run(report))
        try:
            yield
        finally:
            task.cancel()
            results = await asyncio.gather(task, return_exceptions=True)
            self._tell_events(report())
            failure = results[0]
            if isinstance(failure, Exception):
                raise failure

    async def _run(self, report: Callable[[], Report]) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time() + self._interval_s
        finished, elapsed, streamed, begun = 0, 0.0, (0, 0), report().started_at
        while True:
            await asyncio.sleep(min(_LOOK_S, max(due - loop.time(), 0.0)))
            now = report()
            self._tell_events(now)
            if now.started_at != begun:  # after a warm-up, and for each rate of a search, it counts anew
                finished, elapsed, streamed, begun = 0, 0.0, (0, 0), now.started_at
            if loop.time() >= due:
                due += self._interval_s
                self._write(progress_line(now, finished, now.elapsed_s - elapsed, streamed))
                finished, elapsed, streamed = now.completed, now.elapsed_s, messages(now)

    def _tell_events(self, report: Report) -> None:
        events = report.events
        names = {row.key: row.address for row in report.backends}
        new = range(self._events, len(events))
        for index in new[:_EVENTS]:
            event = events[index]
            _, mark = event_mark(event.level, self._look)
            words = clean(event_words(event, names), ascii_only=self._look.glyphs.ascii)
            self._write(f"event  {clock(event.t_s)} {mark} {words}")
        if len(new) > _EVENTS:
            self._write(f"event  {clock(report.elapsed_s)} {len(new) - _EVENTS:,} more, all in the JSON document")
        self._events = len(events)


class NoScreen:
    """Shows nothing."""

    def showing(self, report: Callable[[], object], controls: object) -> AbstractAsyncContextManager[None]:
        """Do nothing until the block ends."""
        return nullcontext()
