from __future__ import annotations

import pytest

from lbctl.cli.registry import etcd_config
from lbctl.cli.settings import resolve


def test_every_etcd_setting_reaches_the_client() -> None:
    flags = {
        "endpoints": "https://a:1,[::1]:2",
        "user": "root:secret",
        "cacert": "ca.pem",
        "cert": "c.pem",
        "key": "k.pem",
        "dial_timeout": "1s",
        "command_timeout": "3s",
    }
    config = etcd_config(resolve(flags, {}, {}))
    assert config.endpoints == ("a:1", "[::1]:2")
    assert (config.user, config.password) == ("root", "secret")
    assert (config.cacert, config.cert, config.key, config.tls) == ("ca.pem", "c.pem", "k.pem", True)
    assert (config.dial_timeout_s, config.command_timeout_s) == (1.0, 3.0)


def test_without_settings_etcd_is_on_this_machine_in_plaintext() -> None:
    config = etcd_config(resolve({}, {}, {}))
    assert (config.endpoints, config.secure, config.user) == (("127.0.0.1:2379",), False, None)


def test_tls_without_https_and_without_verification_are_asked_for_as_etcdctl_is() -> None:
    environ = {"ETCDCTL_INSECURE_TRANSPORT": "false", "ETCDCTL_INSECURE_SKIP_TLS_VERIFY": "true"}
    config = etcd_config(resolve({}, environ, {}))
    assert (config.tls, config.skip_verify) == (True, True)


@pytest.mark.parametrize(
    ("endpoints", "heard"), [("10.0.0.1:2379,127.0.0.1:2379,localhost:1", "10.0.0.1:2379"), ("https://10.0.0.1", "")]
)
def test_a_password_that_leaves_the_machine_in_plaintext_is_said(
    endpoints: str, heard: str, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = {"endpoints": endpoints, "user": "root:secret"}
    etcd_config(resolve(flags, {}, {}))
    said = f"note: the password of etcd user root goes to {heard} in plaintext; https:// encrypts it\n"
    assert capsys.readouterr().err == (said if heard else "")
    etcd_config(resolve({**flags, "quiet": True}, {}, {}))
    assert capsys.readouterr().err == ""
