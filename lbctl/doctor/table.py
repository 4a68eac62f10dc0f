"""All checks, in the order of their codes; a new one is a file in ``checks`` and a line here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from lbctl.doctor.checks import (
    alarms,
    clocks,
    expiring,
    imbalance,
    lag,
    late_expiry,
    layouts,
    leaseless,
    members,
    no_health,
    no_reflection,
    not_offered,
    not_serving,
    reported_weight,
    shared_address,
    slow,
    tls,
    unreachable,
    unreadable,
    unroutable,
    versions,
    watching,
    weights,
)
from lbctl.doctor.finding import Check, Scope
from lbctl.errors import UsageError

CHECKS: Final[tuple[Check, ...]] = (
    members.CHECK,
    alarms.CHECK,
    watching.CHECK,
    clocks.CHECK,
    leaseless.CHECK,
    expiring.CHECK,
    shared_address.CHECK,
    unreadable.CHECK,
    unroutable.CHECK,
    weights.CHECK,
    layouts.CHECK,
    unreachable.CHECK,
    tls.CHECK,
    not_serving.CHECK,
    no_health.CHECK,
    no_reflection.CHECK,
    not_offered.CHECK,
    imbalance.CHECK,
    reported_weight.CHECK,
    slow.CHECK,
    versions.CHECK,
    lag.CHECK,
    late_expiry.CHECK,
)


def selected(select: Iterable[str], ignore: Iterable[str], *, direct: bool = False) -> tuple[Check, ...]:
    """The checks that were asked for: those whose code begins with one of ``select``, all if it is empty, less others.

    Raises UsageError for a code that no check has, and where no etcd is asked (``direct``) and all of them need one.
    """
    wanted, unwanted = tuple(select), tuple(ignore)
    for flag, code in (*(("--select", code) for code in wanted), *(("--ignore", code) for code in unwanted)):
        if not any(check.code.startswith(code) for check in CHECKS):
            known = f"codes are LB101 to {CHECKS[-1].code}, or LB2 for LB2xx"
            raise UsageError(f"{flag}: no check has the code {code}", known)
    checks = tuple(
        check
        for check in CHECKS
        if check.code.startswith(wanted or ("",)) and not (unwanted and check.code.startswith(unwanted))
    )
    if direct and not any(check.scope is Scope.BACKENDS for check in checks):
        codes = ", ".join(check.code for check in CHECKS if check.scope is Scope.BACKENDS)
        raise UsageError("none of these checks is of backends alone", f"with --backends there are {codes}")
    return checks
