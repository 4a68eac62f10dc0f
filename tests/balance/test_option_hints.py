"""A mistake in an option says what the option is for: of every policy, and of everything around one."""

from __future__ import annotations

from dataclasses import fields

import pytest

from lbctl.balance.guards.health import HealthOptions
from lbctl.balance.guards.outlier import OutlierOptions
from lbctl.balance.guards.plan import BREAKERS
from lbctl.balance.guards.slow_start import SlowStartOptions
from lbctl.balance.policies.options import parse
from lbctl.balance.policies.table import POLICIES
from lbctl.balance.selection import ZoneOptions
from lbctl.balance.subset import SubsetOptions
from lbctl.errors import UsageError

AROUND = {
    "--health-check": HealthOptions(),
    "--outlier-detection": OutlierOptions(),
    **{f"--breaker {name}": options for name, options in BREAKERS.items()},
    "--slow-start": SlowStartOptions(),
    "--subset": SubsetOptions(),
    "--zone": ZoneOptions(),
}
EVERYBODY = [*AROUND.items(), *((name, policy.options) for name, policy in POLICIES.items())]


@pytest.mark.parametrize(("owner", "options"), EVERYBODY)
def test_a_value_that_cannot_be_is_answered_with_what_the_option_is_for(owner: str, options: object) -> None:
    for each in fields(options):  # type: ignore[arg-type]  # a dataclass of some kind
        about = each.metadata["about"]
        if isinstance(each.default, str) and not about.choices:
            continue  # any text will do
        name = each.name.replace("_", "-")
        with pytest.raises(UsageError) as raised:
            parse(owner, options, {name: "?"})
        assert str(raised.value).startswith(f"{owner}: {name}=? is n")
        assert raised.value.hint.startswith(f"{name} is {about.help}; ")
        assert raised.value.hint.endswith(" unless given")


@pytest.mark.parametrize(("owner", "options"), EVERYBODY)
def test_an_option_that_there_is_not_is_answered_with_a_hint(owner: str, options: object) -> None:
    with pytest.raises(UsageError) as raised:
        parse(owner, options, {"?": "1"})
    assert raised.value.hint


def test_options_that_contradict_each_other_are_all_told() -> None:
    with pytest.raises(UsageError) as raised:
        parse("--subset", SubsetOptions(), {"kind": "aperture", "client": "3", "clients": "2"})
    assert [text.split()[0] for text in raised.value.hint.split("; ") if " is " in text] == [
        "kind",
        "client",
        "clients",
    ]
