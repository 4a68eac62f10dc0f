"""What the calls of a run send where they differ, put together of what was given for each of its methods."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from random import Random
from typing import TYPE_CHECKING, Final

from lbctl.balance.keys import Keys, Listed, Population, Source
from lbctl.clock import Clock
from lbctl.commands.calling import Calling, Payload
from lbctl.commands.repeating import Configured
from lbctl.errors import UsageError
from lbctl.load.plan import Repeating
from lbctl.load.requests.content import Content, Variant, Varying
from lbctl.wire.request import Headers, Request

if TYPE_CHECKING:
    from lbctl.load.requests.feed import Feed, Keyed
    from lbctl.load.requests.templates import Drawing

_SAMPLE: Final = 1000  # contents that stand for those that are not known yet


def varying_of(calling: Calling, seed: int, timeout_ns: int, clock: Clock, *, keyed: bool) -> Varying | None:
    """The contents of a run's calls, the first of them made; None where all send the same.

    ``keyed``: each content has a hash key. Raises UsageError where one of the first is wrong.
    """
    if calling.feed is None and not calling.mix:
        return None
    from lbctl.load.requests.feed import mixed
    from lbctl.load.requests.supply import Supply
    from lbctl.load.requests.templates import Drawing

    def drawing(of: str) -> Drawing:
        # Random streams of their own: what is drawn for one method does not depend on how often others are called.
        return Drawing(Random(f"requests {of} {seed}"), clock)

    variants: tuple[Variant, ...] = ()
    if calling.feed is not None:
        contents = calling.feed.contents(drawing(""))
    else:
        parts = [_contents(part, drawing(share.name)) for share, part in calling.mix]
        contents = mixed(parts, [share.weight for share, _ in calling.mix], drawing("mix"))
        variants = tuple(
            Variant(share.name, share.weight, timeout_ns if share.timeout_s is None else round(share.timeout_s * 1e9))
            for share, _ in calling.mix
        )
    supply = Supply(contents)
    supply.prime()
    supply.soon = asyncio.get_running_loop().call_soon
    return Varying(supply, variants, keyed)


def _contents(calling: Calling, drawing: Drawing) -> Iterator[Content]:
    """What the calls of one method send."""
    if calling.feed is not None:
        return calling.feed.contents(drawing)
    stream = calling.stream
    return _always(Content((calling.message,) if stream is None else stream.messages))


def _always(content: Content) -> Iterator[Content]:
    while True:
        yield content


def bases_of(request: Request, payload: Payload, calling: Calling, timeout_ns: int) -> Sequence[Request]:
    """What the calls of each method have in common, to the backend of this request."""
    if not calling.mix:
        return (request,)
    return tuple(
        replace(
            request,
            path=f"/{part.method}",
            message=part.message,
            timeout_ns=timeout_ns if share.timeout_s is None else round(share.timeout_s * 1e9),
            metadata=(*payload.metadata, *share.payload.metadata),
            stream=part.stream,
            gzip=payload.gzip,
            sensitive=payload.sensitive | share.payload.sensitive,
        )
        for share, part in calling.mix
    )


def repeating_of(configured: Configured, calling: Calling) -> Repeating:
    """How calls are repeated; raises UsageError where that differs between the methods of a mix."""
    if not calling.mix:
        return configured.repeating(calling.method)
    found = [configured.repeating(part.method) for _, part in calling.mix]
    if any(each != found[0] for each in found):
        raise UsageError(
            "--mix: the service config repeats calls of these methods differently, and a run has one way",
            "say one for all: --max-attempts or --hedge",
        )
    return found[0]


class Followed:
    """Hash keys that are found in what calls send. Who asks for one without a call gets one that is as likely."""

    def __init__(self, spelled: str, population: Population, rng: Random) -> None:
        self.spelled = spelled
        self._population = population
        self._drawn = Listed(spelled, population, list(accumulate(population.parts)), rng)

    def __next__(self) -> bytes:
        return next(self._drawn)

    def population(self) -> Population:
        return self._population

    def alike(self, rng: Random) -> Keys:
        return Listed(self.spelled, self._population, list(accumulate(self._population.parts)), rng)


def followed(source: Source, payload: Payload, feed: Feed, rng: Random, clock: Clock) -> Keys:
    """Keys that are found in the content of each call. Raises UsageError where one of the first has none."""
    from lbctl.load.requests.supply import Supply
    from lbctl.load.requests.templates import Drawing

    feed.follow(_finder(source, payload.metadata, feed))
    known = feed.all
    if known is None:
        supply = Supply(feed.contents(Drawing(Random(rng.random()), clock)))
        supply.prime(_SAMPLE)
        contents: Sequence[Content] = supply.first(_SAMPLE)
        supply.close()
    else:
        contents = known
    counts = Counter(content.key or b"" for content in contents)
    parts = [count / len(contents) for count in counts.values()]
    return Followed(source.spelled, Population(list(counts), parts, feed.is_drawn, known is not None), rng)


def _finder(source: Source, metadata: Headers, feed: Feed) -> Keyed:
    option = f"--hash-key {source.spelled}"
    if source.kind == "meta":
        wanted = source.name.encode()

        def of_metadata(content: Content) -> bytes:
            values = [value for name, value in (*metadata, *content.metadata) if name == wanted]
            if not values:
                raise UsageError(f"{option}: no metadata of that name is sent", f"send it: -H '{source.name}: VALUE'")
            return b",".join(values)

        return of_metadata
    if feed.method is None:
        raise UsageError(
            f"{option} needs a method that a backend describes",
            "raw bytes have no fields: give the message with -d, or another source of keys",
        )
    from lbctl.rpc.field import text_at

    kind = feed.method.input_type
    return lambda content: text_at(kind, content.messages[0] if content.messages else b"", source.name, option=option)
