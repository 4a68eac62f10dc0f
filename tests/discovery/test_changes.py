from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NoReturn

from lbctl.discovery.changes import Change, Op, diff
from lbctl.model import Endpoint, Instance, Invalid


def instance(port: int, weight: int = 1) -> Instance:
    return Instance(f"/services/echo/{port}", "echo", "seed", Endpoint("127.0.0.1", port), weight, create_revision=1)


A, B, C = instance(1), instance(2), instance(3)


def test_joining_leaving_and_new_weights_are_told() -> None:
    heavier = replace(B, weight=5)

    assert diff((A, B), (heavier, C)) == (
        Change(Op.LEFT, A.key, before=A),
        Change(Op.WEIGHT, B.key, before=B, after=heavier),
        Change(Op.JOINED, C.key, after=C),
    )


def test_a_renewal_is_no_change_and_a_new_registration_is() -> None:
    assert diff((A,), (replace(A, mod_revision=9, lease=7),)) == ()
    assert [change.op for change in diff((A,), (replace(A, create_revision=9),))] == [Op.CHANGED]


def test_another_address_under_the_same_key_is_a_move() -> None:
    assert [change.op for change in diff((A,), (replace(A, endpoint=Endpoint("127.0.0.1", 9)),))] == [Op.MOVED]


def test_a_key_that_becomes_unusable_leaves_with_its_reason() -> None:
    flaw = Invalid(A.key, "seed", "bad_weight", "weight is negative")

    changes = diff((A,), (), (), (flaw,))

    assert [(change.op, change.invalid) for change in changes] == [(Op.LEFT, None), (Op.INVALID, flaw)]
    assert diff((), (), (flaw,), (flaw,)) == ()


class _Untouched(Mapping[str, str]):
    """Metadata that nobody may look at."""

    def __getitem__(self, name: str) -> NoReturn:
        raise AssertionError

    def __iter__(self) -> Iterator[str]:
        raise AssertionError

    def __len__(self) -> NoReturn:
        raise AssertionError


def test_what_was_not_read_again_is_not_compared() -> None:
    """Of ten thousand instances one changes."""
    same = replace(A, metadata=_Untouched())
    assert diff((same, B), (same, replace(B, weight=5))) == (
        Change(Op.WEIGHT, B.key, before=B, after=replace(B, weight=5)),
    )
