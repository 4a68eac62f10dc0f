from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from lbctl.cli.config import config_paths, read_config
from lbctl.cli.settings import SETTINGS, Settings, resolve
from lbctl.commands.reach import Reach
from lbctl.errors import UsageError
from lbctl.model import Endpoint

SEED = """\
weighted_random_balancer:
  weight:
    min: 1
    max: 10
    default: 5
  health_check:
    enabled: true
    interval: "10s"
    timeout: "3s"
  dynamic_weight:
    enabled: true
    error_rate_thresholds:
      reduce_weight: 0.1
  algorithm:
    type: "hybrid"
    threshold: 20
"""


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def settings(text: str, tmp_path: Path, flags: Mapping[str, object] | None = None, **environ: str) -> Settings:
    return resolve(flags or {}, environ, read_config([write(tmp_path / "lbctl.yaml", text)]).values)


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


def test_the_document_of_a_weighted_random_balancer_sets_policy_and_health_check(tmp_path: Path) -> None:
    file = read_config([write(tmp_path / "lbctl.yaml", SEED)])
    found = resolve({}, {}, file.values)
    assert (found.policy, found.check, found.check_interval_s, found.check_timeout_s) == (
        "weighted_random",
        True,
        10.0,
        3.0,
    )
    (note,) = file.notes
    assert "no effect in this version: weighted_random_balancer.weight.min" in note


def test_an_explicit_policy_beats_the_one_a_balancer_document_implies(tmp_path: Path) -> None:
    assert settings(f"policy: smooth_wrr\n{SEED}", tmp_path).policy == "smooth_wrr"


def test_the_working_directory_beats_the_home_directory_key_by_key(tmp_path: Path) -> None:
    write(tmp_path / "xdg/lbctl/config.yaml", "prefix: /home/\npolicy: random\n")
    write(tmp_path / "here/lbctl.yaml", "prefix: /here/\n")
    paths = config_paths(None, {"XDG_CONFIG_HOME": str(tmp_path / "xdg")}, tmp_path / "here")
    found = resolve({}, {}, read_config(paths).values)
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
    with pytest.raises(UsageError, match=r"cannot read configuration .*/none.yaml: No such file or directory"):
        read_config([tmp_path / "none.yaml"])


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
    told = {(row[1], row[2]) for row in rows}
    for setting in SETTINGS:
        if setting.env or setting.file:
            variables = " ".join(f"`{name}`" for name in setting.env)
            assert (variables, f"`{setting.file}`" if setting.file else "") in told, setting.name


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
