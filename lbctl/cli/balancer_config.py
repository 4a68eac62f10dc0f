"""The settings document of a ``weighted_random_balancer``, as articles and services have it, in lbctl's own settings.

    weighted_random_balancer:               becomes
      weight: {min, max, default}             weights.min, weights.max, weights.default
      health_check: {enabled, interval,       check.* of ls and watch; health_check of hammer
        timeout}
      algorithm: {type, threshold}            policy weighted_random, with form and threshold
      dynamic_weight:                         auto.* of weight --auto, which goes on where it is enabled;
        enabled, adjustment_interval,         then the policy is dynamic_weight over weighted_random
        metrics_window, error_rate_thresholds: {reduce_weight, increase_weight},
        latency_thresholds: {high_latency, low_latency}
      logging: {level}                        debug: verbose; error: quiet

What is left, monitoring and the format of logs, has no effect in this version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from lbctl.cli.values import parse_positive_duration, parse_positive_timeout
from lbctl.cli.weight_values import parse_limit, parse_share, parse_weight
from lbctl.errors import UsageError

BALANCER: Final = "weighted_random_balancer"
_FORMS: Final = ("hybrid", "expanded", "cumulative", "alias", "table", "dynamic")
_LEVELS: Final = {"debug": ("verbose", "1"), "error": ("quiet", "true")}


def truth(value: str) -> bool:
    """Read yes or no; raises ValueError."""
    word = value.strip().lower()
    if word in ("1", "true", "yes", "on"):
        return True
    if word in ("0", "false", "no", "off", ""):
        return False
    raise ValueError(f"{value!r} is not true or false")


def _one_of(*words: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in words:
            raise ValueError(f"{text!r} is not one of {', '.join(words)}")
        return text

    return parse


def _any(text: str) -> str:
    return text


# Every key, how its value is read, and lbctl's own setting that takes it as it stands.
_KEYS: Final[Mapping[str, tuple[Callable[[str], object], str]]] = {
    "weight.min": (parse_limit, "weights.min"),
    "weight.max": (parse_limit, "weights.max"),
    "weight.default": (parse_weight, "weights.default"),
    "health_check.enabled": (truth, "check.enabled"),
    "health_check.interval": (parse_positive_duration, "check.interval"),
    "health_check.timeout": (parse_positive_timeout, "check.timeout"),
    "dynamic_weight.enabled": (truth, ""),
    "dynamic_weight.adjustment_interval": (parse_positive_duration, ""),
    "dynamic_weight.metrics_window": (parse_positive_duration, "auto.window"),
    "dynamic_weight.error_rate_thresholds.reduce_weight": (parse_share, "auto.error_high"),
    "dynamic_weight.error_rate_thresholds.increase_weight": (parse_share, "auto.error_low"),
    "dynamic_weight.latency_thresholds.high_latency": (parse_positive_duration, "auto.latency_high"),
    "dynamic_weight.latency_thresholds.low_latency": (parse_positive_duration, "auto.latency_low"),
    "algorithm.type": (_one_of(*_FORMS), ""),
    "algorithm.threshold": (parse_weight, ""),
    "monitoring.enabled": (truth, ""),
    "monitoring.prometheus_endpoint": (_any, ""),
    "logging.level": (_one_of("debug", "info", "warn", "error"), ""),
    "logging.format": (_any, ""),
}
KEYS: Final = tuple(f"{BALANCER}.{key}" for key in _KEYS)

# Options of the policies by the key that sets them.
_FORM: Final = {"form": "algorithm.type", "threshold": "algorithm.threshold"}
_DYNAMIC: Final = {
    "interval": "dynamic_weight.adjustment_interval",
    "window": "dynamic_weight.metrics_window",
    "error-high": "dynamic_weight.error_rate_thresholds.reduce_weight",
    "error-low": "dynamic_weight.error_rate_thresholds.increase_weight",
    "latency-high": "dynamic_weight.latency_thresholds.high_latency",
    "latency-low": "dynamic_weight.latency_thresholds.low_latency",
    "min": "weight.min",
    "max": "weight.max",
}

Texts = Mapping[str, str]
Values = dict[str, tuple[str, str]]  # lbctl's own key -> (text, origin)


def translated(place: str, document: Texts) -> tuple[Values, list[str]]:
    """The document in lbctl's own keys, and the keys that have no effect.

    ``document`` has the full keys of its leaves. Raises UsageError for a value that cannot be what its key says.
    """
    texts = {key.removeprefix(f"{BALANCER}."): text for key, text in document.items()}
    for key, text in texts.items():
        _check(f"{place}: {BALANCER}.{key}", key, text)
    values: Values = {}
    for key, text in texts.items():
        own = _KEYS[key][1]
        if own:
            values[own] = (text, f"{place}: {BALANCER}.{key}")
    for own, text in _derived(texts):
        values[own] = (text, f"{place}: {BALANCER}")
    return values, [f"{BALANCER}.{key}" for key in texts if _is_idle(key, texts[key])]


def _check(origin: str, key: str, text: str) -> None:
    try:
        _KEYS[key][0](text)
    except ValueError as error:
        raise UsageError(f"{origin}: {error}") from None


def _derived(texts: Texts) -> Iterator[tuple[str, str]]:
    """The settings that several keys make together."""
    if truth(texts.get("health_check.enabled", "")):
        given = {name: texts.get(f"health_check.{name}") for name in ("interval", "timeout")}
        yield "health_check", _options({"mode": "check"} | {name: text for name, text in given.items() if text})
    form = _set(_FORM, texts)
    if truth(texts.get("dynamic_weight.enabled", "")):
        if interval := texts.get("dynamic_weight.adjustment_interval"):
            yield "auto.every", interval
        yield "policy", "dynamic_weight"
        base = {"base": "weighted_random"} | ({"base-opt": _options(form, "+")} if form else {})
        yield "policy_opt", _options(base | _set(_DYNAMIC, texts) | _as_numbers(texts))
    else:
        yield "policy", "weighted_random"
        yield "policy_opt", _options(form)
    level = _LEVELS.get(texts.get("logging.level", ""))
    if level is not None:
        yield level


def _set(options: Mapping[str, str], texts: Texts) -> dict[str, str]:
    return {name: texts[key] for name, key in options.items() if key in texts}


def _as_numbers(texts: Texts) -> dict[str, str]:
    """Shares as policies read them: the document may have per cent."""
    found = _set({name: key for name, key in _DYNAMIC.items() if name.startswith("error")}, texts)
    return {name: f"{parse_share(text):g}" for name, text in found.items()}


def _options(options: Mapping[str, str], separator: str = ",") -> str:
    return separator.join(f"{name}={text}" for name, text in options.items())


def _is_idle(key: str, text: str) -> bool:
    """Whether nothing is made of this key: figures are served by no command, and logs are text."""
    if key.startswith("monitoring."):
        return text.strip().lower() not in ("false", "no", "off")
    return key == "logging.format" and text != "text"
