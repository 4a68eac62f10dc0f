"""The parts of a saved run, each back as the value that it was."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

from lbctl.model import Code, Event, Origin
from lbctl.stats.drift import Drift
from lbctl.stats.histogram import Histogram
from lbctl.stats.outcome import Outcome
from lbctl.stats.report import Candidate, ErrorGroup, Explanation, Generator, Machine, Repeated, Starts, Streams
from lbctl.stats.samples import Sample, Times
from lbctl.stats.saved_values import Part
from lbctl.stats.streams import Spread

E = TypeVar("E")

_CODES: Final[Mapping[str, Code]] = Code.__members__
_ORIGINS: Final[Mapping[str, Origin]] = {origin.value: origin for origin in Origin}


def histogram_from(times: Part, name: str) -> Histogram:
    """The histogram of a name; an empty one where the file has none."""
    found = times.maybe_part(name)
    if found is None:
        return Histogram()
    try:
        return Histogram.of_state(found.plain)
    except ValueError as error:
        raise times.refuse(name, str(error)) from None


def failed_times_from(times: Part | None) -> dict[Code, Histogram]:
    """How long failed calls took, by status code; nothing where the file does not have it."""
    if times is None:
        return {}
    return {_named(Part({"code": name}), "code", _CODES): histogram_from(times, name) for name in times.names()}


def codes_from(part: Part, name: str) -> dict[Code, int]:
    """Calls by status code."""
    counts = part.counts(name)
    unknown = next((code for code in counts if code not in _CODES), None)
    if unknown is not None:
        raise part.refuse(name, f"{unknown[:40]!r} is no gRPC status code")
    return {_CODES[code]: count for code, count in counts.items()}


def error_group_from(group: Part) -> ErrorGroup:
    """Failed calls that are alike."""
    return ErrorGroup(
        code=_named(group, "code", _CODES),
        origin=_named(group, "origin", _ORIGINS),
        message=group.text("message"),
        count=group.whole("count"),
        backends=group.counts("backends"),
        example=group.text("example", ""),
    )


def event_from(event: Part) -> Event:
    """Something that happened."""
    return Event(
        event.number("t_s"), event.text("kind"), event.word("backend"), event.text("text"), event.text("level", "info")
    )


def drift_from(found: Part | None) -> Drift | None:
    """What became of the latency over a run; None where it was not judged."""
    if found is None:
        return None
    return Drift(
        verdict=found.text("verdict"),
        before_ms=found.maybe("before_ms"),
        after_ms=found.maybe("after_ms"),
        p_value=found.maybe("p_value"),
        warmup_s=found.number("warmup_s", 0.0),
        warmup_ms=found.maybe("warmup_ms"),
    )


def generator_from(generator: Part) -> Generator:
    """The load generator's own health."""
    return Generator(
        generator.text("engine"),
        generator.number("cpu_s"),
        generator.number("busy"),
        generator.number("lag_p99_ms"),
        generator.texts("warnings"),
        _machine(generator.maybe_part("machine")),
    )


def _machine(found: Part | None) -> Machine | None:
    if found is None:
        return None
    return Machine(
        busy=found.maybe("busy"),
        others=found.maybe("others"),
        stolen=found.maybe("stolen"),
        throttled=found.maybe("throttled"),
        faults=found.whole("page_faults", 0),
        collections=found.whole("collections", 0),
        collecting_s=found.number("collecting_ms", 0.0) / 1e3,
        longest_s=found.number("longest_ms", 0.0) / 1e3,
    )


def starts_from(generator: Part, times: Part) -> Starts | None:
    """How exactly an open loop started its calls; None for a closed one."""
    if "start" not in times:
        return None
    return Starts(generator.whole("late_starts", 0), histogram_from(times, "start"))


def streams_from(streams: Part | None, times: Part) -> Streams | None:
    """Messages of streaming calls; None for unary ones."""
    if streams is None:
        return None
    return Streams(
        sent=streams.whole("sent"),
        received=streams.whole("received"),
        sent_per_call=_spread(streams.maybe_part("sent_per_call")),
        received_per_call=_spread(streams.maybe_part("per_call")),
        gaps=histogram_from(times, "gap"),
    )


def explanation_from(found: Part | None) -> Explanation | None:
    """Why one call went where it went; None where nobody asked."""
    if found is None:
        return None
    return Explanation(
        pick=found.whole("pick"),
        policy=found.text("policy"),
        backend=found.text("backend"),
        hash_key=found.word("hash_key"),
        text=found.text("text"),
        columns=found.texts("columns"),
        candidates=tuple(
            Candidate(each.text("key"), each.text("address"), each.texts("figures"))
            for each in found.parts("candidates")
        ),
    )


def repeated_from(found: Part | None) -> Repeated | None:
    """A policy's further attempts; None without one."""
    if found is None:
        return None
    counts = ("sent", "cancelled", "throttled", "refused", "exhausted")
    return Repeated(
        policy=found.text("policy"),
        max_attempts=found.whole("max_attempts"),
        **{name: found.whole(name) for name in counts},
        waiting=found.whole("waiting", 0),
        codes=codes_from(found, "codes"),
        tokens=found.maybe("tokens"),
    )


def guards_from(guards: Part | None) -> dict[str, dict[str, str]]:
    """What was around the policy."""
    return {} if guards is None else {name: guards.words(name) for name in guards.names()}


def outcome_from(found: Part) -> Outcome:
    """What became of a threshold."""
    return Outcome(
        expr=found.text("expr"),
        ok=found.truth("ok"),
        value=found.maybe("value"),
        unit=found.text("unit", ""),
        limit=found.number("limit", 0.0),
        backend=found.word("backend"),
        reason=found.text("reason", ""),
        method=found.word("method"),
    )


def sample_from(sample: Part) -> Sample:
    """What happened in one piece of the time."""
    p50, p90, p99, most = (sample.maybe(f"{name}_ms") for name in ("p50", "p90", "p99", "max"))
    times = None if p50 is None or p90 is None or p99 is None or most is None else Times(p50, p90, p99, most)
    return Sample(
        t_s=sample.number("t_s"),
        seconds=sample.number("seconds"),
        requests=sample.whole("requests"),
        ok=sample.whole("ok"),
        errors=sample.whole("errors"),
        cancelled=sample.whole("cancelled", 0),
        dropped=sample.whole("dropped", 0),
        retries=sample.whole("retries", 0),
        in_flight=sample.whole("in_flight", 0),
        latency=times,
    )


def _named(part: Part, name: str, table: Mapping[str, E]) -> E:
    """The member of an enumeration that the text under a name is."""
    text = part.text(name)
    if text not in table:
        raise part.refuse(name, f"{text[:40]!r} is not one of {', '.join(table)}")
    return table[text]


def _spread(spread: Part | None) -> Spread | None:
    return None if spread is None else Spread(spread.whole("min"), spread.number("mean"), spread.whole("max"))
