"""The hash keys of a run: drawn, counted up, or found in what every call sends."""

from __future__ import annotations

from random import Random
from typing import Final

from lbctl.balance.keys import Keys, Source
from lbctl.clock import Clock, SystemClock
from lbctl.commands.calling import Calling, Payload
from lbctl.commands.varying import followed
from lbctl.errors import UsageError

_OTHERS: Final = "take keys of another source: seq, uuid, 'zipf(1.1,100000)' or 'uniform(1000)'"


def keys_of(
    source: Source | None, seed: int, payload: Payload, calling: Calling, clock: Clock | None = None
) -> Keys | None:
    """The keys that were asked for. Raises UsageError where the call does not have what is to be its key."""
    if source is None:
        return None
    if follows(source, calling):
        if calling.feed is None:
            raise UsageError(f"--hash-key {source.spelled}: methods of a mix differ in what they send", _OTHERS)
        return followed(source, payload, calling.feed, Random(f"keys {seed}"), clock or SystemClock())
    # A random stream of their own: keys do not depend on what else is drawn.
    rng = Random(f"keys {seed}")
    return source.keys(rng, _constant(source, payload, calling) if source.is_constant else b"")


def follows(source: Source | None, calling: Calling) -> bool:
    """Whether the key is to be found in what each call sends, and calls differ."""
    return source is not None and source.is_constant and (calling.feed is not None or bool(calling.mix))


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
    from lbctl.rpc.field import text_at

    return text_at(calling.schema.input_type, calling.message, source.name, option=f"--hash-key {source.spelled}")


def _metadata(source: Source, payload: Payload) -> bytes:
    """The value as sent; several are joined as gRPC joins them for its ring."""
    values = [value for name, value in payload.metadata if name == source.name.encode()]
    if not values:
        raise UsageError(
            f"--hash-key {source.spelled}: no metadata of that name is sent", f"send it: -H '{source.name}: VALUE'"
        )
    return b",".join(values)
