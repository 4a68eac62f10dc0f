"""Hash keys that are found in what each call sends: a field of its message, or its metadata."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import accumulate
from random import Random
from typing import TYPE_CHECKING, Final

from lbctl.balance.keys import Keys, Listed, Population, Source
from lbctl.clock import Clock
from lbctl.commands.calling import Calling, Payload, Share, about
from lbctl.errors import UsageError
from lbctl.load.requests.content import Content
from lbctl.rpc.schemas.schema import Method
from lbctl.wire.request import Headers

if TYPE_CHECKING:
    from lbctl.load.requests.feed import Feed, Keyed

_SAMPLE: Final = 1000  # contents that stand for those that are not known yet

Finder = Callable[[Share, Calling], "Keyed"]  # what finds the keys of one method of a mix


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


def followed(source: Source, payload: Payload, calling: Calling, rng: Random, clock: Clock) -> Keys:
    """Keys that are found in the content of each call. Raises UsageError where one of the first has none."""
    if calling.feed is not None:
        keyed = _keyed(source, payload.metadata, calling.feed.method)
        return Followed(source.spelled, _population(calling.feed, keyed, rng, clock), rng)
    finder = finder_of(source, payload)
    parts = []
    for share, part in calling.mix:
        with about(share.name):
            parts.append(_part(source, part, finder(share, part), rng, clock))
    return Followed(source.spelled, _mixed(parts, [share.weight for share, _ in calling.mix]), rng)


def finder_of(source: Source, payload: Payload) -> Finder:
    """What finds the key in what a call of a method of a mix sends, beside which it has the payload's metadata."""
    return lambda share, part: _keyed(source, (*payload.metadata, *share.payload.metadata), _described(part))


def _described(part: Calling) -> Method | None:
    return part.schema if part.feed is None else part.feed.method


def may_differ(source: Source, feed: Feed) -> bool:
    """Whether calls of a feed may have different keys."""
    return source.kind == "field" or source.name in feed.varied


def _part(source: Source, part: Calling, keyed: Keyed, rng: Random, clock: Clock) -> Population:
    if part.feed is None:
        return Population([keyed(part.content)], [1.0], drawn=False)
    if may_differ(source, part.feed):
        return _population(part.feed, keyed, rng, clock)
    part.feed.follow(keyed)
    return Population([keyed(Content(()))], [1.0], drawn=False)


def _mixed(parts: Sequence[Population], weights: Sequence[float]) -> Population:
    """The keys of a mix: its methods are drawn, so their keys are, unless those of a method come in turn."""
    total, counts = sum(weights), Counter[bytes]()
    for part, weight in zip(parts, weights, strict=True):
        for key, share in zip(part.keys, part.parts, strict=True):
            counts[key] += share * weight / total  # type: ignore[assignment]  # a Counter adds up parts as well
    drawn = all(part.drawn or len(part.keys) == 1 for part in parts)
    return Population(list(counts), list(counts.values()), drawn, all(part.whole for part in parts))


def _population(feed: Feed, keyed: Keyed, rng: Random, clock: Clock) -> Population:
    """The keys of a feed, which puts one to each of its contents from now on."""
    from lbctl.load.requests.supply import Supply
    from lbctl.load.requests.templates import Drawing

    feed.follow(keyed)
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
    return Population(list(counts), parts, feed.is_drawn, known is not None)


def _keyed(source: Source, metadata: Headers, method: Method | None) -> Keyed:
    option = f"--hash-key {source.spelled}"
    if source.kind == "meta":
        wanted = source.name.encode()

        def of_metadata(content: Content) -> bytes:
            values = [value for name, value in (*metadata, *content.metadata) if name == wanted]
            if not values:
                raise UsageError(f"{option}: no metadata of that name is sent", f"send it: -H '{source.name}: VALUE'")
            return b",".join(values)

        return of_metadata
    if method is None:
        raise UsageError(
            f"{option} needs a method that a backend describes",
            "raw bytes have no fields: give the message with -d, or another source of keys",
        )
    from lbctl.rpc.messages.field import text_at

    kind = method.input_type
    return lambda content: text_at(kind, content.messages[0] if content.messages else b"", source.name, option=option)
