"""Saved runs out of files: documents in JSON or YAML, lists of them, lines of JSON, and pages of ``-o html``."""

from __future__ import annotations

import html
import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lbctl.errors import NotFound, UsageError
from lbctl.stats.comparison import Run
from lbctl.stats.rounds import Contest
from lbctl.stats.saved import NotARun, report_from
from lbctl.stats.saved_contest import COMPARISON, contest_from, is_contest

STDIN: Final = "-"
_EMBEDDED: Final = re.compile(
    r"<script type=\"application/json\" class=\"lbctl-run\" data-name=\"([^\"]*)\">(.*?)</script>", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Read:
    """What is in a file: runs, and the comparison that they are of, if ``compare`` made them."""

    runs: Sequence[Run]
    contest: Contest | None = None


def read_files(*lists: Sequence[str]) -> list[list[Read]]:
    """Read every file of every list, ``-`` for standard input.

    Raises NotFound or UsageError, which name the file and say why.
    """
    if sum(names.count(STDIN) for names in lists) > 1:
        raise UsageError("- is standard input, which can be read only once")
    return [[_read(name) for name in names] for names in lists]


def _read(name: str) -> Read:
    shown = "standard input" if name == STDIN else name
    try:
        return content_of(shown, _bytes(name))
    except FileNotFoundError:
        raise NotFound(f"{shown}: no such file", "hammer --save FILE writes one") from None
    except OSError as error:
        raise UsageError(f"{shown}: {(error.strerror or str(error)).lower()}") from None
    except NotARun as error:
        raise UsageError(f"{shown}: {error}", "hammer --save FILE, or -o json, writes what report reads") from None


def _bytes(name: str) -> bytes:
    return sys.stdin.buffer.read() if name == STDIN else Path(name).read_bytes()


def content_of(name: str, content: bytes) -> Read:
    """Return what is in a file; raises NotARun."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise NotARun("it is not text in UTF-8") from None
    if not text.strip():
        raise NotARun("it is empty")
    if text.lstrip().startswith("<"):
        return _all(list(_embedded(text)))
    found = _documents(text)
    return _all([(name if len(found) == 1 else f"{name} {number}", each) for number, each in enumerate(found, 1)])


def _embedded(text: str) -> Iterator[tuple[str, object]]:
    found = _EMBEDDED.findall(text)
    if not found:
        raise NotARun("it is a page without a run in it, or one that lbctl did not make")
    for name, document in found:
        yield html.unescape(name), _parsed(document)


def _all(found: Sequence[tuple[str, object]]) -> Read:
    """The runs of these documents, each of which has a name; of a comparison those that count."""
    runs: list[Run] = []
    contests: list[Contest] = []
    for name, each in found:
        if isinstance(each, dict) and is_contest(each):
            contests.append(contest_from(each))
            runs += _counted(name, contests[-1])
        else:
            runs += _runs(name, each)
    return Read(runs, contests[0] if len(contests) == len(found) == 1 else None)


def _counted(name: str, contest: Contest) -> Iterator[Run]:
    for trial in contest.trials:
        if trial.counts:
            yield Run(f"{name}: {contest.contenders[trial.contender].label} {trial.round}", trial.report)


def _runs(name: str, document: object) -> Iterator[Run]:
    """The run of a document, or those of a comparison that does not tell their rounds."""
    if not isinstance(document, dict) or document.get("schema") != COMPARISON:
        yield Run(name, report_from(document))
        return
    documents = document.get("documents")
    if not documents or not isinstance(documents, list):
        raise NotARun("it is a comparison without its runs: compare --save FILE, and -o html, keep them")
    for number, each in enumerate(documents, 1):
        yield Run(f"{name} {number}", report_from(each))


def _documents(text: str) -> list[object]:
    """One document, a list of them, or the last of many lines."""
    if text.startswith("schema:"):
        return [_yaml(text)]
    try:
        found = _parsed(text)
    except NotARun:
        *before, last = text.strip().splitlines()
        if not before or not before[0].lstrip().startswith("{") or not last.startswith("{"):
            raise
        return [_last_line(before[0], last)]
    if not isinstance(found, list):
        return [found]
    if not found:
        raise NotARun("it is a list without a run in it")
    return found


def _yaml(text: str) -> object:
    import yaml

    try:
        found: object = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        where = getattr(getattr(error, "problem_mark", None), "line", None)
        raise NotARun(f"it is not YAML{'' if where is None else f', see line {where + 1}'}") from None
    return found


def _last_line(first: str, last: str) -> object:
    """The run at the end of lines of JSON; a run that was cut off has none."""
    _parsed(first)  # of a document over several lines the first is no value: its mistake is told
    found = _parsed(last)
    if isinstance(found, dict) and found.get("schema") in ("lbctl.sample/v1", "lbctl.event/v1", "lbctl.trial/v1"):
        raise NotARun("its last line is no run: the file ends before its run did")
    return found


def _parsed(text: str) -> object:
    try:
        found: object = json.loads(text)
    except json.JSONDecodeError as error:
        raise NotARun(f"it is not JSON: {error.msg[0].lower()}{error.msg[1:]}, line {error.lineno}") from None
    except (RecursionError, ValueError):
        raise NotARun("it is not JSON that can be read: nested too deeply, or a number too long") from None
    return found
