from __future__ import annotations

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
