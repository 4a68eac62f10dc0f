"""What every command may ask about its surroundings, resolved once: flag > LBCTL_* > ETCDCTL_* > file > default."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lbctl.cli.addresses import names_https, parse_authority, parse_endpoints, parse_server_name
from lbctl.cli.balancer_config import truth
from lbctl.cli.connection_options import reach_of
from lbctl.cli.layouts import LAYOUTS
from lbctl.cli.mistakes import meant_word, split_meant
from lbctl.cli.values import parse_positive_duration, parse_positive_timeout
from lbctl.cli.verdict_options import parse_aborts, parse_thresholds
from lbctl.cli.weight_values import parse_limit, parse_share, parse_weight
from lbctl.commands.reach import Reach
from lbctl.discovery.weight_limits import WeightLimits
from lbctl.errors import UsageError

if TYPE_CHECKING:
    from lbctl.model import Endpoint
    from lbctl.stats.thresholds import Abort, Threshold


COLORS: Final = ("auto", "always", "never")
NAMED_BY: Final = ("key", "value")


def _text(value: str) -> str:
    return value


def _level(value: str) -> int:
    return int(truth(value))


def _file(value: str) -> str:
    if not value:
        raise ValueError("no file is named")
    return value


def _color(value: str) -> str:
    if value not in COLORS:
        raise ValueError(f"{value!r} is not one of {', '.join(COLORS)}{meant_word(value, COLORS)}")
    return value


def _layout(value: str) -> str | None:
    if value not in LAYOUTS:
        meant = meant_word(value, LAYOUTS) or f"; use one of: {', '.join(LAYOUTS)}"
        raise ValueError(f"{value!r} is not a layout{meant}")
    return None if value == "auto" else value


def _named_by(value: str) -> str:
    if value not in NAMED_BY:
        raise ValueError(f"{value!r} is neither key nor value")
    return value


@dataclass(frozen=True, slots=True)
class Setting:
    """Where one setting may come from besides its flag; environment names are in order of precedence.

    ``was`` is a former name, of the flag and in files, that is still understood.
    """

    name: str
    parse: Callable[[str], Any]
    default: Any = None
    env: tuple[str, ...] = ()
    file: str = ""  # dotted key in the configuration file
    off: str = ""  # the flag that says no, where there is one
    was: str = ""

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")


def _etcd(name: str, parse: Callable[[str], Any], default: object = None) -> Setting:
    return Setting(name, parse, default, (f"LBCTL_{name.upper()}", f"ETCDCTL_{name.upper()}"), f"etcd.{name}")


def _backend(name: str, parse: Callable[[str], Any], file: str, default: object = None, off: str = "") -> Setting:
    return Setting(name, parse, default, (f"LBCTL_{name.upper()}",), file, off)


SETTINGS = (
    _etcd("endpoints", _text, "127.0.0.1:2379"),
    _etcd("user", _text),
    Setting("password", _text, None, ("LBCTL_PASSWORD", "ETCDCTL_PASSWORD")),
    Setting("password_file", _text, None, ("LBCTL_PASSWORD_FILE",), "etcd.password_file"),
    _etcd("cacert", _text),
    _etcd("cert", _text),
    _etcd("key", _text),
    _etcd("insecure_skip_tls_verify", truth, default=False),
    _etcd("insecure_transport", truth, default=True),
    _etcd("dial_timeout", parse_positive_timeout, 2.0),
    _etcd("command_timeout", parse_positive_timeout, 5.0),
    Setting("layout", _layout, None, ("LBCTL_LAYOUT", "LBCTL_FORMAT"), "layout", was="format"),
    Setting("service_from", _named_by, "", ("LBCTL_SERVICE_FROM",), "service_from"),
    Setting("prefix", _text, None, ("LBCTL_PREFIX",), "prefix"),
    Setting("read_only", truth, False, ("LBCTL_READ_ONLY",), "read_only"),
    Setting("output", _text),
    Setting("no_headers", truth, False),
    Setting("color", _color, None, ("LBCTL_COLOR",), "color"),
    Setting("ascii", truth, False, ("LBCTL_ASCII",), "ascii"),
    Setting("quiet", truth, False, (), "quiet"),
    Setting("no_input", truth, False, ("LBCTL_NO_INPUT",), "no_input"),
    Setting("verbose", _level, 0, (), "verbose"),
    Setting("log_file", _text, None, ("LBCTL_LOG_FILE",), "log_file"),
    Setting("policy", _text, None, ("LBCTL_POLICY",), "policy"),
    Setting("policy_opt", _text, None, ("LBCTL_POLICY_OPT",), "policy_opt"),
    Setting("health_check", _text, None, ("LBCTL_HEALTH_CHECK",), "health_check"),
    Setting("threshold", parse_thresholds, (), ("LBCTL_THRESHOLD",), "threshold"),
    Setting("abort_on", parse_aborts, (), ("LBCTL_ABORT_ON",), "abort_on"),
    Setting("weights_min", parse_limit, None, (), "weights.min"),
    Setting("weights_max", parse_limit, None, (), "weights.max"),
    Setting("weights_default", parse_weight, None, (), "weights.default"),
    Setting("auto_every", parse_positive_duration, None, (), "auto.every"),
    Setting("auto_window", parse_positive_duration, None, (), "auto.window"),
    Setting("auto_error_high", parse_share, None, (), "auto.error_high"),
    Setting("auto_error_low", parse_share, None, (), "auto.error_low"),
    Setting("auto_latency_high", parse_positive_duration, None, (), "auto.latency_high"),
    Setting("auto_latency_low", parse_positive_duration, None, (), "auto.latency_low"),
    Setting("check", truth, None, (), "check.enabled"),
    Setting("check_interval", parse_positive_duration, 1.0, (), "check.interval"),
    Setting("check_timeout", parse_positive_timeout, 1.0, (), "check.timeout"),
    _backend("tls", truth, "tls.enabled", off="--plaintext"),
    _backend("tls_ca", _file, "tls.ca"),
    _backend("tls_cert", _file, "tls.cert"),
    _backend("tls_key", _file, "tls.key"),
    _backend("tls_server_name", parse_server_name, "tls.server_name"),
    _backend("tls_skip_verify", truth, "tls.skip_verify", default=False),
    _backend("authority", parse_authority, "authority"),
    _backend("connect_timeout", parse_positive_timeout, "connect_timeout", default=10.0),
)


@dataclass(frozen=True, slots=True)
class AutoSettings:
    """What ``weight --auto`` goes by unless its options say otherwise; None is its own default."""

    every: float | None = None
    window: float | None = None
    error_high: float | None = None
    error_low: float | None = None
    latency_high: float | None = None
    latency_low: float | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """The resolved settings of one invocation.

    ``origins`` names the source of each one that is not a default; ``typed`` is what its flags said, as text.
    """

    endpoints: tuple[Endpoint, ...]
    user: str | None = field(repr=False)  # may hold the password after a colon
    cacert: Path | None
    cert: Path | None
    key: Path | None
    tls: bool  # any certificate file, an https:// endpoint, or ETCDCTL_INSECURE_TRANSPORT=false
    insecure_skip_tls_verify: bool
    dial_timeout_s: float
    command_timeout_s: float
    layout: str | None  # its name; None: whichever recognises a key
    service_from: str  # key or value: what services are named by; empty: as their layout has it
    prefix: str | None
    read_only: bool  # nothing may be written to etcd
    output: str | None  # one of the formats of the running command
    no_headers: bool
    color: str | None  # always | never | auto; None: the environment decides
    ascii: bool
    quiet: bool
    no_input: bool  # nobody is asked anything
    verbose: int
    log_file: Path | None
    policy: str | None
    policy_opt: str | None  # of that policy
    health_check: str | None  # of hammer
    threshold: tuple[Threshold, ...]  # of hammer
    abort_on: tuple[Abort, ...]  # of hammer and compare
    check: bool | None
    check_interval_s: float
    check_timeout_s: float
    reach: Reach = field(default_factory=Reach)
    limits: WeightLimits = field(default_factory=WeightLimits)
    auto: AutoSettings = field(default_factory=AutoSettings)
    origins: Mapping[str, str] = field(default_factory=dict)
    typed: Mapping[str, Any] = field(default_factory=dict, repr=False)  # may hold passwords
    secret: str | None = field(default=None, repr=False)
    password_file: str | None = None

    def with_output(self, command: str, allowed: Sequence[str]) -> Settings:
        """Return these settings with the output format decided, the first allowed one by default.

        Raises UsageError for a format the command does not have.
        """
        if not allowed:
            return self
        if self.output is not None and self.output not in allowed:
            meant = meant_word(self.output, allowed).removeprefix("; ")
            raise UsageError(
                f"-o: lbctl {command} has no output format {self.output!r}",
                f"{meant} use one of: {', '.join(allowed)}".lstrip(),
            )
        return replace(self, output=self.output or allowed[0])

    def can_ask(self) -> bool:
        """Whether somebody may be asked, and there is a terminal to answer from."""
        return not self.no_input and sys.stdin is not None and sys.stdin.isatty()

    def credentials(self) -> tuple[str, str] | None:
        """User and password for etcd, or None; asks on a terminal when only the user is known."""
        if self.user is None:
            return None
        name, given, rest = self.user.partition(":")
        if given:
            return name, rest
        if self.password_file is not None:
            return name, _read_password(self.password_file)
        if self.secret is not None:
            return name, self.secret
        if not self.can_ask():
            raise UsageError(f"--user {name} needs a password", "give --password-file FILE (- reads standard input)")
        from getpass import getpass

        return name, getpass(f"password of etcd user {name}: ")


def _read_password(source: str) -> str:
    if source == "-":
        return sys.stdin.readline().rstrip("\r\n")
    try:
        return Path(source).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--password-file: cannot read {source}: {_why(error)}") from None


def _why(error: OSError | UnicodeDecodeError) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else "not UTF-8 text"


Found = Mapping[str, tuple[str, str]]  # dotted file key -> (text, "file: key")


def resolve(flags: Mapping[str, Any], environ: Mapping[str, str], file: Found) -> Settings:
    """Decide the settings of this invocation; raises UsageError that names the flag, variable or file key at fault."""
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for setting in SETTINGS:
        value, origin = _look_up(setting, flags, environ, file)
        values[setting.name] = value
        if origin:
            origins[setting.name] = origin
    settings = _settled(values, origins)
    return replace(settings, typed={name: value for name, value in flags.items() if value is not None})


def _look_up(setting: Setting, flags: Mapping[str, Any], environ: Mapping[str, str], file: Found) -> tuple[Any, str]:
    given, flag = flags.get(setting.name), setting.flag
    if setting.was and given is None:
        given, flag = flags.get(setting.was), f"--{setting.was}"
    if setting.name == "verbose":
        given = given or None
    if given is not None and not isinstance(given, str):
        return given, setting.off if given is False and setting.off else flag
    named = [(given, flag)] if given is not None else []
    for text, origin in named + _sources(setting, environ, file):
        try:
            return setting.parse(text), origin
        except ValueError as error:
            raise UsageError(*split_meant(f"{origin}: {error}")) from None
    return setting.default, ""


def _sources(setting: Setting, environ: Mapping[str, str], file: Found) -> list[tuple[str, str]]:
    variables = [(environ[name], name) for name in setting.env if environ.get(name)]
    return variables + [file[key] for key in (setting.file, setting.was) if key in file]


def _settled(values: dict[str, Any], origins: Mapping[str, str]) -> Settings:
    addresses = values.pop("endpoints")
    try:
        endpoints = parse_endpoints(addresses)
    except ValueError as error:
        raise UsageError(f"{origins.get('endpoints', '--endpoints')}: {error}") from None
    encrypted = not values.pop("insecure_transport")
    cert, key, cacert = _path(values.pop("cert")), _path(values.pop("key")), _path(values.pop("cacert"))
    if origins.get("policy") == "LBCTL_POLICY" and origins.get("policy_opt") != "LBCTL_POLICY_OPT":
        values["policy_opt"] = None  # of the policy that the variable replaces
    if (cert is None) != (key is None):
        raise UsageError("--cert and --key belong together", "give both, or neither")
    return Settings(
        endpoints=endpoints,
        cacert=cacert,
        cert=cert,
        key=key,
        tls=encrypted or names_https(addresses) or cert is not None or cacert is not None,
        secret=values.pop("password"),
        log_file=_path(values.pop("log_file")),
        dial_timeout_s=values.pop("dial_timeout"),
        command_timeout_s=values.pop("command_timeout"),
        check_interval_s=values.pop("check_interval"),
        check_timeout_s=values.pop("check_timeout"),
        reach=reach_of(values, origins),
        limits=_limits(values),
        auto=AutoSettings(*(values.pop(f"auto_{each.name}") for each in fields(AutoSettings))),
        origins=origins,
        **values,
    )


def _limits(values: dict[str, Any]) -> WeightLimits:
    least, most = values.pop("weights_min"), values.pop("weights_max")
    if least is not None and most is not None and least > most:
        raise UsageError(f"weights.min, {least}, is above weights.max, {most}")
    return WeightLimits(least, most, values.pop("weights_default"))


def _path(text: str | None) -> Path | None:
    return Path(text).expanduser() if text else None
