"""The configuration file: YAML in ./lbctl.yaml and $XDG_CONFIG_HOME/lbctl/config.yaml, or the one --config names.

Two shapes may be mixed in one file. lbctl's own:

    etcd: {endpoints: "127.0.0.1:2379", user: root, password_file: pw.txt, dial_timeout: 2s}
    prefix: /services/
    policy: smooth_wrr
    check: {enabled: true, interval: 1s, timeout: 500ms}
    tls: {enabled: true, ca: ca.pem, server_name: shop.example}
    profile:
      staging: {etcd: {endpoints: "10.1.0.1:2379"}, read_only: true}

and the settings document of a weighted_random balancer (see ``balancer_config``), whose keys stand for those of lbctl
where lbctl's own are not there. A few of its keys have no effect in this version, which is said when one is used.

What stands under ``profile`` counts where ``--profile`` names it, and then more than anything else in the files.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lbctl.cli.balancer_config import KEYS, translated
from lbctl.cli.mistakes import meant_word
from lbctl.cli.settings import SETTINGS
from lbctl.errors import UsageError

PROFILE = "profile"
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


def read_config(flags: Mapping[str, Any], environ: Mapping[str, str], here: Path) -> FileSettings:
    """All files merged key by key, later ones winning, then the chosen profile of each in the same order.

    Raises UsageError that names file and key, or the profile that no file has.
    """
    paths = config_paths(flags.get("config"), environ, here)
    chosen = flags.get("profile") or environ.get("LBCTL_PROFILE") or ""
    values: dict[str, tuple[str, str]] = {}
    notes: list[str] = []
    profiles: list[tuple[str, str, Mapping[Any, Any]]] = []
    for path in paths:
        plain, found = _read_one(path, named_by(flags, environ))
        _merge(values, notes, str(path), plain)
        profiles += [(name, f"{path}: {PROFILE}.{name}", tree) for name, tree in found.items()]
    for name, place, tree in profiles:
        if name == chosen:
            _merge(values, notes, place, tree)
        else:
            _read(place, tree)  # a mistake in it is told before it is needed
    names = [name for name, _, _ in profiles]
    if chosen and chosen not in names:
        raise UsageError(
            f"{_chosen_by(flags)}: no settings file has a profile {chosen!r}", _named(names, chosen, paths)
        )
    return FileSettings(values, tuple(notes))


def profile_names(flags: Mapping[str, Any], environ: Mapping[str, str], here: Path) -> list[str]:
    """List the profiles that the files have, each once, in order; raises UsageError as :func:`read_config` does."""
    files = (_read_one(path, named_by(flags, environ)) for path in config_paths(flags.get("config"), environ, here))
    return list(dict.fromkeys(name for _, profiles in files for name in profiles))


def named_by(flags: Mapping[str, Any], environ: Mapping[str, str]) -> str:
    """What names the file to read, "" where nothing does."""
    return "--config" if flags.get("config") else "LBCTL_CONFIG" if environ.get("LBCTL_CONFIG") else ""


def _chosen_by(flags: Mapping[str, Any]) -> str:
    return "--profile" if flags.get("profile") else "LBCTL_PROFILE"


def _named(names: list[str], chosen: str, paths: list[Path]) -> str:
    if names:
        near = meant_word(chosen, names).removeprefix("; ")
        return near or f"there are: {', '.join(dict.fromkeys(names))}"
    if not paths:
        return "there is no settings file; write ./lbctl.yaml, or name one with --config FILE"
    return f"write one under {PROFILE}: {PROFILE}: {{{chosen}: {{...}}}}"


def _merge(values: dict[str, tuple[str, str]], notes: list[str], place: str, tree: Mapping[Any, Any]) -> None:
    found, ignored = _read(place, tree)
    if "policy" in found:
        values.pop("policy_opt", None)  # of a policy that is not used
    values.update(found)
    if ignored:
        notes.append(f"{place}: no effect in this version: {', '.join(ignored)}")


def _read_one(path: Path, origin: str) -> tuple[Mapping[Any, Any], Mapping[str, Mapping[Any, Any]]]:
    """The keys of a file, and those of its profiles by name; ``origin`` is what named the file."""
    try:
        document = dict(_document(path))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(f"{origin or 'settings'}: cannot read {path}: {reason}") from None
    profiles = document.pop(PROFILE, None) or {}
    if not isinstance(profiles, Mapping):
        raise UsageError(f"{path}: {PROFILE}: expected names with keys under them, not a {type(profiles).__name__}")
    for name, tree in profiles.items():
        if tree is not None and not isinstance(tree, Mapping):
            raise UsageError(f"{path}: {PROFILE}.{name}: expected keys under it, not a {type(tree).__name__}")
    return document, {str(name): tree or {} for name, tree in profiles.items()}


def _read(place: str, tree: Mapping[Any, Any]) -> tuple[dict[str, tuple[str, str]], list[str]]:
    values: dict[str, tuple[str, str]] = {}
    balancer: dict[str, str] = {}
    for key, value in _leaves(place, tree):
        if key in _OWN:
            values[key] = (_plain(place, key, value), f"{place}: {key}")
        elif key in KEYS:
            balancer[key] = _plain(place, key, value)
        else:
            raise UsageError(f"{place}: unknown key {key!r}", _nearest(key))
    if not balancer:
        return values, []
    meant, ignored = translated(place, balancer)
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


def _leaves(place: str, tree: Mapping[Any, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in tree.items():
        key = f"{above}{name}"
        if isinstance(value, Mapping):
            if not any(known.startswith(f"{key}.") for known in _KNOWN):
                raise UsageError(f"{place}: unknown key {key!r}", _nearest(key))
            yield from _leaves(place, value, f"{key}.")
        elif value is not None:
            yield key, value
        elif key not in _KNOWN and not any(known.startswith(f"{key}.") for known in _KNOWN):
            raise UsageError(f"{place}: unknown key {key!r}", _nearest(key))


def _plain(place: str, key: str, value: object) -> str:
    """Spell the value as the same text a flag would have; a list of plain values joins with commas."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
        return ",".join(str(item) for item in value)
    if isinstance(value, str | int | float):
        return str(value)
    raise UsageError(f"{place}: {key}: expected a plain value, not a {type(value).__name__}")


def _nearest(key: str) -> str:
    near = difflib.get_close_matches(key, sorted(_KNOWN), n=1)
    return f"did you mean {near[0]}?" if near else f"known keys: {', '.join(_OWN)}"
