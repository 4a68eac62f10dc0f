"""What a wrong command line may have meant: the words of other tools, misspellings, long options with one dash."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

# What ghz, grpcurl, hey, k6, vegeta, wrk, fortio, oha, etcdctl and kubectl call it, or people do. The first that the
# command has is meant.
_OPTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "rate": ("--rps",),
    "qps": ("--rps",),
    "tps": ("--rps",),
    "throughput": ("--rps",),
    "max-rate": ("--find-max",),
    "total": ("--requests",),
    "number": ("--requests",),
    "num": ("--requests",),
    "count": ("--requests", "--probe"),
    "calls": ("--requests",),
    "iterations": ("--requests",),
    "num-requests": ("--requests",),
    "vus": ("--concurrency",),
    "workers": ("--concurrency",),
    "max-workers": ("--concurrency",),
    "clients": ("--concurrency",),
    "threads": ("--concurrency",),
    "cpus": ("--concurrency",),
    "parallel": ("--concurrency",),
    "max-concurrent": ("--max-outstanding",),
    "conns": ("--connections",),
    "time": ("--duration",),
    "run-time": ("--duration",),
    "deadline": ("--timeout",),
    "max-time": ("--timeout",),
    "load-schedule": ("--stages",),
    "load-start": ("--ramp",),
    "load-end": ("--ramp",),
    "load-step": ("--steps",),
    "ramp-up": ("--ramp",),
    "msg-template": ("--template",),
    "descriptor-set": ("--protoset",),
    "import-paths": ("--import-path",),
    "skipfirst": ("--warmup",),
    "skip-first": ("--warmup",),
    "duration-stop": ("--grace",),
    "graceful-stop": ("--grace",),
    "body": ("--data",),
    "payload": ("--data",),
    "message": ("--data",),
    "lines": ("--data-file",),
    "binary": ("--binary-file",),
    "rpc-header": ("--header",),
    "headers": ("--header",),
    "lb": ("--policy",),
    "lb-policy": ("--policy",),
    "lb-strategy": ("--policy",),
    "balancer": ("--policy",),
    "algorithm": ("--policy",),
    "strategy": ("--policy",),
    "option": ("--policy-opt",),
    "insecure": ("--plaintext", "--tls-skip-verify"),
    "no-tls": ("--plaintext",),
    "insecure-skip-verify": ("--tls-skip-verify",),
    "skip-tls-verify": ("--tls-skip-verify",),
    "ca": ("--tls-ca", "--cacert"),
    "root-certs": ("--tls-ca",),
    "sni": ("--tls-server-name",),
    "cname": ("--tls-server-name",),
    "servername": ("--tls-server-name",),
    "host": ("--backends", "--endpoints"),
    "hosts": ("--backends", "--endpoints"),
    "addr": ("--backends", "--endpoints"),
    "address": ("--backends", "--endpoints"),
    "target": ("--backends", "--endpoints"),
    "server": ("--backends", "--endpoints"),
    "etcd": ("--endpoints",),
    "registry": ("--endpoints",),
    "namespace": ("--prefix",),
    "selector": ("--label",),
    "follow": ("--watch",),
    "output-format": ("--output",),
    "out-format": ("--output",),
    "json": ("--output json",),
    "yaml": ("--output yaml",),
    "html": ("--output html",),
    "csv": ("--output csv",),
    "names": ("--output name",),
    "wide": ("--output wide",),
    "live": ("--ui live",),
    "no-tui": ("--ui plain",),
    "no-ui": ("--ui plain",),
    "no-progress": ("--ui none",),
    "save-to": ("--save", "--out"),
    "slo": ("--threshold",),
    "assert": ("--check",),
    "fail-if": ("--threshold", "--fail-on"),
    "max-fail": ("--max-errors",),
    "debug": ("--verbose",),
    "trace": ("--verbose",),
    "force": ("--yes",),
    "no-confirm": ("--yes",),
    "refresh": ("--interval",),
    "servers": ("--backends",),
    "instances": ("--backends",),
    "delay": ("--latency",),
    "fail": ("--errors",),
    "lease": ("--ttl",),
    "undo-after": ("--revert-after",),
}  # fmt: skip

_COMMANDS: Final[Mapping[str, str]] = {
    "list": "ls",
    "get": "ls",
    "services": "ls",
    "instances": "ls",
    "backends": "ls",
    "desc": "describe",
    "schema": "describe",
    "rpcs": "methods",
    "reflect": "methods",
    "top": "watch",
    "monitor": "watch",
    "live": "watch",
    "check": "doctor",
    "diagnose": "doctor",
    "status": "health",
    "ping": "health",
    "probe": "health",
    "run": "hammer",
    "load": "hammer",
    "attack": "hammer",
    "stress": "hammer",
    "test": "hammer",
    "invoke": "call",
    "rpc": "call",
    "diff": "compare",
    "show": "report",
    "plot": "report",
    "policy": "policies",
    "benchmark": "bench",
    "add": "register",
    "put": "register",
    "remove": "deregister",
    "rm": "deregister",
    "delete": "deregister",
    "unregister": "deregister",
    "set": "weight",
    "disable": "drain",
    "enable": "undrain",
    "start": "demo",
    "up": "demo",
    "serve": "demo",
    "example": "demo",
    "man": "help",
}

_NO_COMMAND: Final = re.compile(r"No such command '(.*?)'")
_MEANT: Final = re.compile(r"(?s)(.*); (did you mean .*\?|use one of: .*)")
_LEAST: Final = 0.6  # of difflib's ratio: below it, a suggestion misleads more often than it helps


def explained(error: Any, arguments: Sequence[str]) -> tuple[str, str]:  # noqa: ANN401 - typer has no name for them
    """Return message and hint of a usage error that typer raised for these arguments."""
    context = getattr(error, "ctx", None)
    path = getattr(context, "command_path", None) or path_of(arguments)
    message = " ".join(str(error.format_message()).split()).removesuffix(".")
    see = f"see: {path} --help"
    known = list(_names(context))
    wanted = getattr(error, "option_name", None)
    unknown = _NO_COMMAND.match(message)
    if one_dash := _one_dash(arguments, known):
        return message.partition(" (Possible options: ")[0], _with_see(one_dash, see)
    if wanted is not None and hasattr(error, "possibilities"):
        message = message.partition(" (Possible options: ")[0]
        commands = getattr(getattr(context, "command", None), "commands", None)
        elsewhere = "options of one command stand behind its name" if commands else ""
        return message, _with_see(option_meant(wanted, known) or elsewhere, see)
    if unknown:
        commands = getattr(getattr(context, "command", None), "commands", None) or ()
        return unknown[0], _with_see(command_meant(unknown[1], commands), "see: lbctl --help")
    message, meant = split_meant(message)
    return message, _with_see(meant, see)


def path_of(arguments: Sequence[str]) -> str:
    """Return the command of a command line, for an error that does not say where it was."""
    from lbctl.cli import LISTED

    names = {listed.name for listed in LISTED}
    return " ".join(["lbctl", *[word for word in arguments if word in names][:1]])


def split_meant(message: str) -> tuple[str, str]:
    """Return a message without its "; did you mean x?" or "; use one of: x, y" at the end, and that; "" for none."""
    found = _MEANT.fullmatch(message)
    return (found[1], found[2]) if found else (message, "")


def meant_word(text: str, allowed: Iterable[str]) -> str:
    """Return "; did you mean x?" for a word that is nearly one of these, else ""."""
    near = _nearest(text, allowed)
    return f"; did you mean {near}?" if near else ""


def option_meant(wanted: str, known: Collection[str]) -> str:
    """Return "did you mean --x?" for an option that a command does not have, or ""; ``known`` are those it has."""
    name = wanted.lstrip("-").lower().replace("_", "-")
    if name == "call" and "--data" in known:
        return "the method stands behind the service: SERVICE METHOD"
    targets = [target for target in _OPTIONS.get(name, ()) if target.partition(" ")[0] in known]
    if name == "insecure" and len(targets) > 1:
        return f"did you mean {targets[0]} (no TLS) or {targets[1]}?"
    longer = [each for each in known if len(name) > 2 and each.startswith(f"--{name}")]
    near = targets[:1] or longer[:1] or [_nearest(f"--{name}", known)]
    return f"did you mean {near[0]}?" if near[0] else ""


def command_meant(wanted: str, known: Collection[str]) -> str:
    """Return "did you mean lbctl x?" for a command that there is not, or ""."""
    word = _COMMANDS.get(wanted.lower(), "")
    near = word if word.partition(" ")[0] in known else _nearest(wanted.lower(), known)
    return f"did you mean lbctl {near}?" if near else ""


def _nearest(text: str, known: Iterable[str]) -> str:
    """Return the most similar of these words, however it is written: with - or _, or with neither, and in capitals."""
    from difflib import get_close_matches

    plain = {_plain(each): each for each in known}
    near = get_close_matches(_plain(text), plain, 1, _LEAST)
    return plain[near[0]] if near else ""


def _plain(word: str) -> str:
    return re.sub("[-_. ]", "", word.lower())


def _names(context: Any) -> Iterator[str]:  # noqa: ANN401
    """All spellings of the options that a command shows in its help."""
    command = getattr(context, "command", None)
    for parameter in getattr(command, "params", ()):
        if getattr(parameter, "param_type_name", "") == "option" and not getattr(parameter, "hidden", False):
            yield from (*parameter.opts, *parameter.secondary_opts)
    yield "--help"


def _one_dash(arguments: Sequence[str], known: Collection[str]) -> str:
    """Return what to say of the first ``-rps``: as in Go's tools, and here a bundle of short options."""
    for argument in arguments:
        if argument == "--":
            break
        name = argument.partition("=")[0]
        if re.fullmatch("-[A-Za-z][A-Za-z-]+", name) is None:
            continue
        if f"-{name}" in known:
            return f"did you mean -{name}? long options have two dashes"
        if name[1:].lower() in _OPTIONS and (meant := option_meant(name, known)):
            return meant
    return ""


def _with_see(meant: str, see: str) -> str:
    return f"{meant} {see}" if meant.endswith("?") else f"{meant}; {see}" if meant else see
