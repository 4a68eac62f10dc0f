"""What the calls of a run send where they differ, put together of what was given for each of its methods."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

from lbctl.clock import Clock
from lbctl.commands.calling import Calling, Payload, Share
from lbctl.commands.repeating import Configured
from lbctl.errors import UsageError
from lbctl.load.batch import Batch
from lbctl.load.plan import Judge, Repeating
from lbctl.load.requests.content import Content, Variant, Varying
from lbctl.model import Reply
from lbctl.wire.request import Request

if TYPE_CHECKING:
    from lbctl.commands.following_keys import Finder
    from lbctl.load.requests.templates import Drawing


def varying_of(calling: Calling, seed: int, timeout_ns: int, clock: Clock, finder: Finder | None) -> Varying | None:
    """The contents of a run's calls, the first of them made; None where all send the same.

    With ``finder`` each content has the hash key that it finds. Raises UsageError where one of the first is wrong.
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
        parts = [_contents(share, part, drawing(share.name), finder) for share, part in calling.mix]
        contents = mixed(parts, [share.weight for share, _ in calling.mix], drawing("mix"))
        variants = tuple(
            Variant(share.name, share.weight, timeout_ns if share.timeout_s is None else round(share.timeout_s * 1e9))
            for share, _ in calling.mix
        )
    supply = Supply(contents)
    supply.prime()
    supply.soon = asyncio.get_running_loop().call_soon
    return Varying(supply, variants, finder is not None)


def _contents(share: Share, calling: Calling, drawing: Drawing, finder: Finder | None) -> Iterator[Content]:
    """What the calls of one method of a mix send; those of a feed have their keys already."""
    if calling.feed is not None:
        return calling.feed.contents(drawing)
    content = calling.content
    return _always(content if finder is None else content._replace(key=finder(share, calling)(content)))


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


def judge_of(calling: Calling) -> Judge | None:
    """What has the last word on every reply: the check of the method that was called."""
    if not calling.mix:
        only = calling.judge
        return None if only is None else lambda call, reply: only(reply)
    checks = [part.judge for _, part in calling.mix]

    def judge(call: Batch, reply: Reply) -> Reply:
        check = None if call.content is None else checks[call.content.method]
        return reply if check is None else check(reply)

    return judge if any(checks) else None


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
