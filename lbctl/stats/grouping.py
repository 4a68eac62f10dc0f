"""Which saved runs are repetitions of each other, and what tells the groups apart."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Hashable, Sequence
from pathlib import PurePath
from typing import Final

from lbctl.stats.comparison import Group, Run
from lbctl.stats.report import Report

# Options of hammer that do not change what is sent, and whether a value follows.
_ASIDE: Final = {
    **dict.fromkeys(("--seed", "--save", "-o", "--output", "--ui", "--fps", "--interval", "--window"), True),
    **dict.fromkeys(("--color", "--log-file", "--threshold", "--metrics", "--otlp"), True),
    **dict.fromkeys(("-q", "--quiet", "-v", "--verbose", "--no-color", "--ascii", "--ci"), False),
}


def grouped(runs: Sequence[Run], baseline: Sequence[Run] = (), *, each: bool = False) -> list[Group]:
    """Return groups in the order of appearance, the baseline's first.

    Runs of one command are one group, unless that would leave nothing to compare, or ``each`` run is to stand alone.
    """
    groups: list[tuple[Run, ...]] = [(run,) for run in runs] if each else _by_command(runs)
    if not baseline and len(groups) == 1:
        groups = [(run,) for run in runs]
    if baseline:
        groups.insert(0, tuple(baseline))
    return [Group(label, members) for label, members in zip(_labels(groups), groups, strict=True)]


def _by_command(runs: Sequence[Run]) -> list[tuple[Run, ...]]:
    found: dict[Hashable, list[Run]] = {}
    for run in runs:
        found.setdefault(command_of(run.report), []).append(run)
    return [tuple(members) for members in found.values()]


def command_of(report: Report) -> Hashable:
    """What makes two runs repetitions of each other: all that was asked for but the seed, and what became of it."""
    load = report.load
    return (
        report.service,
        report.method,
        report.policy,
        tuple(sorted(report.policy_options.items())),
        report.hash_key,
        (load.mode, load.requests, load.duration_s, load.concurrency, load.connections, load.rps, load.arrival),
        tuple(load.stages),
        tuple((name, tuple(options.items())) for name, options in report.guards.items()),
        _asked(report.command),
    )


def _asked(command: str) -> tuple[str, ...]:
    """The words of a command without options that change nothing of what is sent."""
    try:
        words = shlex.split(command)
    except ValueError:
        return (command,)
    kept: list[str] = []
    skip = False
    for word in words:
        name = word.partition("=")[0] if word.startswith("--") else word
        if skip or name in _ASIDE:
            skip = not skip and _ASIDE.get(name, False) and "=" not in word
            continue
        kept.append(word)
    return tuple(kept)


def _labels(groups: Sequence[tuple[Run, ...]]) -> list[str]:
    """The shortest kind of words that tells all groups apart."""
    kinds: tuple[Callable[[tuple[Run, ...]], str], ...] = (_policy, _policy_in_full, _file)
    for kind in kinds:
        labels = [kind(members) for members in groups]
        if len(set(labels)) == len(labels):
            return labels
    return [f"{number} {_file(members)}" for number, members in enumerate(groups, 1)]


def _policy(members: tuple[Run, ...]) -> str:
    return members[0].report.policy


def _policy_in_full(members: tuple[Run, ...]) -> str:
    report = members[0].report
    return " ".join([report.policy, *(f"{name}={value}" for name, value in report.policy_options.items())])


def _file(members: tuple[Run, ...]) -> str:
    name = PurePath(members[0].name).name
    stem = name.rpartition(".")[0] if name.endswith((".json", ".html", ".jsonl")) else name
    return stem if len(members) == 1 else f"{stem} +{len(members) - 1}"
