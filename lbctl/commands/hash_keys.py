"""The hash keys of a run: drawn, counted up, or found in what every call sends."""

from __future__ import annotations

from random import Random

from lbctl.balance.keys import Keys, Source
from lbctl.clock import Clock, SystemClock
from lbctl.commands import following_keys
from lbctl.commands.calling import Calling, Payload
from lbctl.commands.following_keys import Finder, followed, may_differ
from lbctl.errors import UsageError


def keys_of(
    source: Source | None, seed: int, payload: Payload, calling: Calling, clock: Clock | None = None
) -> Keys | None:
    """The keys that were asked for. Raises UsageError where the call does not have what is to be its key."""
    if source is None:
        return None
    if follows(source, calling):
        return followed(source, payload, calling, Random(f"keys {seed}"), clock or SystemClock())
    # A random stream of their own: keys do not depend on what else is drawn.
    rng = Random(f"keys {seed}")
    return source.keys(rng, _constant(source, payload, calling) if source.is_constant else b"")


def follows(source: Source | None, calling: Calling) -> bool:
    """Whether the key is to be found in what each call sends, and calls differ."""
    if source is None or not source.is_constant:
        return False
    return bool(calling.mix) or (calling.feed is not None and may_differ(source, calling.feed))


def finder_of(source: Source | None, payload: Payload, calling: Calling) -> Finder | None:
    """What finds the key of each call in what it sends; None where keys come from elsewhere."""
    if source is None or not follows(source, calling):
        return None
    return following_keys.finder_of(source, payload)


def one_key(source: Source) -> str:
    """What somebody should know who balances by a key that never changes."""
    return f"note: --hash-key {source.spelled} is the same for every call of this run, so one backend gets them all"


def _constant(source: Source, payload: Payload, calling: Calling) -> bytes:
    if source.kind == "meta":
        return _metadata(source, payload)
    if calling.schema is None:
        raise UsageError(
            f"--hash-key {source.spelled} needs a method that a backend describes",
            "raw bytes have no fields: give the message with -d, or another source of keys",
        )
    from lbctl.rpc.messages.field import text_at

    return text_at(calling.schema.input_type, calling.message, source.name, option=f"--hash-key {source.spelled}")


def _metadata(source: Source, payload: Payload) -> bytes:
    """The value as sent; several are joined as gRPC joins them for its ring."""
    values = [value for name, value in payload.metadata if name == source.name.encode()]
    if not values:
        raise UsageError(
            f"--hash-key {source.spelled}: no metadata of that name is sent", f"send it: -H '{source.name}: VALUE'"
        )
    return b",".join(values)
