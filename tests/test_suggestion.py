"""Suggested commands: what they repeat, what they never do, and that a shell reads them as they were meant."""

from __future__ import annotations

import shlex
import subprocess

import pytest

from lbctl.cli.settings import resolve
from lbctl.cli.suggestions import again
from lbctl.discovery.names import find, name_of
from lbctl.model import Registry, Service
from lbctl.suggestion import Again, shell

PLAIN = Again()
FLAGS = {
    "endpoints": "https://10.0.0.1:2379,10.0.0.2:2379",
    "user": "root:s3cret",
    "password": "s3cret",
    "cacert": "my ca.pem",
    "prefix": "/team a/",
    "format": "kratos",
    "service_from": "value",
    "tls_ca": "ca.pem",
    "tls": False,
    "read_only": True,
    "config": "l.yaml",
}
ETCD = (
    "--endpoints https://10.0.0.1:2379,10.0.0.2:2379 --prefix '/team a/' --layout kratos --user root "
    "--cacert 'my ca.pem' --config l.yaml"
)


def spelt(**flags: object) -> Again:
    return again(resolve(flags, {"LBCTL_PREFIX": "/of/the/environment/"}, {}))


def test_a_command_repeats_the_flags_it_understands_and_no_password() -> None:
    same = spelt(**FLAGS | {"tls_ca": None})
    assert same.command("register", "echo", "a:1") == f"lbctl register echo a:1 {ETCD}"
    assert same.command("undrain", "echo", "a:1") == f"lbctl undrain echo a:1 {ETCD} --service-from value"
    assert same.command("hammer", "echo") == f"lbctl hammer echo {ETCD} --service-from value --plaintext"


def test_what_the_environment_says_need_not_be_repeated() -> None:
    assert spelt().command("ls", "echo") == "lbctl ls echo"


def test_a_password_file_is_named_and_standard_input_is_not() -> None:
    assert spelt(user="me", password_file="pw").command("ls") == "lbctl ls --user me --password-file pw"
    assert spelt(user="me", password_file="-").command("ls") == "lbctl ls --user me"


def test_switches_and_values_that_look_like_options() -> None:
    said = spelt(insecure_skip_tls_verify=True, prefix="-odd", tls_skip_verify=True).command("doctor")
    assert said == "lbctl doctor --prefix=-odd --insecure-skip-tls-verify --tls-skip-verify"


def test_options_stand_behind_the_arguments_unless_those_look_like_options() -> None:
    same = Again(("--prefix", "/s/"))
    assert same.command("doctor", "echo", options=("--probe", "1000")) == "lbctl doctor echo --probe 1000 --prefix /s/"
    assert same.command("undrain", "echo", "-k") == "lbctl undrain --prefix /s/ -- echo -k"


def test_a_layout_tells_services_of_one_name_apart() -> None:
    assert PLAIN.command("ls", "echo", layout="seed") == "lbctl ls echo --layout seed"
    same = Again(("--prefix", "/s/", "--layout", "auto", "--user", "me"))
    assert same.command("ls", "echo", layout="seed") == "lbctl ls echo --layout seed --prefix /s/ --user me"


@pytest.mark.parametrize("word", ["", "a b", "it's", "\x1b[2J\\'", "zwei\nZeilen", "über\u202e", "$(reboot)", "`x`"])
def test_a_shell_reads_words_as_they_were_meant(word: str) -> None:
    line = shell(["printf", "%s|", word, "end"])
    assert line.isprintable()
    assert subprocess.run(["bash", "-c", line], capture_output=True, check=True).stdout == f"{word}|end|".encode()


def test_an_ordinary_line_is_that_of_shlex() -> None:
    words = ["weight", "ec ho", "a:1=WEIGHT"]
    assert PLAIN.command(*words) == shlex.join(["lbctl", *words])


def service(name: str, prefix: str, layout: str = "seed") -> Service:
    return Service(name, layout, prefix, ())


def test_a_name_means_one_service_alone() -> None:
    there = (
        service("echo", "/services/echo/"),
        service("echo", "/team/echo/"),
        service("shop", "/shop/"),
        service("shop", "/shop/", "kratos"),
        service("a/shop", "/a/shop/"),
    )
    named = [name_of(there, each) for each in there]
    assert named == [("/services/echo/", ""), ("/team/echo/", ""), ("shop", "seed"), ("shop", "kratos"), ("a/shop", "")]
    for each, (name, layout) in zip(there, named, strict=True):
        assert find(Registry(1, there), name, layout or None) == each


@pytest.mark.parametrize(
    ("told", "how", "expected"),
    [
        ((), "--tls", "--tls"),
        (("--plaintext", "--authority", "a"), "--tls", "--tls --authority a"),
        (("--tls-ca", "f", "--tls-skip-verify", "--authority=-a"), "--plaintext", "--plaintext --authority=-a"),
        (("--tls-ca", "f", "--tls"), "--tls-skip-verify", "--tls-skip-verify --tls-ca f --tls"),
    ],
)
def test_another_say_on_tls_takes_the_place_of_what_contradicts_it(
    told: tuple[str, ...], how: str, expected: str
) -> None:
    spelling = Again(("--prefix", "/p/"), (), told)
    assert spelling.calling(how).command("health", "echo") == f"lbctl health echo --prefix /p/ {expected}"


def test_a_command_about_given_backends_says_nothing_of_etcd() -> None:
    told = Again(("--endpoints", "h:1", "--config", "f"), ("--service-from", "key"), ("--tls",))
    command = told.command("health", options=("--backends", "h:2"))
    assert command == "lbctl health --backends h:2 --config f --tls"


def test_an_option_that_is_replaced_is_left_out_however_it_was_spelt() -> None:
    for told in (("--prefix", "/p/", "--layout", "seed"), ("--prefix=-p/", "--layout", "seed")):
        assert Again(told).without("--prefix").command("ls") == "lbctl ls --layout seed"
