"""Random traffic with an independent strict server: it raises on our mistakes, and every call ends as it decided.

Actions of both sides in any order, over wires that deliver any number of octets at a time, so that whatever may cross
does: resets with replies, settings with requests, credit with bodies, deadlines with everything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

import pytest

from lbctl.wire import handlers, sending, windows
from lbctl.wire.limits import Limits
from lbctl.wire.session import DEFAULT_LIMITS
from tests.wire import mutants
from tests.wire.mutants.base import Mutate
from tests.wire.traffic import Traffic


@dataclass(frozen=True)
class Kind:
    """One sort of connection."""

    keep: bool = False
    limits: Limits = DEFAULT_LIMITS
    small_windows: bool = False


KINDS = {
    "load": Kind(),
    "load_in_small_windows": Kind(small_windows=True),
    "calls": Kind(keep=True, small_windows=True),
    "no_rst": Kind(limits=Limits(reset_late=False, max_streams=6), small_windows=True),
}


def grant_little(patch: pytest.MonkeyPatch) -> None:
    """The client's own windows are small, so that it has to give credit all the time."""
    for module in (windows, sending):
        patch.setattr(module, "CONNECTION_WINDOW", 160_000)
    for module in (windows, sending, handlers):
        patch.setattr(module, "STREAM_WINDOW", 66_000)


def run(kind: Kind, seed: int, patch: pytest.MonkeyPatch, *, steps: int) -> Traffic:
    """A connection's life; raises AssertionError on whatever is wrong with it."""
    if kind.small_windows:
        grant_little(patch)
    traffic = Traffic(Random(seed), keep=kind.keep, limits=kind.limits)
    try:
        traffic.run(steps)
    except Exception as error:
        error.add_note(f"seed {seed}, after {len(traffic.history)} steps: ... {traffic.history[-12:]}")
        raise
    return traffic


def every_seed(kind: Kind, seeds: Iterable[int], patch: pytest.MonkeyPatch) -> None:
    for seed in seeds:
        run(kind, seed, patch, steps=500)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_any_traffic_ends_every_call_as_the_server_decided(
    kind: Kind, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(kind, seed, monkeypatch, steps=500)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_much_traffic_ends_every_call_as_the_server_decided(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    every_seed(kind, range(100, 108), monkeypatch)


@pytest.mark.parametrize("name", ["load", "calls"])
def test_the_traffic_meets_what_it_is_for(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise it would prove little: each kind of end, wait and crossing happens, and the fast path does."""
    met: Counter[str] = Counter()
    for seed in range(8):
        traffic = run(KINDS[name], seed, monkeypatch, steps=500)
        met.update(traffic.met())
    wanted = {"OK", "NOT_FOUND", "CANCELLED", "DEADLINE_EXCEEDED", "refused", "unsent", "settings", "pings", "goaway"}
    wanted |= {"rst_sent", "rst_received", "late_frames", "waited: slot", "waited: window", "waited: peer"}
    wanted |= {"fast"} if name == "load" else set()
    assert {what for what in wanted if met[what] < 3} == set(), met


MISTAKES: dict[str, Mutate] = {
    name: mutants.MUTANTS[name].mutate
    for name in (
        "ignores_the_stream_limit",
        "ignores_settings_changes",
        "no_connection_window",
        "forgets_late_data",
        "forgets_padding",
        "naive_cache",
        "skips_late_headers",
        "ignores_continuation",
        "ignores_pings",
        "ignores_goaway",
        "every_goaway_covers_everything",
        "retries_for_ever",
        "reads_are_whole_frames",
        "never_resets",
        "two_messages_are_fine",
    )
}


@pytest.mark.slow
@pytest.mark.parametrize("mutate", MISTAKES.values(), ids=MISTAKES)
def test_a_broken_client_does_not_get_through(mutate: Mutate, monkeypatch: pytest.MonkeyPatch) -> None:
    mutate(monkeypatch)
    with pytest.raises(Exception, match=r"."):  # h2's, or an assertion of ours
        every_seed(KINDS["load_in_small_windows"], range(40), monkeypatch)
