"""The file of ``--mix``: methods, how often each is called beside the others, and what its calls send.

    - method: Echo/Say            # as METHOD on the command line
      weight: 3                   # 1 where it is left out
      data: {message: hello}      # or data_file: FILE, or binary_file: FILE
    - method: Echo/Collect
      data: [{message: a}, {message: b}]
      metadata: {x-tenant: "7"}
      timeout: 500ms
      check: resp.count == 2

Files are looked for beside it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from lbctl.cli.metadata import parse_metadata
from lbctl.cli.request_files import opened, read_binary
from lbctl.cli.values import parse_timeout
from lbctl.commands.calling import Payload, Share
from lbctl.errors import UsageError
from lbctl.load.requests.given import Written

_DATA: Final = ("data", "data_file", "binary_file")
_KEYS: Final = ("method", "name", "weight", *_DATA, "data_format", "binary_series", "metadata", "timeout", "check")
_MOST: Final = 100


def read_mix(path: Path, common: Payload, environ: Mapping[str, str] | None) -> tuple[Share, ...]:
    """The shares of a mix, each with the payload all have in common. Raises UsageError that names file and entry."""
    entries = _document(path)
    if isinstance(entries, dict) and set(entries) == {"methods"}:
        entries = entries["methods"]
    if not isinstance(entries, list) or not entries:
        raise UsageError(f"--mix: {path} is not a list of methods", "write: - method: pkg.Service/Method")
    if len(entries) > _MOST:
        raise UsageError(f"--mix: {path} has {len(entries)} methods, more than {_MOST}")
    return tuple(
        _Entry(entry, f"{path}: entry {number}", path.parent, common, environ).share()
        for number, entry in enumerate(entries, 1)
    )


def _document(path: Path) -> Any:  # noqa: ANN401  # whatever YAML holds
    import yaml

    try:
        text = path.read_text(encoding="utf-8")
        return json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
    except OSError as error:
        raise UsageError(f"--mix: cannot read {path}: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError:
        raise UsageError(f"--mix: {path} is not UTF-8 text") from None
    except json.JSONDecodeError as error:
        raise UsageError(f"--mix: {path} is not JSON: line {error.lineno}: {error.msg.lower()}") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" line {mark.line + 1}:" if mark is not None else ""
        raise UsageError(
            f"--mix: {path} is not YAML:{where} {getattr(error, 'problem', None) or 'unreadable'}"
        ) from None


class _Entry:
    """One entry of the file."""

    def __init__(
        self, entry: object, place: str, folder: Path, common: Payload, environ: Mapping[str, str] | None
    ) -> None:
        self._place = place
        self._folder = folder
        self._common = common
        self._environ = environ
        if not isinstance(entry, dict):
            raise UsageError(f"{place} is not an object with a method", "write: - method: pkg.Service/Method")
        self._entry: dict[str, Any] = entry
        for key in entry:
            if key not in _KEYS:
                near = get_close_matches(str(key), _KEYS, 1)
                raise UsageError(
                    f"{place}: unknown key {key!r}",
                    f"did you mean {near[0]}?" if near else f"there is {', '.join(_KEYS)}",
                )

    def share(self) -> Share:
        """What is to be called, how often, and with what."""
        method, name = self._text("method"), self._text("name")
        if not method:
            raise UsageError(f"{self._place}: the method is missing")
        timeout = self._entry.get("timeout")
        return Share(
            name=name,
            method=method,
            weight=self._weight(),
            payload=self._payload(),
            timeout_s=None if timeout is None else self._parsed("timeout", str(timeout), parse_timeout),
        )

    def _text(self, key: str) -> str:
        value = self._entry.get(key, "")
        if not isinstance(value, str):
            raise UsageError(f"{self._place}: {key} is not a text")
        return value

    def _weight(self) -> float:
        weight = self._entry.get("weight", 1)
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < 1e9:
            raise UsageError(f"{self._place}: weight is not a number above 0")
        return float(weight)

    def _parsed(self, key: str, text: str, parse: Callable[[str], Any]) -> Any:  # noqa: ANN401  # what is parsed
        try:
            return parse(text)
        except ValueError as error:
            raise UsageError(f"{self._place}: {key}: {error}") from None

    def _payload(self) -> Payload:
        from lbctl.cli.request_payload import split

        entry, common = self._entry, self._common
        given = [key for key in _DATA if key in entry]
        if len(given) > 1:
            raise UsageError(f"{self._place}: {given[0]} and {given[1]} are two requests", "give one of them")
        pairs = self._parsed("metadata", json.dumps(entry.get("metadata", {})), parse_metadata)
        fixed, drawn = split(pairs, self._environ, templates=common.given.templates)
        payload = replace(common, metadata=fixed, given=replace(common.given, drawn=(*common.given.drawn, *drawn)))
        return self._with_data(self._with_check(payload), given[0] if given else "")

    def _with_check(self, payload: Payload) -> Payload:
        from lbctl.rpc.messages.check import parse_check

        if "check" not in self._entry:
            return payload
        text, option = self._text("check"), f"{self._place}: check"
        parse_check(text, option)
        return replace(payload, check=text, check_is=option)

    def _with_data(self, payload: Payload, key: str) -> Payload:
        entry = self._entry
        if not key:
            return payload
        if key == "data":
            value = entry["data"]
            text = value if isinstance(value, str) else json.dumps(value, default=str)
            source = f"{self._place}: data"
            return replace(payload, data=text, source=source, given=replace(payload.given, source=source, text=text))
        path = self._folder / self._text(key)
        if key == "binary_file" and not entry.get("binary_series"):
            return replace(payload, raw=read_binary(path))
        file = opened(str(path), f"{self._place}: {key}")
        written = Written.SERIES if key == "binary_file" else self._written()
        return replace(payload, given=replace(payload.given, source=file.name, file=file, written=written))

    def _written(self) -> Written | None:
        form = self._text("data_format")
        if form and form not in ("json", "ndjson", "csv"):
            raise UsageError(f"{self._place}: data_format is none of json, ndjson, csv")
        return Written(form) if form else None
