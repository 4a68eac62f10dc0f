"""The configuration file: YAML in ./lbctl.yaml and $XDG_CONFIG_HOME/lbctl/config.yaml, or the one --config names.

Two shapes may be mixed in one file. lbctl's own:

    etcd: {endpoints: "127.0.0.1:2379", user: root, password_file: pw.txt, dial_timeout: 2s}
    prefix: /services/
    policy: smooth_wrr
    check: {enabled: true, interval: 1s, timeout: 500ms}
    tls: {enabled: true, ca: ca.pem, server_name: shop.example}

and the settings document of a weighted_random balancer (see ``balancer_config``), whose keys stand for those of lbctl
where lbctl's own are not there. A few of its keys have no effect in this version, which is said when one is used.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lbctl.cli.balancer_config import KEYS, translated
from lbctl.cli.settings import SETTINGS
from lbctl.errors import UsageError

_OWN = tuple(name for setting in SETTINGS for name in (setting.file, setting.was) if name)
_KNOWN = frozenset((*_OWN, *KEYS))


@dataclass(frozen=True, slots=True)
class FileSettings:
    """The settings found in files, as text with their origin, and notes worth showing."""

    values: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def config_paths(named: str | None, environ: Mapping[str, str], here: Path) -> list[Path]:
    """List the files to read, weakest first; only the named one if one is named."""
    named = named or environ.get("LBCTL_CONFIG")
    if named:
        return [Path(named).expanduser()]
    home = environ.get("XDG_CONFIG_HOME") or str(Path(environ.get("HOME") or "~").expanduser() / ".config")
    candidates = [Path(home) / "lbctl" / "config.yaml", here / "lbctl.yaml"]
    return [path for path in candidates if path.is_file()]


def named_by(environ: Mapping[str, str], *, flag: bool) -> str:
    """What names the file to read, "" where nothing does."""
    return "--config" if flag else "LBCTL_CONFIG" if environ.get("LBCTL_CONFIG") else ""


def read_config(paths: list[Path], origin: str = "") -> FileSettings:
    """All files merged key by key, later ones winning; raises UsageError that names file and key.

    ``origin`` is what named a file, for an error about one that cannot be read.
    """
    values: dict[str, tuple[str, str]] = {}
    notes: list[str] = []
    for path in paths:
        try:
            found, ignored = _read_one(path)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise UsageError(f"{origin or 'settings'}: cannot read {path}: {reason}") from None
        if "policy" in found:
            values.pop("policy_opt", None)  # of a policy that is not used
        values.update(found)
        if ignored:
            notes.append(f"{path}: no effect in this version: {', '.join(ignored)}")
    return FileSettings(values, tuple(notes))


def _read_one(path: Path) -> tuple[dict[str, tuple[str, str]], list[str]]:
    values: dict[str, tuple[str, str]] = {}
    balancer: dict[str, str] = {}
    for key, value in _leaves(path, _document(path)):
        if key in _OWN:
            values[key] = (_plain(path, key, value), f"{path}: {key}")
        elif key in KEYS:
            balancer[key] = _plain(path, key, value)
        else:
            raise UsageError(f"{path}: unknown key {key!r}", _nearest(key))
    if not balancer:
        return values, []
    meant, ignored = translated(path, balancer)
    if "policy" in values:
        meant.pop("policy_opt", None)  # they are of another policy
    return meant | values, ignored


def _document(path: Path) -> Mapping[Any, Any]:
    import yaml

    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise UsageError(f"{path}: not UTF-8 text") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        raise UsageError(f"{path}{where}: not YAML: {error.problem}") from None
    except yaml.YAMLError as error:
        raise UsageError(f"{path}: not YAML: {error}") from None
    if document is None:
        return {}
    if not isinstance(document, Mapping):
        raise UsageError(f"{path}: the top of the file must be keys, not a {type(document).__name__}")
    return document


def _leaves(path: Path, tree: Mapping[Any, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in tree.items():
        key = f"{above}{name}"
        if isinstance(value, Mapping):
            if not any(known.startswith(f"{key}.") for known in _KNOWN):
                raise UsageError(f"{path}: unknown key {key!r}", _nearest(key))
            yield from _leaves(path, value, f"{key}.")
        elif value is not None:
            yield key, value
        elif key not in _KNOWN and not any(known.startswith(f"{key}.") for known in _KNOWN):
            raise UsageError(f"{path}: unknown key {key!r}", _nearest(key))


def _plain(path: Path, key: str, value: object) -> str:
    """Spell the value as the same text a flag would have; a list of plain values joins with commas."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
        return ",".join(str(item) for item in value)
    if isinstance(value, str | int | float):
        return str(value)
    raise UsageError(f"{path}: {key}: expected a plain value, not a {type(value).__name__}")


def _nearest(key: str) -> str:
    near = difflib.get_close_matches(key, sorted(_KNOWN), n=1)
    return f"did you mean {near[0]}?" if near else f"known keys: {', '.join(_OWN)}"
