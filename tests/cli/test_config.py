from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from lbctl.balance.guards.health import HealthOptions
from lbctl.balance.guards.plan import GuardPlan
from lbctl.balance.policies import dynamic_weight, weighted_random
from lbctl.cli.balancer_config import BALANCER, KEYS
from lbctl.cli.config import config_paths, read_config
from lbctl.cli.guard_options import GuardFlags, guards_of
from lbctl.cli.policy_options import chosen
from lbctl.cli.settings import SETTINGS, AutoSettings, Settings, resolve
from lbctl.commands.reach import Reach
from lbctl.discovery.weight_limits import WeightLimits
from lbctl.errors import UsageError
from lbctl.model import Endpoint
from tests.cli.config_files import SEED, settings, write


def refusal(text: str, tmp_path: Path) -> tuple[str, str]:
    with pytest.raises(UsageError) as refused:
        settings(text, tmp_path)
    return str(refused.value).replace(str(tmp_path), "DIR"), refused.value.hint


def test_a_flag_beats_lbctl_env_beats_etcdctl_env_beats_the_file_beats_the_default(tmp_path: Path) -> None:
    file = "etcd: {endpoints: 'file:1'}"
    both: dict[str, Any] = {"LBCTL_ENDPOINTS": "lbctl:1", "ETCDCTL_ENDPOINTS": "etcdctl:1"}
    assert settings(file, tmp_path, {"endpoints": "flag:1"}, **both).endpoints == (Endpoint("flag", 1),)
    assert settings(file, tmp_path, **both).endpoints == (Endpoint("lbctl", 1),)
    assert settings(file, tmp_path, ETCDCTL_ENDPOINTS="etcdctl:1").endpoints == (Endpoint("etcdctl", 1),)
    assert settings(file, tmp_path).endpoints == (Endpoint("file", 1),)
    assert settings("", tmp_path).endpoints == (Endpoint("127.0.0.1", 2379),)


def test_an_empty_variable_counts_as_not_set(tmp_path: Path) -> None:
    assert settings("", tmp_path, LBCTL_ENDPOINTS="", ETCDCTL_ENDPOINTS="e:1").endpoints == (Endpoint("e", 1),)


def test_where_a_setting_came_from_is_remembered(tmp_path: Path) -> None:
    origins = settings("prefix: /services/", tmp_path, {"user": "root:x"}, ETCDCTL_DIAL_TIMEOUT="3s").origins
    assert origins == {
        "user": "--user",
        "dial_timeout": "ETCDCTL_DIAL_TIMEOUT",
        "prefix": f"{tmp_path}/lbctl.yaml: prefix",
    }


def test_endpoints_may_be_a_list_in_the_file(tmp_path: Path) -> None:
    text = "etcd:\n  endpoints: ['a:1', 'b:2']\n  dial_timeout: 500ms\npolicy: round_robin\n"
    found = settings(text, tmp_path)
    assert found.endpoints == (Endpoint("a", 1), Endpoint("b", 2))
    assert (found.dial_timeout_s, found.policy) == (0.5, "round_robin")


def balancer(tmp_path: Path, *changes: tuple[str, str]) -> Settings:
    """The settings that the document makes, with some of its text changed."""
    text = SEED
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return settings(text, tmp_path)


STATIC = ("  dynamic_weight:\n    enabled: true", "  dynamic_weight:\n    enabled: false")


def test_the_document_of_a_balancer_is_the_health_check_of_ls_watch_and_hammer(tmp_path: Path) -> None:
    found = balancer(tmp_path)
    assert (found.check, found.check_interval_s, found.check_timeout_s) == (True, 10.0, 3.0)
    assert found.health_check == "mode=check,interval=10s,timeout=3s"
    assert guards_of(GuardFlags(), chosen(None, None, found), found.health_check) == GuardPlan(
        health=HealthOptions(mode="check", interval=10.0, timeout=3.0)
    )

    off = balancer(tmp_path, ("  health_check:\n    enabled: true", "  health_check:\n    enabled: false"))
    assert (off.check, off.health_check) == (False, None)


def test_its_algorithm_is_the_policy_where_weights_are_not_dynamic(tmp_path: Path) -> None:
    policy = chosen(None, None, balancer(tmp_path, STATIC))
    assert (policy.name, policy.options) == ("weighted_random", weighted_random.Options(form="hybrid", threshold=20))

    other = chosen(None, None, balancer(tmp_path, STATIC, ('"hybrid"', '"cumulative"'), ("20", "7")))
    assert other.options == weighted_random.Options(form="cumulative", threshold=7)


def test_its_dynamic_weights_are_the_policy_over_its_algorithm(tmp_path: Path) -> None:
    changes = [
        ("reduce_weight: 0.1\n", "reduce_weight: 0.3\n"),
        ("increase_weight: 0.01", "increase_weight: 2%"),
        ('"100ms"', '"90ms"'),
        ('"10ms"', '"20ms"'),
        ("min: 1\n", "min: 2\n"),
        ("max: 10\n", "max: 12\n"),
    ]
    policy = chosen(None, None, balancer(tmp_path, *changes))
    assert policy.name == "dynamic_weight"
    assert policy.options == dynamic_weight.Options(
        interval=60.0,
        window=300.0,
        error_high=0.3,
        error_low=0.02,
        latency_high=0.09,
        latency_low=0.02,
        min=2,
        max=12,
        base="weighted_random",
        base_opt="form=hybrid+threshold=20",
    )
    assert policy.options.picking() == weighted_random.POLICY.with_options({"form": "hybrid", "threshold": "20"})


def test_its_dynamic_weights_are_what_weight_auto_goes_by(tmp_path: Path) -> None:
    found = balancer(tmp_path)
    assert found.auto == AutoSettings(60.0, 300.0, 0.1, 0.01, 0.1, 0.01)
    off = balancer(tmp_path, STATIC)
    assert off.auto == AutoSettings(None, 300.0, 0.1, 0.01, 0.1, 0.01), "asked for, it looks once"


def test_its_weights_are_limits_of_what_is_registered(tmp_path: Path) -> None:
    assert balancer(tmp_path).limits == WeightLimits(1, 10, 5)


@pytest.mark.parametrize(
    ("level", "verbose", "quiet"), [("debug", 1, False), ("info", 0, False), ("warn", 0, False), ("error", 0, True)]
)
def test_its_level_of_logs_is_how_much_is_said(tmp_path: Path, level: str, verbose: int, quiet: bool) -> None:
    found = balancer(tmp_path, ('"info"', level))
    assert (found.verbose, found.quiet) == (verbose, quiet)
    assert resolve({"verbose": 2}, {}, {}).verbose == 2


def test_what_has_no_effect_is_told(tmp_path: Path) -> None:
    told = "weighted_random_balancer.monitoring.enabled, weighted_random_balancer.monitoring.prometheus_endpoint"
    write(tmp_path / "lbctl.yaml", SEED)
    (note,) = read_config({}, {}, tmp_path).notes
    assert note.endswith(f"no effect in this version: {told}, weighted_random_balancer.logging.format")
    quiet = SEED.replace('"json"', "text")[: SEED.index("  monitoring")] + "  logging: {format: text}\n"
    write(tmp_path / "lbctl.yaml", quiet)
    assert read_config({}, {}, tmp_path).notes == ()


def test_options_of_another_policy_than_the_one_used_are_left_out(tmp_path: Path) -> None:
    assert settings(f"policy: random\n{SEED}", tmp_path).policy_opt is None
    assert settings(SEED, tmp_path, LBCTL_POLICY="random").policy_opt is None
    write(tmp_path / "xdg/lbctl/config.yaml", SEED)
    write(tmp_path / "here/lbctl.yaml", "policy: random\n")
    file = read_config({}, {"XDG_CONFIG_HOME": str(tmp_path / "xdg")}, tmp_path / "here")
    assert chosen(None, None, resolve({}, {}, file.values)).name == "random"


def test_options_of_the_policy_may_stand_in_a_file_and_a_flag_adds_to_them(tmp_path: Path) -> None:
    found = settings("policy: weighted_random\npolicy_opt: 'form=hybrid,threshold=3'", tmp_path)
    policy = chosen(None, [[("threshold", "9")]], found)
    assert policy.options == weighted_random.Options(form="hybrid", threshold=9)
    with pytest.raises(UsageError, match=r"lbctl.yaml: policy_opt: policy random has no options"):
        chosen(None, None, settings("policy: random\npolicy_opt: form=hybrid", tmp_path))


def test_lbctls_own_keys_beat_those_of_the_document(tmp_path: Path) -> None:
    found = settings(f"weights: {{max: 99}}\nauto: {{every: 5s}}\ncheck: {{interval: 2s}}\n{SEED}", tmp_path)
    assert (found.limits.most, found.auto.every, found.check_interval_s) == (99, 5.0, 2.0)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            '"hybrid"',
            "hybird",
            "algorithm.type: 'hybird' is not one of hybrid, expanded, cumulative, alias, table, dynamic",
        ),
        ("min: 1\n", "min: -1\n", "weight.min: weight -1 is negative (0 keeps an instance listed and never picked)"),
        ("reduce_weight: 0.1\n", "reduce_weight: 10\n", "dynamic_weight.error_rate_thresholds.reduce_weight: '10' is"),
        ('"info"', "loud", "logging.level: 'loud' is not one of debug, info, warn, error"),
        ('"1m"', "soon", "dynamic_weight.adjustment_interval: 'soon' is not a duration"),
    ],
)
def test_a_value_that_cannot_be_is_refused_by_its_own_key(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        balancer(tmp_path, (old, new))
    assert f"lbctl.yaml: weighted_random_balancer.{message}" in str(refused.value)


def test_limits_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"weights.min, 11, is above weights.max, 10"):
        balancer(tmp_path, ("min: 1\n", "min: 11\n"))


def test_an_explicit_policy_beats_the_one_a_balancer_document_implies(tmp_path: Path) -> None:
    assert settings(f"policy: smooth_wrr\n{SEED}", tmp_path).policy == "smooth_wrr"


def test_the_working_directory_beats_the_home_directory_key_by_key(tmp_path: Path) -> None:
    write(tmp_path / "xdg/lbctl/config.yaml", "prefix: /home/\npolicy: random\n")
    write(tmp_path / "here/lbctl.yaml", "prefix: /here/\n")
    found = resolve({}, {}, read_config({}, {"XDG_CONFIG_HOME": str(tmp_path / "xdg")}, tmp_path / "here").values)
    assert (found.prefix, found.policy) == ("/here/", "random")


def test_a_named_file_is_the_only_one_read(tmp_path: Path) -> None:
    write(tmp_path / "lbctl.yaml", "prefix: /here/\n")
    assert config_paths("other.yaml", {}, tmp_path) == [Path("other.yaml")]


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("etcd: {endpoint: 'a:1'}", "DIR/lbctl.yaml: unknown key 'etcd.endpoint'", "did you mean etcd.endpoints?"),
        ("etcd: 'a:1'", "DIR/lbctl.yaml: unknown key 'etcd'", None),
        ("polcy: random", "DIR/lbctl.yaml: unknown key 'polcy'", "did you mean policy?"),
        (
            "weighted_random_balancer: {weight: {maximum: 3}}",
            "DIR/lbctl.yaml: unknown key 'weighted_random_balancer.weight.maximum'",
            "did you mean weighted_random_balancer.weight.max?",
        ),
        ("other:\n  thing: 1", "DIR/lbctl.yaml: unknown key 'other'", None),
        ("- a\n- b", "DIR/lbctl.yaml: the top of the file must be keys, not a list", ""),
        ("etcd: {endpoints: [[1]]}", "DIR/lbctl.yaml: etcd.endpoints: expected a plain value, not a list", ""),
        ("a: b: c", "DIR/lbctl.yaml:1:5: not YAML: mapping values are not allowed here", ""),
        (
            "etcd: {dial_timeout: 5x}",
            "DIR/lbctl.yaml: etcd.dial_timeout: '5x': unknown unit 'x' (use ns, us, ms, s, m or h)",
            "",
        ),
        ("etcd: {endpoints: 'a:b'}", "DIR/lbctl.yaml: etcd.endpoints: 'a:b': port 'b' is not a number", ""),
        ("ascii: maybe", "DIR/lbctl.yaml: ascii: 'maybe' is not true or false", ""),
    ],
)
def test_a_wrong_file_is_refused_naming_file_and_key(text: str, message: str, hint: str | None, tmp_path: Path) -> None:
    found = refusal(text, tmp_path)
    assert found[0] == message
    if hint is not None:
        assert found[1] == hint


def test_a_named_file_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--config: cannot read .*/none.yaml: no such file or directory"):
        read_config({"config": str(tmp_path / "none.yaml")}, {}, tmp_path)
    with pytest.raises(UsageError, match=r"LBCTL_CONFIG: cannot read .*: is a directory"):
        read_config({}, {"LBCTL_CONFIG": str(tmp_path)}, tmp_path)


def test_nobody_is_asked_for_a_password_who_does_not_want_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    assert resolve({}, {}, {}).can_ask()
    for found in (
        resolve({"user": "root"}, {"LBCTL_NO_INPUT": "1"}, {}),
        resolve({"user": "root", "no_input": True}, {}, {}),
    ):
        assert not found.can_ask()
        with pytest.raises(UsageError, match="--user root needs a password"):
            found.credentials()


def test_a_certificate_without_its_key_is_refused() -> None:
    with pytest.raises(UsageError, match="--cert and --key belong together"):
        resolve({"cert": "c.pem"}, {}, {})


@pytest.mark.parametrize(
    ("flags", "tls"), [({}, False), ({"cacert": "ca.pem"}, True), ({"endpoints": "https://a:1"}, True)]
)
def test_tls_follows_from_a_certificate_or_an_https_endpoint(flags: dict[str, str], tls: bool) -> None:
    assert resolve(flags, {}, {}).tls is tls


def test_a_password_comes_with_the_user_or_from_a_file_or_the_environment(tmp_path: Path) -> None:
    secret = write(tmp_path / "pw", "from file\n")
    assert resolve({"user": "root:a:b"}, {}, {}).credentials() == ("root", "a:b")
    assert resolve({"user": "root", "password_file": str(secret)}, {}, {}).credentials() == ("root", "from file")
    assert resolve({"user": "root"}, {"ETCDCTL_PASSWORD": "env"}, {}).credentials() == ("root", "env")
    assert resolve({}, {"ETCDCTL_PASSWORD": "env"}, {}).credentials() is None


def test_a_password_file_that_cannot_be_read_is_named() -> None:
    with pytest.raises(UsageError, match="--password-file: cannot read /nowhere/pw: No such file or directory"):
        resolve({"user": "root", "password_file": "/nowhere/pw"}, {}, {}).credentials()


def test_a_password_never_appears_in_the_settings_text() -> None:
    assert "hunter2" not in repr(resolve({"user": "root:hunter2", "password": "hunter2"}, {}, {}))


def test_every_setting_is_in_the_reference() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    rows = {tuple(part.strip() for part in line.strip("|").split("|")) for line in page.splitlines() if line[:1] == "|"}
    told = {(row[1], row[2]) for row in rows if len(row) == 4}
    for setting in SETTINGS:
        if setting.env or setting.file:
            variables = " ".join(f"`{name}`" for name in setting.env)
            assert (variables, f"`{setting.file}`" if setting.file else "") in told, setting.name


def test_the_reference_shows_the_whole_document_of_a_balancer() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    (block,) = (text for text in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL) if BALANCER in text)

    def leaves(tree: Mapping[str, Any], above: str) -> Iterator[str]:
        for name, value in tree.items():
            yield from leaves(value, f"{above}{name}.") if isinstance(value, dict) else (f"{above}{name}",)

    assert yaml.safe_load(block) == yaml.safe_load(SEED)
    assert sorted(leaves(yaml.safe_load(block), "")) == sorted(KEYS)


@pytest.mark.parametrize(
    ("flags", "environ", "file", "tls"),
    [
        ({}, {}, "", None),
        ({"tls": True}, {}, "", True),
        ({"tls": False}, {"LBCTL_TLS": "1"}, "", False),
        ({"tls_ca": "ca.pem"}, {"LBCTL_TLS": "0"}, "", True),
        ({"tls_server_name": "a"}, {}, "tls: {enabled: false}", True),
        ({}, {"LBCTL_TLS_CA": "ca.pem"}, "", None),
        ({}, {}, "tls: {enabled: true, skip_verify: true}", True),
        ({}, {}, "tls: {ca: ca.pem}", None),
    ],
)
def test_a_tls_flag_switches_tls_on_and_the_rest_only_says_how(
    flags: dict[str, object], environ: dict[str, str], file: str, tls: bool | None, tmp_path: Path
) -> None:
    assert settings(file, tmp_path, flags, **environ).reach.tls is tls


def test_how_backends_are_reached_may_all_stand_in_a_file(tmp_path: Path) -> None:
    text = """
tls: {enabled: yes, ca: ca.pem, cert: c.pem, key: k.pem, server_name: shop, skip_verify: false}
authority: shop:443
connect_timeout: 3s
"""
    assert settings(text, tmp_path).reach == Reach(
        tls=True,
        ca=Path("ca.pem"),
        cert=Path("c.pem"),
        key=Path("k.pem"),
        server_name="shop",
        authority="shop:443",
        connect_timeout_s=3.0,
    )


def test_a_flag_that_says_no_is_named_as_such() -> None:
    assert resolve({"tls": False}, {}, {}).origins == {"tls": "--plaintext"}
